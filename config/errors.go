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

// Error is something in the configuration that cannot be used. It never holds a secret.
type Error struct {
	File    string // file it stands in; "" for the environment
	Line    int    // 1-based; 0 if unknown
	Key     string // key or environment variable; "" if the whole file is meant
	Problem string
	Fix     string // what to do, one line
	Err     error  // cause, if any

	exit int // 0 means exitNotConfigured
}

// ErrReadOnly is in the chain of every refusal to save because of QUARRY_READONLY.
var ErrReadOnly = errors.New("QUARRY_READONLY is set")

// Error says what is wrong, and where.
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

// Remedy says what to do, in one line.
func (e *Error) Remedy() string { return e.Fix }

// ExitCode is the exit code that the error asks for: 2 if a flag is wrong, 9 if nothing may be saved, else 3.
func (e *Error) ExitCode() int {
	if e.exit != 0 {
		return e.exit
	}
	return exitNotConfigured
}
