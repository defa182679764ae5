package config

import (
	"errors"
	"fmt"
	"strings"
)

const (
	exitGeneral       = 1
	exitUsage         = 2
	exitNotConfigured = 3
	exitNotAvailable  = 9
)

// Error is a mistake in the configuration. It never contains a secret.
type Error struct {
	File    string // "" for the environment
	Line    int    // 1-based; 0 if unknown
	Key     string // key or environment variable; "" for the whole file
	Problem string
	Fix     string // what to do, one line
	Err     error  // cause, if any

	exit int // 0 means exitNotConfigured
}

// ErrReadOnly is in the chain of errors about saving with QUARRY_READONLY.
var ErrReadOnly = errors.New("QUARRY_READONLY is set")

// Error returns the place and the problem.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key)
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Remedy returns the fix in one line.
func (e *Error) Remedy() string { return e.Fix }

// ExitCode returns the exit code: 2 for a flag, 9 for QUARRY_READONLY, 1 for a failed save, else 3.
func (e *Error) ExitCode() int {
	if e.exit != 0 {
		return e.exit
	}
	return exitNotConfigured
}
