package ssh

import (
	"cmp"
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
	"golang.org/x/term"

	"quarry/client"
	"quarry/internal/guard"
	"quarry/ui/cli"
)

// The kinds of session.
const (
	kindExplorer = "explorer"
	kindCommand  = "command"
)

// Reasons why the server ends a session.
var (
	errStopping = refusal("the server is shutting down", "Connect again later.")
	errIdle     = refusal("the session was idle for too long", "Connect again.")
	errOver     = refusal("the session reached its time limit", "Connect again.")
	errKeyGone  = refusal("your key is no longer accepted", "Ask the server's operator.")
	errGone     = refusal("your access was revoked", "Ask the server's operator.")
	errFlood    = refusal("the connection exceeded its input limit", "Send less, or use several connections.")
)

// errBroke is what a visitor is shown after a panic.
var errBroke = &cli.Failure{Code: cli.ExitGeneral, What: "internal error; it was logged", Do: "Connect again."}

// session is one SSH session.
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

// handled is the middleware that runs every session.
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

// begin registers a session; it reports false if the server is shutting down.
func (s *server) begin(one *session) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stopping {
		return false
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

// run runs a session and returns its exit code. A panic ends this session only.
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
	s.idle = watch(s.server.Limits.Idle, func() { s.notify("this session is idle and ends in a minute") },
		func() { s.end(errIdle) }, s.fail)
	defer s.idle.stop()
	if s.arrival.hasPty {
		s.keyboard = listen(s.ctx, s.inner, s.idle.heard, s.stop, s.fail)
		if s.arrival.raw == "" {
			kind = kindExplorer
			s.keyboard.whole.Store(true) // including keys typed before it opens
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
	if !slices.Contains(cli.CommandNames(), word) {
		word = "" // a query, which must not be logged
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, "ssh session", slog.String("user", s.visitor.name),
		slog.String("way", s.visitor.way), slog.String("kind", kind), slog.String("command", word),
		slog.Bool("terminal", s.arrival.hasPty), slog.String("ended", s.endedBy()), slog.Int64("bytes", s.sent.Load()),
		slog.Int("exit", code), slog.Int64("ms", s.server.Now().Sub(started).Milliseconds()))
	return code
}

// endedBy returns why the server ended the session; empty if it did not.
func (s *session) endedBy() string {
	if ended, ok := errors.AsType[*cli.Failure](context.Cause(s.ctx)); ok {
		return ended.What
	}
	return ""
}

// broke logs a panic.
func (s *session) broke(err error) {
	s.server.Log.Error("ssh session broke", "remote", s.inner.RemoteAddr().String(), guard.Attr(err))
}

// fail logs a panic of one of the session's goroutines, and ends the session.
func (s *session) fail(err error) {
	s.broke(err)
	s.end(errBroke)
}

// enter identifies and counts the visitor, and watches that their access is not revoked.
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
	s.server.reportVisitors()
	return func() {
		left()
		out()
		s.server.reportVisitors()
	}, nil
}

// watchIdentity ends the session when the visitor's access is revoked: the key is removed or reassigned, the token
// revoked, the user removed.
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

// reportVisitors reports the number of visitors, in order.
func (s *server) reportVisitors() {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.Visitors(s.guests.count())
}

// refused prints why a visitor is refused, and returns the exit code.
func (s *session) refused(err error) int {
	var no *cli.Failure
	switch {
	case errors.As(context.Cause(s.ctx), &no):
		s.complain(no)
		return cli.ExitInterrupted
	case !errors.As(err, &no):
		no = cli.Explain(err, s.server.Now())
		no.Do = "try again later, or tell the server's operator."
	}
	s.complain(no)
	return no.Code
}

// end ends a session from outside. If its client does not read, first its channel is closed and then the connection,
// which other sessions may share.
func (s *session) end(cause error) {
	s.stop(cause)
	s.ifRunsAfter(lastCall, func() {
		s.ifRunsAfter(lastCall, func() { _ = s.conn.Close() })
		_ = s.inner.Close()
	})
}

// ifRunsAfter calls f after d if the session still runs.
func (s *session) ifRunsAfter(d time.Duration, f func()) {
	time.AfterFunc(d, guard.Func(func() {
		if s.runs() {
			f()
		}
	}, s.broke))
}

// runs reports whether the session still runs.
func (s *session) runs() bool {
	s.server.mutex.Lock()
	defer s.server.mutex.Unlock()
	_, runs := s.server.sessions[s]
	return runs
}

// notify shows a line in the explorer.
func (s *session) notify(text string) {
	select {
	case s.notices <- text:
	default: // the previous ones are not shown yet
	}
}

// complain prints a refusal in two lines.
func (s *session) complain(no *cli.Failure) {
	fmt.Fprintf(s.stderr(), "error: %s\nhint: %s\n", no.What, no.Do)
}

// say prints a line after everything else.
func (s *session) say(text string) { fmt.Fprintf(s.stderr(), "quarry: %s\n", text) }

// stderr returns the stream for everything but results. A terminal has only one stream.
func (s *session) stderr() io.Writer {
	if s.arrival.hasPty {
		return s
	}
	return stream{s.inner.Stderr(), &s.aside}
}

// stream serialises writes.
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

// Write sends to the visitor, and counts bytes. A command whose output is read is not idle. Bubble Tea calls it in a
// goroutine without recovery.
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

// progressing reads a command's input, which counts as activity.
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

const (
	identifyTime = 15 * time.Second // for the searched server to identify a token
	tokenTries   = 3
)

// The authentication methods.
const (
	byKey   = "key"
	byToken = "token"
	openWay = "open"
)

// visitor is the user of a session.
type visitor struct {
	way    string
	owner  owner  // of the key or token
	name   string // for the log: an address, or "anonymous"
	person string // key of the limit of sessions per person
	client *client.Client
}

// refusal returns why a visitor is refused, or a session ended.
func refusal(what, do string) *cli.Failure {
	return &cli.Failure{Code: cli.ExitAuth, What: what, Do: do}
}

// identify returns the visitor: by their key, else by the token in their environment, else anonymous if that is
// allowed, else by a token that they type.
func (s *session) identify(ctx context.Context) (*visitor, error) {
	remote := s.inner.RemoteAddr().String()
	if key := s.inner.PublicKey(); key != nil && s.server.keys != nil {
		found, ok := s.server.keys.owner(key)
		switch {
		case !ok:
			return nil, errKeyGone
		case found.token != "":
			return s.withToken(ctx, byKey, found.token)
		}
		c, err := s.server.People.Person(found.email, remote)
		if err != nil {
			return nil, err
		}
		return s.confirmed(ctx, byKey, found, c)
	}
	token := cmp.Or(s.arrival.env.Getenv("QUARRY_PAT"), s.arrival.env.Getenv("ONYX_PAT"))
	switch {
	case s.server.Token && token != "":
		return s.withToken(ctx, byToken, token)
	case s.server.Open:
		c, err := s.server.People.Anybody(remote)
		return &visitor{way: openWay, name: "anonymous", person: "from " + hostOf(s.inner.RemoteAddr()), client: c}, err
	case s.server.Token && s.keyboard != nil:
		return s.askToken(ctx)
	case s.server.Token:
		return nil, refusal("this server requires a token",
			"Send one with: ONYX_PAT=… ssh -o SendEnv=ONYX_PAT HOST, or type it at a terminal: ssh -t HOST")
	}
	return nil, refusal("this server accepts only known keys", "Ask the server's operator to add yours.")
}

func (s *session) withToken(ctx context.Context, way, token string) (*visitor, error) {
	token, err := usableToken(strings.TrimSpace(token))
	if err != nil {
		return nil, refusal(err.Error(), "Check that it was copied completely.")
	}
	c, err := s.server.People.Token(token, s.inner.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	return s.confirmed(ctx, way, owner{token: token}, c)
}

// confirmed asks the searched server who the visitor is.
func (s *session) confirmed(ctx context.Context, way string, whose owner, c *client.Client) (*visitor, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	me, err := c.Me(ctx)
	switch {
	case client.KindOf(err) == client.Auth || err == nil && me.IsAnonymousUser:
		return nil, refusal(map[string]string{byKey: "the owner of your key may not search here",
			byToken: "the token is not valid"}[way], "Ask the server's operator.")
	case err != nil:
		return nil, fmt.Errorf("identify you: %w", err)
	}
	return &visitor{way: way, owner: whose, name: me.Email, person: strings.ToLower(me.Email), client: c}, nil
}

// lineEditor reads lines at the terminal, and handles all keys.
func (s *session) lineEditor() *term.Terminal {
	s.keyboard.whole.Store(true)
	return term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{s.keyboard, s}, "")
}

// askToken asks for a token at the terminal, without echo.
func (s *session) askToken(ctx context.Context) (*visitor, error) {
	defer s.keyboard.whole.Store(s.keyboard.whole.Load())
	prompt := s.lineEditor()
	fmt.Fprintf(s, "Searching %s requires a token.\n", s.server.Where)
	var refused error
	for range tokenTries {
		typed, err := prompt.ReadPassword("Token (hidden): ")
		if err != nil || strings.TrimSpace(typed) == "" {
			return nil, refusal("no token was given",
				"Ask the server's operator for one, or create one in its settings.")
		}
		who, err := s.withToken(ctx, byToken, typed)
		no, isRefusal := errors.AsType[*cli.Failure](err)
		if !isRefusal {
			return who, err
		}
		refused = err
		fmt.Fprintf(s, "%s\n", no.What)
	}
	return nil, refused
}
