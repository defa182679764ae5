//go:build unix

package worker

import (
	"os"
	"syscall"
)

// connect returns our end of a connection to a process, for both directions, and that of the process: a pair of
// sockets, as two pipes take twice the descriptors.
func connect() (in, out, stdin, stdout *os.File, err error) {
	syscall.ForkLock.RLock() // no process that starts now inherits them
	defer syscall.ForkLock.RUnlock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, end := range pair {
		syscall.CloseOnExec(end)
	}
	_ = syscall.SetNonblock(pair[0], true) // else a read takes a thread, and works
	ours, theirs := os.NewFile(uintptr(pair[0]), "worker"), os.NewFile(uintptr(pair[1]), "worker")
	return ours, ours, theirs, theirs, nil
}
