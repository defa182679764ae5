package directory

import (
	"errors"
	"fmt"
)

// Errors of the directory.
var (
	// ErrUnauthenticated: the token is missing, malformed, unknown, expired or revoked, or its user is inactive. It does
	// not say which.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrNotFound: the thing does not exist, or the caller may not see it. It does not say which.
	ErrNotFound = errors.New("not found")
)

// InputError is an invalid value. Reason is a message for the user.
type InputError struct{ Reason string }

// Error returns the reason.
func (e InputError) Error() string { return e.Reason }

func refuse(format string, args ...any) error {
	return InputError{Reason: fmt.Sprintf(format, args...)}
}

// ExistsError is a name that is in use already. Reason is a message for the user.
type ExistsError struct{ Reason string }

// Error returns the reason.
func (e ExistsError) Error() string { return e.Reason }

func exists(what Kind, name string) error {
	return ExistsError{Reason: fmt.Sprintf("there is a %s called %s already", what, quote(name))}
}

// Kind is a kind of thing in a directory.
type Kind string

// The kinds.
const (
	KindUser        Kind = "user"
	KindGroup       Kind = "user group"
	KindConnector   Kind = "connector"
	KindCredential  Kind = "credential"
	KindCCPair      Kind = "connector-credential pair"
	KindDocumentSet Kind = "document set"
	KindAgent       Kind = "agent"
	KindTenant      Kind = "tenant"
	KindToken       Kind = "token"
)

// MissingError is an ErrNotFound that names the missing thing.
type MissingError struct {
	Kind  Kind
	Named string // its id, or its name in quotes
}

// Error returns what is missing.
func (e MissingError) Error() string { return fmt.Sprintf("there is no %s %s", e.Kind, e.Named) }

// Unwrap returns ErrNotFound.
func (e MissingError) Unwrap() error { return ErrNotFound }

func noTenant(tenant string) error { return fmt.Errorf("tenant %s: %w", quote(tenant), ErrNotFound) }

func missing(kind Kind, id any) error { return MissingError{Kind: kind, Named: fmt.Sprint(id)} }
