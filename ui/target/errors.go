package target

// ErrKind is the kind of an Error.
type ErrKind string

// The kinds of error.
const (
	ErrUsage         ErrKind = "usage"          // conflicting or invalid flags
	ErrNotConfigured ErrKind = "not_configured" // no target, no token, or an invalid configuration
	ErrReadOnly      ErrKind = "read_only"      // changes are not allowed
	ErrNotAvailable  ErrKind = "not_available"  // the object does not exist here
	ErrAuth          ErrKind = "auth"           // Slack rejects the token
	ErrUnreachable   ErrKind = "unreachable"    // Slack does not respond
	ErrRateLimited   ErrKind = "rate_limited"   // Slack limits requests
	ErrGeneral       ErrKind = "general"
)

// Error is a failure with a hint. It never contains a secret.
type Error struct {
	Kind    ErrKind
	Problem string // one line
	Fix     string // one line
	Err     error  // cause, if any
}

// Error returns what failed.
func (e *Error) Error() string {
	if e.Err == nil || e.Err == ErrNoLibrary { // same text as the problem
		return e.Problem
	}
	return e.Problem + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Remedy returns the hint in one line.
func (e *Error) Remedy() string { return e.Fix }

// ExitCode returns the exit code: 2 for usage, 3 not configured, 4 authentication, 5 unreachable, 6 rate limited, 9 not
// available or not allowed, else 1.
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
