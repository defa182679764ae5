package ssh

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/time/rate"

	"quarry/internal/guard"
	"quarry/ui/cli"
	"quarry/ui/target"
)

const (
	rememberedAddresses = 10_000
	handshakeTime       = 2 * time.Minute // time to compare a fingerprint and type a passphrase
	mostWaiting         = 100             // connections without an identified session
	waitingOfOne        = 50              // of them from one address
	emptyTime           = 1 * time.Minute // of a connection without an identified session
	earlyInput          = 256 << 10       // bytes of a connection before its first session
	anonymousInput      = 2 << 20         // more until the visitor is identified: a command's input
	mostRefusals        = 3               // of sessions, before the connection is closed
	openingRate         = 20              // sessions of a connection per second
	openingBurst        = 100
)

// rates limits the connections per address.
type rates struct {
	perMinute int
	known     *lru.Cache[string, *rate.Limiter]
}

func newRates(perMinute int) *rates {
	known, _ := lru.New[string, *rate.Limiter](rememberedAddresses) // a positive size is no error
	return &rates{perMinute: perMinute, known: known}
}

func (r *rates) allow(address string) bool {
	r.known.ContainsOrAdd(address, rate.NewLimiter(rate.Every(time.Minute/time.Duration(r.perMinute)), r.perMinute))
	limiter, known := r.known.Get(address)
	return !known || limiter.Allow() // unknown again if as many others as are remembered came in between
}

// guests counts sessions, and connections without an identified session.
type guests struct {
	limits      target.SSHLimits
	mostWaiting int
	broke       func(error) // logs a panic

	mutex    sync.Mutex
	waiting  []*connection // the oldest first
	sessions int
	persons  map[string]int
}

func newGuests(limits target.SSHLimits, log *slog.Logger) *guests {
	return &guests{limits: limits, mostWaiting: mostWaiting, broke: guard.Log(log, "serve an SSH connection"),
		persons: map[string]int{}}
}

// waits adds a connection without an identified session. It is refused if its address has too many. If there are too
// many in all, the oldest one is evicted: the caller closes it, without locking another connection.
func (g *guests) waits(c *connection, mayRefuse bool) (evicted *connection, ok bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	sameHost := 0
	for _, other := range g.waiting {
		if other.host == c.host {
			sameHost++
		}
	}
	if mayRefuse && sameHost >= waitingOfOne {
		return nil, false
	}
	if len(g.waiting) >= g.mostWaiting {
		evicted = g.waiting[0]
		g.waiting = slices.Delete(g.waiting, 0, 1)
	}
	g.waiting = append(g.waiting, c)
	return evicted, true
}

// waitsNoLonger removes a connection.
func (g *guests) waitsNoLonger(c *connection) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(other *connection) bool { return other == c })
}

var (
	errFull       = tooMany("too many sessions on this server")
	errPersonFull = tooMany("too many sessions of this user or address")
)

func tooMany(what string) error {
	return &cli.Failure{Code: cli.ExitRateLimited, What: what, Do: "Try again in a while."}
}

// enter counts a person's session until leave is called.
func (g *guests) enter(person string) (leave func(), err error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	switch {
	case g.sessions >= g.limits.Sessions:
		return nil, errFull
	case g.persons[person] >= g.limits.PerPerson:
		return nil, errPersonFull
	}
	g.sessions++
	g.persons[person]++
	return sync.OnceFunc(func() {
		g.mutex.Lock()
		defer g.mutex.Unlock()
		g.sessions--
		if g.persons[person]--; g.persons[person] == 0 {
			delete(g.persons, person)
		}
	}), nil
}

func (g *guests) count() int {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.sessions
}

// connection limits a visitor's input, and closes when it has no identified session for a while.
type connection struct {
	net.Conn
	host     string
	limits   target.SSHLimits
	guests   *guests
	left     atomic.Int64  // bytes of input left
	flooded  func()        // called when the input limit is exceeded, if there is a session
	gone     chan struct{} // closed with the connection
	closing  sync.Once
	openings *rate.Limiter

	mutex    sync.Mutex
	channels int
	inside   int // identified sessions
	refusals int
	asked    bool  // for a session
	granted  int64 // bytes of input allowed so far
	closed   bool
	empty    *time.Timer // closes the connection without an identified session
}

// newConnection watches a connection; it reports false if its address has too many.
func newConnection(inner net.Conn, host string, g *guests) (*connection, bool) {
	c := &connection{Conn: inner, host: host, limits: g.limits, guests: g, flooded: func() {},
		gone: make(chan struct{}), openings: rate.NewLimiter(openingRate, openingBurst)}
	c.grant(earlyInput)
	c.empty = c.closeAfter(handshakeTime + emptyTime) // before others can close the connection
	evicted, ok := g.waits(c, true)
	if !ok {
		c.empty.Stop()
		return nil, false
	}
	if evicted != nil {
		_ = evicted.Close()
	}
	return c, true
}

// closeAfter closes the connection after d, unless the timer is stopped.
func (c *connection) closeAfter(d time.Duration) *time.Timer {
	return time.AfterFunc(d, guard.Func(func() { _ = c.Close() }, c.guests.broke))
}

// grant allows a total number of bytes of input.
func (c *connection) grant(bytes int64) {
	if bytes = min(bytes, c.limits.Input); bytes > c.granted {
		c.left.Add(bytes - c.granted)
		c.granted = bytes
	}
}

// Read implements net.Conn. Over the limit it stops reading, while the visitor is shown a message. The SSH library
// calls it in a goroutine without recovery.
func (c *connection) Read(p []byte) (n int, err error) {
	if broken := guard.Call(func() error { n, err = c.read(p); return nil }); broken != nil {
		c.guests.broke(broken)
		return 0, broken
	}
	return n, err
}

func (c *connection) read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.left.Add(int64(-n)) >= 0 || err != nil {
		return n, err
	}
	c.mutex.Lock()
	somebody := c.channels > 0
	c.mutex.Unlock()
	if somebody {
		c.flooded()
		c.closeAfter(lastCall)
		<-c.gone
	}
	_ = c.Close()
	return 0, io.ErrUnexpectedEOF
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.closing.Do(func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.closed = true
		c.empty.Stop()
		close(c.gone)
		c.guests.waitsNoLonger(c)
	})
	return c.Conn.Close()
}

// reserve reserves one of the connection's channels until free is called.
func (c *connection) reserve() (free func(), ok bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.channels >= mostChannels {
		return nil, false
	}
	c.channels++
	return sync.OnceFunc(func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.channels--
	}), true
}

// asksSession allows more input after a session request, before the visitor is identified. It reports whether the
// request is the first.
func (c *connection) asksSession() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.asked {
		return false
	}
	c.asked = true
	c.grant(earlyInput + anonymousInput)
	return true
}

// entered counts an identified session until left is called.
func (c *connection) entered() (left func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.inside++
	c.empty.Stop()
	c.guests.waitsNoLonger(c)
	c.grant(c.limits.Input)
	return sync.OnceFunc(func() {
		if evicted := c.leaves(); evicted != nil {
			_ = evicted.Close()
		}
	})
}

// leaves removes an identified session, and returns a connection that is evicted for this one.
func (c *connection) leaves() (evicted *connection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.inside--; c.inside == 0 && !c.closed {
		evicted, _ = c.guests.waits(c, false)
		c.empty.Reset(emptyTime)
	}
	return evicted
}

// refused counts a refused session. After too many, the connection is closed, with a moment to read the reason.
func (c *connection) refused() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.refusals++; c.refusals == mostRefusals {
		c.closeAfter(lastCall)
	}
}

// isRefused reports whether too many sessions were refused.
func (c *connection) isRefused() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.refusals >= mostRefusals
}

// hostOf returns an address without its port, and of IPv6 the /64 network, which belongs to one customer.
func hostOf(address net.Addr) string {
	text := address.String()
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	ip, err := netip.ParseAddr(text)
	switch ip = ip.Unmap(); {
	case err != nil:
		return text
	case ip.Is4():
		return ip.String()
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}

// Limits of a channel's requests before a session begins, which are kept in memory as long as it lasts.
const (
	longestVariable = 8 << 10
	longestTerminal = 4 << 10
	mostVariables   = 32
)

// usedVariables are the environment variables that visitors may set.
func usedVariables() []string {
	return append([]string{"ONYX_PAT", "QUARRY_PAT", "QUARRY_THEME"}, terminalVariables()...)
}

// terminalVariables describe the visitor's terminal.
func terminalVariables() []string {
	return []string{"COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM_PROGRAM", "ACCESSIBLE"}
}

// sifted is a channel that passes on only requests that a session needs.
type sifted struct {
	gossh.NewChannel
	broke func(error) // logs a panic
}

// Accept accepts the channel. Requests that are too large or not supported are refused.
func (s sifted) Accept() (gossh.Channel, <-chan *gossh.Request, error) {
	channel, requests, err := s.NewChannel.Accept()
	if err != nil {
		return nil, nil, err
	}
	passed := make(chan *gossh.Request)
	guard.Go(func() {
		defer close(passed)
		variables := 0
		for request := range requests {
			if !bearable(request, &variables) {
				_ = request.Reply(false, nil)
				continue
			}
			passed <- request // the receiver receives all
		}
	}, func(err error) {
		s.broke(err)
		_ = channel.Close()
		gossh.DiscardRequests(requests)
	})
	return channel, passed, nil
}

func bearable(request *gossh.Request, variables *int) bool {
	switch request.Type {
	case "env":
		var variable struct{ Name, Value string }
		if *variables >= mostVariables || len(request.Payload) > longestVariable ||
			gossh.Unmarshal(request.Payload, &variable) != nil || !slices.Contains(usedVariables(), variable.Name) {
			return false
		}
		*variables++
		return true
	case "exec": // one packet at most
		return true
	case "pty-req":
		return len(request.Payload) <= longestTerminal
	case "subsystem", "auth-agent-req@openssh.com", "x11-req":
		return false
	}
	return len(request.Payload) <= longestVariable
}
