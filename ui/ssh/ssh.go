// Package ssh serves the explorer to whoever knocks on a port, and the commands that search. Each session is one person
// with rights, a theme, a size and a clipboard of their own; none of them reaches a file, a browser, an editor or a shell
// of the machine that serves them.
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

// People lets visitors in to what is served.
type People interface {
	// KnowsPeople tells that visitors can be let in without a token.
	KnowsPeople() bool
	// Token is the way in for a visitor with a token, which the first request checks. Remote is the address that they come
	// from, "host:port".
	Token(token, remote string) (*client.Client, error)
	// Person is the way in for a visitor whose key belongs to a person.
	Person(email, remote string) (*client.Client, error)
	// Anybody is the way in for a visitor of whom nothing is known.
	Anybody(remote string) (*client.Client, error)
	// Knows tells whether a visitor with a token, or without one a person, would still be let in.
	Knows(ctx context.Context, token, email string) bool
}

// Meter counts what visitors do.
type Meter interface {
	// SessionBegan counts a session of a kind: "explorer" or "command".
	SessionBegan(kind string)
	// SessionEnded tells how long one took.
	SessionEnded(kind string, took time.Duration)
	// Refused counts who was turned away, and why: "rate", "full", "handshake" or "identity".
	Refused(reason string)
}

// Options say what is served to visitors, to whom, and how much of it.
type Options struct {
	Address string // to listen on, "host:port"
	// Listener is used instead of listening on Address; nil: it is not.
	Listener net.Listener
	HostKey  string // file of the host key, made where there is none

	AuthorizedKeys string // file; empty: keys let nobody in
	Tokens         bool   // visitors may bring a token
	Open           bool   // anybody may come in

	People People
	// Where names what is searched, for a person; Examples are questions that it answers well.
	Where    string
	Examples []string
	// Agent and AgentName are the agent that searches go through, nil and empty: none.
	Agent     *int
	AgentName string

	Limits  target.SSHLimits
	Version string // of this program
	Log     *slog.Logger
	Meter   Meter            // nil: nothing is counted
	Now     func() time.Time // nil: the system's clock
	// Visitors is told how many sessions there are whenever one begins or ends, one call at a time; nil: it is not.
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

// Error is a reason not to start, with what to do about it.
type Error struct {
	Problem, Fix string // one line each
	Err          error  // the cause, if any
}

// Error says what failed.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Problem
	}
	return e.Problem + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Remedy says what to do.
func (e *Error) Remedy() string { return e.Fix }

// ExitCode is that of something that is not configured.
func (e *Error) ExitCode() int { return 3 }

// silent is a Meter that counts nothing.
type silent struct{}

func (silent) SessionBegan(string)                {}
func (silent) SessionEnded(string, time.Duration) {}
func (silent) Refused(string)                     {}

// complete fills in what may be left out, and refuses what nobody could use.
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
		return o, &Error{Problem: "nobody could come in over SSH: no way to authenticate is chosen",
			Fix: "choose at least one: --ssh-keys FILE, --ssh-token or --ssh-open (ssh.authorized_keys, ssh.token and ssh.open in the configuration)"}
	case o.Open && !o.People.KnowsPeople():
		return o, &Error{Problem: "what is searched asks every visitor for a token, so it cannot be open to anybody",
			Fix: "use --ssh-token, or --ssh-keys with a token for each key, instead of --ssh-open"}
	}
	return o, nil
}

// Serve serves until ctx ends. Then it lets nobody in any more, tells those who are in, and gives them a moment. Ready is
// called with the address and the fingerprint of the host key once connections are accepted; it may be nil.
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
