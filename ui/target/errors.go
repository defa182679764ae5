package target

// ErrKind says what sort of failure an Error is.
type ErrKind string

// The kinds of error.
const (
	ErrUsage         ErrKind = "usage"          // flags that contradict each other or cannot be read
	ErrNotConfigured ErrKind = "not_configured" // no target, no token, or a configuration that cannot be used
	ErrReadOnly      ErrKind = "read_only"      // a change was asked for where none is allowed
	ErrNotAvailable  ErrKind = "not_available"  // what was asked for does not exist here
	ErrAuth          ErrKind = "auth"           // Slack does not accept the token
	ErrUnreachable   ErrKind = "unreachable"    // Slack does not answer
	ErrRateLimited   ErrKind = "rate_limited"   // Slack asks for fewer requests
	ErrGeneral       ErrKind = "general"
)

// Error is a failure with what to do about it. It never holds a secret.
type Error struct {
	Kind    ErrKind
	Problem string // one line
	Fix     string // one line
	Err     error  // cause, if any
}

// Error says what failed.
func (e *Error) Error() string {
	if e.Err == nil || e.Err == ErrNoLibrary { // which says what the problem says
		return e.Problem
	}
	return e.Problem + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Remedy says what to do, in one line.
func (e *Error) Remedy() string { return e.Fix }

// ExitCode is the exit code that the error asks for: 2 for usage, 3 not configured, 4 a token that is not accepted, 5
// unreachable, 6 asked too often, 9 not available or not allowed here, else 1.
func (e *Error) ExitCode() int {
	switch e.Kind {
	case ErrUsage:
		return 2
	case ErrNotConfigured:
		return 3
	case ErrAuth:
		return 4
	case ErrUnreachable:
		return 5
	case ErrRateLimited:
		return 6
	case ErrNotAvailable, ErrReadOnly:
		return 9
	}
	return 1
}
