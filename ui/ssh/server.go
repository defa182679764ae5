// Package ssh serves the explorer and the search commands over SSH. Each session is one visitor with their own rights,
// theme, terminal size and clipboard. Sessions have no access to files, browser, editor or shell of the server's
// machine.
package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	charm "charm.land/ssh"
	"charm.land/wish/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"go.mau.fi/util/exslices"
	gossh "golang.org/x/crypto/ssh"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/ui/explorer"
	"quarry/ui/target"
)

// People admits visitors to the served library or server.
type People interface {
	// KnowsPeople reports whether visitors can be admitted without a token.
	KnowsPeople() bool
	// Token returns a client for a visitor with a token, which the first request checks. remote is the visitor's
	// address, "host:port".
	Token(token, remote string) (*client.Client, error)
	// Person returns a client for a visitor whose key belongs to a user.
	Person(email, remote string) (*client.Client, error)
	// Anybody returns a client for an anonymous visitor.
	Anybody(remote string) (*client.Client, error)
	// Knows reports whether a token, or without one a user, is still valid.
	Knows(ctx context.Context, token, email string) bool
}

// Options configure what is served, to whom, and within which limits.
type Options struct {
	target.SSHOptions
	// Listener is used instead of listening on Address, unless it is nil.
	Listener net.Listener

	People People
	// Where is the display name of what is searched; Examples are queries with good results.
	Where    string
	Examples []string
	Agent    wire.Agent // of searches whose query names none
	NoModel  bool       // what is searched has no language model

	Version string // of this program
	Log     *slog.Logger
	Meter   *target.VisitMeter // may be nil
	Now     func() time.Time   // nil: the system's clock
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

// startError returns a reason why the server cannot start, with a hint.
func startError(problem, fix string, cause error) *config.Error {
	return &config.Error{Problem: problem, Fix: fix, Err: cause}
}

// complete fills in defaults and rejects options that would admit nobody.
func (o Options) complete() (Options, error) {
	o.Limits = orDefaults(o.Limits)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Visitors == nil {
		o.Visitors = func(int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case o.Keys == "" && !o.Token && !o.Open:
		return o, startError("no SSH authentication method is configured",
			"use at least one of --ssh-keys FILE, --ssh-token or --ssh-open (ssh.authorized_keys, ssh.token and "+
				"ssh.open in the configuration)", nil)
	case o.Open && !o.People.KnowsPeople():
		return o, startError("--ssh-open needs a library: this server requires a token of every visitor",
			"use --ssh-token, or --ssh-keys with a token for each key, instead of --ssh-open", nil)
	}
	return o, nil
}

// Serve serves until ctx ends. Then it accepts no more visitors, notifies the present ones, and gives them a moment.
// ready, which may be nil, is called with the address and the host key's fingerprint once connections are accepted.
func Serve(ctx context.Context, options Options, ready func(address, fingerprint string)) error {
	options, err := options.complete()
	if err != nil {
		return err
	}
	s := &server{Options: options, guests: newGuests(options.Limits, options.Log),
		rates: newRates(options.Limits.Arrivals), sessions: map[*session]struct{}{}}
	if options.Keys != "" {
		if s.keys, err = openKeys(options.Keys, options.People.KnowsPeople(), options.Log); err != nil {
			return err
		}
	}
	signer, err := hostKey(options.HostKey)
	if err != nil {
		return err
	}
	return s.serve(ctx, signer, ready)
}

// How long a server that stops waits.
const (
	farewell = 5 * time.Second // for visitors to read the notice, and for commands to end
	lastCall = 2 * time.Second // for sessions that were ended
)

// server is a running SSH server.
type server struct {
	Options
	keys   *keys // nil: no keys are accepted
	guests *guests
	rates  *rates

	arrivals  sync.Map // of arrival, by session
	terminals sync.Map // of chan explorer.Size, by session: resizes of its terminal

	mutex    sync.Mutex
	sessions map[*session]struct{} // that run
	stopping bool
	running  sync.WaitGroup // the same
	telling  sync.Mutex     // serialises calls of Visitors
}

// serve listens until ctx ends.
func (s *server) serve(ctx context.Context, host gossh.Signer, ready func(address, fingerprint string)) error {
	inner, err := s.newServer(host)
	if err != nil {
		return err
	}
	listener := s.Listener
	if listener == nil {
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.Address); err != nil {
			return fmt.Errorf("serve SSH: %w", err) // which names the address
		}
	}
	failed := make(chan error, 1)
	guard.Go(func() { failed <- inner.Serve(listener) }, func(err error) { failed <- err })
	if ready != nil {
		ready(listener.Addr().String(), gossh.FingerprintSHA256(host.PublicKey()))
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	// The library's Shutdown would count connections that still arrive while it waits for their number.
	_ = listener.Close()
	s.stop(inner)
	if err := <-failed; !errors.Is(err, charm.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return nil
}

// maxOfferedKeys bounds the keys that a connection may offer. Agents of password managers offer all that somebody has;
// OpenSSH's six would end the connection before the right one. A key that is only offered costs a look into a table,
// and handshakeTime and the rate of arrivals bound who guesses.
const maxOfferedKeys = 100

// newServer allows sessions only, no forwarding or subsystems.
func (s *server) newServer(host gossh.Signer) (*charm.Server, error) {
	inner, err := wish.NewServer(
		func(inner *charm.Server) error { inner.AddHostKey(host); return nil }, // without one, wish writes its own
		charm.EmulatePty(),
		wish.WithVersion("quarry"),
		charm.WrapConn(s.accept),
		wish.WithMiddleware(s.handled),
	)
	if err != nil {
		return nil, fmt.Errorf("set up the SSH server: %w", err)
	}
	inner.HandshakeTimeout = handshakeTime
	inner.ServerConfigCallback = func(
		charm.Context) *gossh.ServerConfig {
		return &gossh.ServerConfig{MaxAuthTries: maxOfferedKeys}
	}
	inner.ChannelHandlers = map[string]charm.ChannelHandler{"session": s.openSession}
	inner.RequestHandlers = map[string]charm.RequestHandler{}
	inner.SubsystemHandlers = map[string]charm.SubsystemHandler{}
	inner.SessionRequestCallback = s.arrived
	inner.PtyHandler = s.follow(inner.PtyHandler)
	inner.ConnectionFailedCallback = func(conn net.Conn, err error) {
		if errors.Is(err, io.EOF) { // a port scan
			return
		}
		s.Meter.Refused("handshake")
		s.Log.Info("ssh handshake failed", "remote", conn.RemoteAddr().String(), "error", err.Error())
	}
	if s.keys != nil {
		inner.PublicKeyHandler = func(_ charm.Context, key charm.PublicKey) bool {
			_, known := s.keys.owner(key)
			return known
		}
		if s.Token || s.Open { // visitors without a key are identified by the session
			inner.KeyboardInteractiveHandler = func(charm.Context,
				gossh.KeyboardInteractiveChallenge) bool {
				return true
			}
		}
	}
	return inner, nil
}

type connectionKey struct{}

// connectionOf returns the connection of a session.
func connectionOf(ctx charm.Context) *connection { return ctx.Value(connectionKey{}).(*connection) }

// accept refuses connections before they use resources.
func (s *server) accept(ctx charm.Context, inner net.Conn) net.Conn {
	refuse := func(reason, text string) net.Conn {
		s.Meter.Refused(reason)
		s.Log.Info("ssh connection refused", "remote", inner.RemoteAddr().String(), "reason", reason)
		_ = inner.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(inner, text+"\r\n") // clients show it, as the protocol says
		return nil
	}
	host := hostOf(inner.RemoteAddr())
	if !s.rates.allow(host) {
		return refuse("rate", "Too many connections from your address. Try again in a minute.")
	}
	conn, ok := newConnection(inner, host, s.guests)
	if !ok {
		return refuse("full", "Too many connections from your address are open. Try again in a minute.")
	}
	conn.flooded = func() { s.endAll(conn, errFlood) }
	ctx.SetValue(connectionKey{}, conn)
	return conn
}

// mostChannels is how many sessions one connection may have at once.
const mostChannels = 10

// openSession opens another session of a connection.
func (s *server) openSession(inner *charm.Server, conn *gossh.ServerConn, channel gossh.NewChannel, ctx charm.Context) {
	ours := connectionOf(ctx)
	free, ok := ours.reserve()
	if !ok || ours.isRefused() || ours.openings.Wait(ctx) != nil {
		_ = channel.Reject(gossh.ResourceShortage, "too many sessions on one connection")
		if ok {
			free()
		}
		return
	}
	defer free()
	charm.DefaultSessionHandler(inner, conn, sifted{channel, s.guests.broke}, ctx)
}

func serverConn(ctx charm.Context) *gossh.ServerConn {
	return ctx.Value(charm.ContextKeyConn).(*gossh.ServerConn)
}

// Detection of dead connections.
const (
	keepAliveEvery = 30 * time.Second
	keepAliveWait  = 30 * time.Second
)

// keepAlive sends keepalive requests, and closes the connection if they are not answered.
func keepAlive(conn *gossh.ServerConn, ours *connection) {
	ticker := time.NewTicker(keepAliveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ours.gone:
			return
		case <-ticker.C:
		}
		dead := ours.closeAfter(keepAliveWait)
		_, _, err := conn.SendRequest("keepalive@openssh.com", true, nil)
		dead.Stop()
		if err != nil {
			return
		}
	}
}

// arrival has the requests of a session before it began.
type arrival struct {
	raw    string // command; may be empty
	env    uv.Environ
	pty    charm.Pty
	hasPty bool
	sizes  chan explorer.Size // of the terminal, only the last one
}

// arrived records a session's requests. It runs between them, because they change the session.
func (s *server) arrived(inner charm.Session, kind string) bool {
	if kind == "subsystem" {
		return false
	}
	ctx := inner.Context()
	if conn := connectionOf(ctx); conn.asksSession() {
		guard.Go(func() { keepAlive(serverConn(ctx), conn) }, s.guests.broke)
	}
	a := arrival{raw: inner.RawCommand(), env: inner.Environ()}
	a.pty, _, a.hasPty = inner.Pty()
	if sizes, ok := s.terminals.Load(inner); ok {
		a.sizes = sizes.(chan explorer.Size)
	}
	s.arrivals.Store(inner, a)
	return true
}

// follow receives the sizes of a terminal for as long as it exists, even if they are not used: an unreceived one would
// block the connection.
func (s *server) follow(emulate charm.PtyHandler) charm.PtyHandler {
	return func(ctx charm.Context, inner charm.Session, pty charm.Pty) (func() error, error) {
		end, err := emulate(ctx, inner, pty)
		if err != nil {
			return nil, err
		}
		sizes := make(chan explorer.Size, 1)
		s.terminals.Store(inner, sizes)
		_, resized, _ := inner.Pty()
		guard.Go(func() {
			defer close(sizes)
			for window := range resized {
				select {
				case <-sizes: // drop an unused one
				default:
				}
				sizes <- clamped(window)
			}
		}, func(err error) {
			s.guests.broke(err)
			_ = inner.Close()
			for range resized { // else the connection blocks
			}
		})
		return func() error {
			s.terminals.Delete(inner)
			return end()
		}, nil
	}
}

// endAll ends the sessions of a connection.
func (s *server) endAll(conn *connection, cause error) {
	s.mutex.Lock()
	running := slices.Collect(maps.Keys(s.sessions))
	s.mutex.Unlock()
	for _, one := range running {
		if one.conn == conn {
			one.end(cause)
		}
	}
}

// stop refuses new sessions, notifies visitors, gives them a moment, and lets commands end.
func (s *server) stop(inner *charm.Server) {
	s.mutex.Lock()
	s.stopping = true
	running := slices.Collect(maps.Keys(s.sessions))
	s.mutex.Unlock()
	for _, one := range running {
		one.notify(fmt.Sprintf("the server is shutting down; you will be disconnected in %d seconds",
			farewell/time.Second))
	}
	empty := make(chan struct{})
	guard.Go(func() {
		s.running.Wait()
		close(empty)
	}, guard.Log(s.Log, "stop the SSH server"))
	wait := func(patience time.Duration, ends ...<-chan struct{}) (ended bool) {
		over := time.After(patience)
		for _, end := range ends {
			select {
			case <-end:
			case <-over:
				return false
			}
		}
		return true
	}
	if len(running) > 0 && !wait(farewell, empty) {
		for _, one := range running {
			one.end(errStopping)
		}
		wait(lastCall, empty)
	}
	// A client that has read its exit code disconnects. Closed before, the connection looks broken to it.
	wait(lastCall, exslices.CastFunc(running, func(one *session) <-chan struct{} { return one.conn.gone })...)
	_ = inner.Close()
}
