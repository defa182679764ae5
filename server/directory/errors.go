package directory

import (
	"errors"
	"fmt"
)

// Errors of the directory, wrapped with what was attempted.
var (
	// ErrUnauthenticated: the token is missing, malformed, unknown, expired or revoked, or its user is inactive; the
	// cases are not told apart.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrNotFound: there is no such thing, or the caller may not see it; the two are not told apart.
	ErrNotFound = errors.New("not found")
)

// InputError says which value was refused and why, in words for the person who gave it.
type InputError struct{ Reason string }

// Error is the reason.
func (e InputError) Error() string { return e.Reason }

func refuse(format string, args ...any) error {
	return InputError{Reason: fmt.Sprintf(format, args...)}
}

// ExistsError: something of that name is there already, in words for the person who gave it.
type ExistsError struct{ Reason string }

// Error is the reason.
func (e ExistsError) Error() string { return e.Reason }

func exists(what Kind, name string) error {
	return ExistsError{Reason: fmt.Sprintf("there is a %s called %s already", what, quote(name))}
}

// Kind is a kind of thing that a directory holds.
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

// MissingError names what is not there, or may not be seen by who named it. It is an ErrNotFound.
type MissingError struct {
	Kind  Kind
	Named string // its id, or its name in quotes
}

// Error says what is missing.
func (e MissingError) Error() string { return fmt.Sprintf("there is no %s %s", e.Kind, e.Named) }

// Unwrap is ErrNotFound.
func (e MissingError) Unwrap() error { return ErrNotFound }

func noTenant(tenant string) error { return fmt.Errorf("tenant %s: %w", quote(tenant), ErrNotFound) }

func missing(kind Kind, id any) error { return MissingError{Kind: kind, Named: fmt.Sprint(id)} }
