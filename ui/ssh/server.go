package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	charm "charm.land/ssh"
	"charm.land/wish/v2"
	gossh "golang.org/x/crypto/ssh"
)

// How long a server that stops waits.
const (
	farewell = 5 * time.Second // for people to read that it stops, and for commands to end
	lastCall = 2 * time.Second // for those who were told to be gone
)

// server is an SSH server that runs.
type server struct {
	Options
	keys   *keys // nil: keys let nobody in
	guests *guests
	rates  *rates

	arrivals sync.Map // of arrival, by session: what it asked for before its handler ran

	mutex    sync.Mutex
	sessions map[*session]struct{} // that run
	stopping bool
	running  sync.WaitGroup // the same
}

// serve listens until ctx ends.
func (s *server) serve(ctx context.Context, host gossh.Signer, ready func(address, fingerprint string)) error {
	inner, err := s.newServer(host)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.Address, err)
	}
	failed := make(chan error, 1)
	go func() { failed <- inner.Serve(listener) }()
	if ready != nil {
		ready(listener.Addr().String(), gossh.FingerprintSHA256(host.PublicKey()))
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.stop(inner)
	if err := <-failed; !errors.Is(err, charm.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return nil
}

// newServer sets up what the protocol may be used for: sessions, and nothing that leads on from here.
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
	inner.ChannelHandlers = map[string]charm.ChannelHandler{"session": s.openSession}
	inner.RequestHandlers = map[string]charm.RequestHandler{}
	inner.SubsystemHandlers = map[string]charm.SubsystemHandler{}
	inner.SessionRequestCallback = s.arrived
	inner.ConnectionFailedCallback = func(conn net.Conn, err error) {
		if errors.Is(err, io.EOF) { // somebody looked what is here
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
		if s.Tokens || s.Open { // those without a key come in here, and are asked by the session
			inner.KeyboardInteractiveHandler = func(charm.Context, gossh.KeyboardInteractiveChallenge) bool { return true }
		}
	}
	return inner, nil
}

type connectionKey struct{}

// accept turns connections away before they cost anything.
func (s *server) accept(ctx charm.Context, inner net.Conn) net.Conn {
	refuse := func(reason, text string) net.Conn {
		s.Meter.Refused(reason)
		s.Log.Info("ssh connection refused", "remote", inner.RemoteAddr().String(), "reason", reason)
		_ = inner.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(inner, text+"\r\n") // which a client shows, as the protocol has it
		return nil
	}
	if !s.rates.allow(hostOf(inner.RemoteAddr())) {
		return refuse("rate", "Too many connections from your address. Try again in a minute.")
	}
	if !s.guests.connected() {
		return refuse("full", "This server is full. Try again in a while.")
	}
	conn := newConnection(inner, s.Limits, s.guests.disconnected)
	ctx.SetValue(connectionKey{}, conn)
	return conn
}

// mostChannels is how many sessions one connection may have at once.
const mostChannels = 10

// openSession opens one more session of a connection.
func (s *server) openSession(inner *charm.Server, conn *gossh.ServerConn, channel gossh.NewChannel, ctx charm.Context) {
	ours, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok || ours.busy() >= mostChannels {
		_ = channel.Reject(gossh.ResourceShortage, "too many sessions on one connection")
		return
	}
	over := ours.opened(func() { go keepAlive(conn, ours) })
	defer over()
	charm.DefaultSessionHandler(inner, conn, channel, ctx)
}

// How a connection is found to be dead.
const (
	keepAliveEvery = 30 * time.Second
	keepAliveWait  = 30 * time.Second
)

// keepAlive asks the other side for a sign of life every now and then, and ends the connection without one.
func keepAlive(conn *gossh.ServerConn, ours *connection) {
	gone := make(chan struct{})
	go func() {
		_ = conn.Wait()
		close(gone)
	}()
	ticker := time.NewTicker(keepAliveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-gone:
			return
		case <-ticker.C:
		}
		dead := time.AfterFunc(keepAliveWait, func() { _ = ours.Close() })
		_, _, err := conn.SendRequest("keepalive@openssh.com", true, nil)
		dead.Stop()
		if err != nil {
			return
		}
	}
}

// arrival is what a session asked for before it began.
type arrival struct {
	raw     string // the command; empty: none
	env     []string
	pty     charm.Pty
	resized <-chan charm.Window
	hasPty  bool
}

// arrived notes what a session asks for. It runs in between the session's requests, which change all of it.
func (s *server) arrived(inner charm.Session, kind string) bool {
	if kind == "subsystem" {
		return false
	}
	a := arrival{raw: inner.RawCommand(), env: inner.Environ()}
	a.pty, a.resized, a.hasPty = inner.Pty()
	s.arrivals.Store(inner, a)
	return true
}

// stop lets nobody in any more. People are told and given a moment; commands may end.
func (s *server) stop(inner *charm.Server) {
	s.mutex.Lock()
	s.stopping = true
	running := make([]*session, 0, len(s.sessions))
	for one := range s.sessions {
		running = append(running, one)
	}
	s.mutex.Unlock()
	for _, one := range running {
		one.tell(fmt.Sprintf("this server is being stopped; you will be disconnected in %d seconds", farewell/time.Second))
	}
	empty := make(chan struct{})
	go func() {
		s.running.Wait()
		close(empty)
	}()
	waitFor := func(patience time.Duration) bool {
		select {
		case <-empty:
			return true
		case <-time.After(patience):
			return false
		}
	}
	shut := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { shut <- inner.Shutdown(ctx) }() // closes the listener
	if len(running) > 0 && !waitFor(farewell) {
		for _, one := range running {
			one.end(errStopping)
		}
		waitFor(lastCall)
	}
	_ = inner.Close()
	cancel()
	<-shut
}
