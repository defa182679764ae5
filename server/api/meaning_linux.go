package api

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// yieldNice is the priority of making vectors: a search on the same core gets nine times as much of it.
const yieldNice = 10

// yieldProcessor gives the calling goroutine a thread of low priority, which ends with it.
func yieldProcessor() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), yieldNice) // else it competes
}
