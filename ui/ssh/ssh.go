// Package ssh serves the explorer and the search commands over SSH. Each session is one visitor with their own rights,
// theme, terminal size and clipboard. Sessions have no access to files, browser, editor or shell of the server's machine.
package ssh

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"time"

	"quarry/client"
	"quarry/ui/target"
)

// People admits visitors to the served library or server.
type People interface {
	// KnowsPeople reports whether visitors can be admitted without a token.
	KnowsPeople() bool
	// Token returns a client for a visitor with a token, which the first request checks. remote is the visitor's address,
	// "host:port".
	Token(token, remote string) (*client.Client, error)
	// Person returns a client for a visitor whose key belongs to a user.
	Person(email, remote string) (*client.Client, error)
	// Anybody returns a client for an anonymous visitor.
	Anybody(remote string) (*client.Client, error)
	// Knows reports whether a token, or without one a user, is still valid.
	Knows(ctx context.Context, token, email string) bool
}

// Meter counts what visitors do.
type Meter interface {
	// SessionBegan counts a session of a kind: "explorer" or "command".
	SessionBegan(kind string)
	// SessionEnded records the duration of a session.
	SessionEnded(kind string, took time.Duration)
	// Refused counts a refused visitor by reason: "rate", "full", "handshake" or "identity".
	Refused(reason string)
}

// Options configure what is served, to whom, and within which limits.
type Options struct {
	Address string // to listen on, "host:port"
	// Listener is used instead of listening on Address, unless it is nil.
	Listener net.Listener
	HostKey  string // file of the host key, created if missing

	AuthorizedKeys string // file; empty: no keys are accepted
	Tokens         bool   // tokens are accepted
	Open           bool   // anonymous visitors are accepted

	People People
	// Where is the display name of what is searched; Examples are queries with good results.
	Where    string
	Examples []string
	// Agent and AgentName are the agent of searches; nil and empty: none.
	Agent     *int
	AgentName string

	Limits  target.SSHLimits
	Version string // of this program
	Log     *slog.Logger
	Meter   Meter            // may be nil
	Now     func() time.Time // nil: the system's clock
	// Visitors is called with the number of sessions whenever one begins or ends, one call at a time; may be nil.
	Visitors func(sessions int)
}

// Defaults are the usual limits: for a team on two cores.
func Defaults() target.SSHLimits {
	return target.SSHLimits{Sessions: 250, PerPerson: 10, Arrivals: 60, Idle: 30 * time.Minute, Total: 12 * time.Hour,
		Input: 16 << 20, Known: 15 * time.Second}
}

// orDefaults replaces limits that are not positive.
func orDefaults(l target.SSHLimits) target.SSHLimits {
	usual := Defaults()
	return target.SSHLimits{
		Sessions: cmp.Or(max(0, l.Sessions), usual.Sessions), PerPerson: cmp.Or(max(0, l.PerPerson), usual.PerPerson),
		Arrivals: cmp.Or(max(0, l.Arrivals), usual.Arrivals), Idle: cmp.Or(max(0, l.Idle), usual.Idle),
		Total: cmp.Or(max(0, l.Total), usual.Total), Input: cmp.Or(max(0, l.Input), usual.Input),
		Known: cmp.Or(max(0, l.Known), usual.Known),
	}
}

// Error is a reason why the server cannot start, with a hint.
type Error struct {
	Problem, Fix string // one line each
	Err          error  // the cause, if any
}

// Error returns what failed.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Problem
	}
	return e.Problem + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Remedy returns the hint.
func (e *Error) Remedy() string { return e.Fix }

// ExitCode returns the exit code of a missing configuration.
func (e *Error) ExitCode() int { return 3 }

// silent is a Meter that counts nothing.
type silent struct{}

func (silent) SessionBegan(string)                {}
func (silent) SessionEnded(string, time.Duration) {}
func (silent) Refused(string)                     {}

// complete fills in defaults and rejects options that would admit nobody.
func (o Options) complete() (Options, error) {
	o.Limits = orDefaults(o.Limits)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Meter == nil {
		o.Meter = silent{}
	}
	if o.Visitors == nil {
		o.Visitors = func(int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case o.AuthorizedKeys == "" && !o.Tokens && !o.Open:
		return o, &Error{Problem: "no SSH authentication method is configured",
			Fix: "use at least one of --ssh-keys FILE, --ssh-token or --ssh-open (ssh.authorized_keys, ssh.token and ssh.open in the configuration)"}
	case o.Open && !o.People.KnowsPeople():
		return o, &Error{Problem: "--ssh-open needs a library: this server requires a token of every visitor",
			Fix: "use --ssh-token, or --ssh-keys with a token for each key, instead of --ssh-open"}
	}
	return o, nil
}

// Serve serves until ctx ends. Then it accepts no more visitors, notifies the present ones, and gives them a moment. ready,
// which may be nil, is called with the address and the host key's fingerprint once connections are accepted.
func Serve(ctx context.Context, options Options, ready func(address, fingerprint string)) error {
	options, err := options.complete()
	if err != nil {
		return err
	}
	s := &server{Options: options, guests: newGuests(options.Limits, options.Log), rates: newRates(options.Limits.Arrivals)}
	if options.AuthorizedKeys != "" {
		if s.keys, err = openKeys(options.AuthorizedKeys, options.People.KnowsPeople(), options.Log); err != nil {
			return err
		}
	}
	signer, err := hostKey(options.HostKey)
	if err != nil {
		return err
	}
	return s.serve(ctx, signer, ready)
}
