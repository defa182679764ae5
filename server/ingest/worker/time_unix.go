//go:build unix

package worker

import (
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime returns what this process used.
func ProcessorTime() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0 // the process that started this one has a bound, too
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
