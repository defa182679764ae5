//go:build !windows

package explorer

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyResize relays every change of the terminal's size to c.
func notifyResize(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }
