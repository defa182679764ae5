package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	charm "charm.land/ssh"

	"quarry/internal/guard"
	"quarry/ui/cli"
)

// The kinds of session.
const (
	kindExplorer = "explorer"
	kindCommand  = "command"
)

// Why a session ends that its person did not leave.
var (
	errStopping = &refusal{"this server is being stopped", "Connect again in a little while."}
	errIdle     = &refusal{"nobody pressed a key for a long time, and the session is over", "Connect again."}
	errOver     = &refusal{"this session has lasted as long as one may", "Connect again."}
	errKeyGone  = &refusal{"your key does not open this server any more", "Ask who runs it."}
	errGone     = &refusal{"you may not search here any more", "Ask who runs this server."}
	errFlood    = &refusal{"more came over this connection than one may send", "Send less, or in several connections."}
)

// errBroke is all that a visitor hears of a panic.
var errBroke = &refusal{"something went wrong here, and this session is over; it was noted", "Connect again."}

// session is one visit.
type session struct {
	server   *server
	inner    charm.Session
	conn     *connection
	arrival  arrival
	ctx      context.Context
	stop     context.CancelCauseFunc
	keyboard *keyboard // nil without a terminal
	visitor  *visitor
	notices  chan string
	idle     *idleness
	sent     atomic.Int64

	outward, aside sync.Mutex // a channel's writers share a buffer for each of its two streams
}

// handled is what happens to every session that asks for a shell or a command.
func (s *server) handled(charm.Handler) charm.Handler {
	return func(inner charm.Session) {
		found, ok := s.arrivals.LoadAndDelete(inner)
		if !ok {
			return
		}
		one := &session{server: s, inner: inner, conn: connectionOf(inner.Context()), arrival: found.(arrival),
			notices: make(chan string, 4)}
		one.ctx, one.stop = context.WithCancelCause(inner.Context())
		defer one.stop(nil)
		if !s.begin(one) {
			one.complain(errStopping)
			_ = inner.Exit(cli.ExitUnreachable)
			return
		}
		defer s.ended(one)
		_ = inner.Exit(one.run())
	}
}

// begin counts a session that runs; false: the server stops.
func (s *server) begin(one *session) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stopping {
		return false
	}
	if s.sessions == nil {
		s.sessions = map[*session]struct{}{}
	}
	s.sessions[one] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *server) ended(one *session) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.sessions, one)
	s.running.Done()
}

// run runs a session from its identity to its exit code. A panic ends this session only.
func (s *session) run() (code int) {
	started, kind := s.server.Now(), kindCommand
	log := s.server.Log.With("remote", s.inner.RemoteAddr().String())
	defer func() {
		if cause := recover(); cause != nil {
			s.broke(guard.Caught(cause))
			s.say(errBroke.Error())
			code = cli.ExitGeneral
		}
	}()
	limit := time.AfterFunc(s.server.Limits.Total, guard.Func(func() { s.end(errOver) }, s.fail))
	defer limit.Stop()
	s.idle = watch(s.server.Limits.Idle, func() { s.tell("nobody pressed a key for long; this session ends in a minute") },
		func() { s.end(errIdle) }, s.fail)
	defer s.idle.stop()
	if s.arrival.hasPty {
		s.keyboard = listen(s.ctx, s.inner, s.idle.heard, s.stop, s.fail)
		if s.arrival.raw == "" {
			kind = kindExplorer
			s.keyboard.whole.Store(true) // also what is typed before it opens
		}
	}
	leave, err := s.enter()
	if err != nil {
		reason := "identity"
		if errors.Is(err, errFull) || errors.Is(err, errPersonFull) {
			reason = "full"
		}
		s.server.Meter.Refused(reason)
		log.Info("ssh session refused", "error", err.Error())
		return s.refused(err)
	}
	defer leave()
	s.server.Meter.SessionBegan(kind)
	defer func() { s.server.Meter.SessionEnded(kind, s.server.Now().Sub(started)) }()
	code = s.command(s.arrival.raw)
	word, _, _ := strings.Cut(strings.TrimSpace(s.arrival.raw), " ")
	if !slices.Contains(commandNames(), word) {
		word = "" // a query, which is nobody's business here
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, "ssh session", slog.String("user", s.visitor.name),
		slog.String("way", s.visitor.way), slog.String("kind", kind), slog.String("command", word),
		slog.Bool("terminal", s.arrival.hasPty), slog.String("ended", s.endedBy()), slog.Int64("bytes", s.sent.Load()), slog.Int("exit", code),
		slog.Int64("ms", s.server.Now().Sub(started).Milliseconds()))
	return code
}

// endedBy is why the session ended, where its person did not leave; else empty.
func (s *session) endedBy() string {
	var told *refusal
	if errors.As(context.Cause(s.ctx), &told) {
		return told.what
	}
	return ""
}

// broke logs a panic.
func (s *session) broke(err error) {
	s.server.Log.Error("ssh session broke", "remote", s.inner.RemoteAddr().String(), guard.Attr(err))
}

// fail logs a panic of a goroutine that works for the session, and ends it.
func (s *session) fail(err error) {
	s.broke(err)
	s.end(errBroke)
}

// enter finds out who it is and counts them. Who is not to be let in any more meanwhile does not stay.
func (s *session) enter() (leave func(), err error) {
	if s.visitor, err = s.identify(s.ctx); err != nil {
		s.conn.refused()
		return nil, err
	}
	out, err := s.server.guests.enter(s.visitor.person)
	if err != nil {
		return nil, err
	}
	left := s.conn.entered()
	if s.visitor.way != openWay {
		guard.Go(s.watchIdentity, s.fail)
	}
	s.server.tellVisitors()
	return func() {
		left()
		out()
		s.server.tellVisitors()
	}, nil
}

// watchIdentity ends the session when its visitor would not be let in any more: the key is taken away or somebody else's,
// the token revoked, the person gone.
func (s *session) watchIdentity() {
	ticker := time.NewTicker(s.server.Limits.Known)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		if s.visitor.way == byKey {
			if now, known := s.server.keys.owner(s.inner.PublicKey()); !known || now != s.visitor.owner {
				s.end(errKeyGone)
				return
			}
		}
		if !s.server.People.Knows(s.ctx, s.visitor.owner.token, s.visitor.owner.email) {
			s.end(errGone)
			return
		}
	}
}

// tellVisitors tells how many are in. What is told last is how many there are.
func (s *server) tellVisitors() {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.Visitors(s.guests.count())
}

// refused tells why somebody does not come in.
func (s *session) refused(err error) int {
	var no *refusal
	switch {
	case errors.As(context.Cause(s.ctx), &no):
		s.complain(no)
		return cli.ExitInterrupted
	case errors.As(err, &no):
		s.complain(no)
		return cli.ExitAuth
	case errors.Is(err, errFull) || errors.Is(err, errPersonFull):
		s.complain(&refusal{err.Error(), "Try again in a while."})
		return cli.ExitRateLimited
	}
	failure := cli.Explain(err, s.server.Now())
	fmt.Fprintf(s.stderr(), "error: %s\nhint: try again later, or tell who runs this server.\n", failure.What)
	return failure.Code
}

// end ends a session from outside. Of one whose person does not read, first its channel is closed, and then the
// connection, which others of the same person may share.
func (s *session) end(cause error) {
	s.stop(cause)
	s.ifRunsAfter(lastCall, func() {
		s.ifRunsAfter(lastCall, func() { _ = s.conn.Close() })
		_ = s.inner.Close()
	})
}

// ifRunsAfter calls f after a while if the session is not over by then.
func (s *session) ifRunsAfter(d time.Duration, f func()) {
	time.AfterFunc(d, guard.Func(func() {
		if s.runs() {
			f()
		}
	}, s.broke))
}

// runs tells that the session is not over yet.
func (s *session) runs() bool {
	s.server.mutex.Lock()
	defer s.server.mutex.Unlock()
	_, runs := s.server.sessions[s]
	return runs
}

// tell shows a line to a person in the explorer.
func (s *session) tell(text string) {
	select {
	case s.notices <- text:
	default: // they have not read the ones before
	}
}

// complain prints the two lines of a refusal.
func (s *session) complain(no *refusal) {
	fmt.Fprintf(s.stderr(), "error: %s\nhint: %s\n", no.what, no.do)
}

// say prints a line after everything else.
func (s *session) say(text string) { fmt.Fprintf(s.stderr(), "quarry: %s\n", text) }

// stderr is where all that is no result goes. A terminal has only one stream, in which things keep their order.
func (s *session) stderr() io.Writer {
	if s.arrival.hasPty {
		return s
	}
	return stream{s.inner.Stderr(), &s.aside}
}

// stream is written to by one at a time.
type stream struct {
	io.Writer
	mutex *sync.Mutex
}

// Write is io.Writer's.
func (s stream) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.Writer.Write(p)
}

// Write is io.Writer's: it sends to the visitor, and counts. A command that is read is not idle. Bubble Tea calls it in a
// goroutine that recovers from nothing.
func (s *session) Write(p []byte) (n int, err error) {
	if broken := guard.Call(func() error { n, err = s.write(p); return nil }); broken != nil {
		s.fail(broken)
		return 0, broken
	}
	return n, err
}

func (s *session) write(p []byte) (int, error) {
	s.outward.Lock()
	defer s.outward.Unlock()
	n, err := s.inner.Write(p)
	s.sent.Add(int64(n))
	if !s.arrival.hasPty && n > 0 {
		s.idle.heard()
	}
	if errors.Is(err, io.EOF) { // of a channel that the other side closed
		err = io.ErrClosedPipe
	}
	return n, err
}

// progressing is what a command reads. While something comes it is not idle.
type progressing struct {
	io.Reader
	heard func()
}

// Read is io.Reader's.
func (p progressing) Read(into []byte) (int, error) {
	n, err := p.Reader.Read(into)
	if n > 0 {
		p.heard()
	}
	return n, err
}

// duplex is two ways of one terminal.
type duplex struct {
	io.Reader
	io.Writer
}
