package api

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// yieldNice is the priority of making vectors: a search on the same core gets nine times as much of it.
const yieldNice = 10

// spareProcessor lets Go run a goroutine more until release. The thread of yieldProcessor takes the place of another
// goroutine also while the system does not run it: on two busy cores keys were echoed in half the time with one more.
func (s *Server) spareProcessor() (release func()) {
	change := func(by int) {
		s.processors.Lock() // tenants have passes of their own
		defer s.processors.Unlock()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + by)
	}
	change(1)
	return func() { change(-1) }
}

// yieldProcessor gives the calling goroutine a thread of low priority, which ends with it.
func yieldProcessor() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), yieldNice) // else it competes
}
