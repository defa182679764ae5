package ssh

import (
	"container/list"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"quarry/internal/guard"
	"quarry/ui/target"
)

const (
	rememberedAddresses = 10_000
	handshakeTime       = 2 * time.Minute // a person compares a fingerprint, and types the passphrase of a key
	mostWaiting         = 100             // connections of which nobody knows yet who it is, or with nobody in them any more
	waitingOfOne        = 50              // of them of one address
	vacancy             = 1 * time.Minute // that a connection may be without anybody in it
	earlyInput          = 256 << 10       // bytes of a connection before its first session
	anonymousInput      = 2 << 20         // and until somebody is in: what comes behind a command in the meantime
	mostRefusals        = 3               // of sessions, until the connection ends
	openingRate         = 20              // sessions of a connection in a second
	openingBurst        = 100
)

// rates limit how often an address may connect.
type rates struct {
	perMinute int
	mutex     sync.Mutex // two connections of one address must not both be its first
	known     *lru.Cache[string, *rate.Limiter]
}

func newRates(perMinute int) *rates {
	known, err := lru.New[string, *rate.Limiter](rememberedAddresses)
	if err != nil {
		panic(err) // the number above is not positive
	}
	return &rates{perMinute: perMinute, known: known}
}

func (r *rates) allow(address string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	limiter, ok := r.known.Get(address)
	if !ok {
		limiter = rate.NewLimiter(rate.Every(time.Minute/time.Duration(r.perMinute)), r.perMinute)
		r.known.Add(address, limiter)
	}
	return limiter.Allow()
}

// guests counts who is in, and which connections wait for somebody to be.
type guests struct {
	limits      target.SSHLimits
	mostWaiting int
	broke       func(error) // logs a panic

	mutex       sync.Mutex
	waiting     list.List // of *connection, the longest first
	waitingFrom map[string]int
	sessions    int
	persons     map[string]int
}

func newGuests(limits target.SSHLimits, log *slog.Logger) *guests {
	return &guests{limits: limits, mostWaiting: mostWaiting, broke: guard.Log(log, "serve an SSH connection"),
		waitingFrom: map[string]int{}, persons: map[string]int{}}
}

// waits counts a connection in which nobody is. It is refused when there are too many of its address. When there are too
// many in all, the one that has waited longest makes room: the caller closes it, holding no lock of another connection.
func (g *guests) waits(c *connection, mayRefuse bool) (evicted *connection, ok bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if mayRefuse && g.waitingFrom[c.host] >= waitingOfOne {
		return nil, false
	}
	if g.waiting.Len() >= g.mostWaiting {
		evicted = g.waiting.Front().Value.(*connection)
		g.forget(evicted)
	}
	c.place = g.waiting.PushBack(c)
	g.waitingFrom[c.host]++
	return evicted, true
}

// waitsNoLonger counts it there no more.
func (g *guests) waitsNoLonger(c *connection) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if c.place != nil {
		g.forget(c)
	}
}

// forget takes a connection from those that wait. The caller holds the mutex.
func (g *guests) forget(c *connection) {
	g.waiting.Remove(c.place)
	c.place = nil
	if g.waitingFrom[c.host]--; g.waitingFrom[c.host] == 0 {
		delete(g.waitingFrom, c.host)
	}
}

// What is full.
var (
	errFull       = errors.New("this server is full")
	errPersonFull = errors.New("you have as many sessions as one person, or one address, may have")
)

// enter counts a session of a person until leave is called.
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

// connection counts what a visitor sends, and ends when it is too much, or when nobody is there for a while.
type connection struct {
	net.Conn
	host     string
	limits   target.SSHLimits
	guests   *guests
	place    *list.Element // among those that wait; guarded by guests
	left     atomic.Int64  // bytes that may still come
	flooded  func()        // called when too much came, if somebody is there
	gone     chan struct{} // closed with the connection
	openings *rate.Limiter

	mutex    sync.Mutex
	channels int
	inside   int // sessions of who is known
	refusals int
	asked    bool  // for a session
	granted  int64 // bytes that may come in all, so far
	closed   bool
	vacant   *time.Timer
}

// newConnection begins to watch a connection; false: its address has too many.
func newConnection(inner net.Conn, host string, g *guests) (*connection, bool) {
	c := &connection{Conn: inner, host: host, limits: g.limits, guests: g, flooded: func() {}, gone: make(chan struct{}),
		openings: rate.NewLimiter(openingRate, openingBurst)}
	c.grant(earlyInput)
	c.vacant = c.closeAfter(handshakeTime + vacancy) // before anybody else knows of the connection, and closes it
	evicted, ok := g.waits(c, true)
	if !ok {
		c.vacant.Stop()
		return nil, false
	}
	if evicted != nil {
		_ = evicted.Close()
	}
	return c, true
}

// closeAfter closes the connection after a while, unless the timer is stopped.
func (c *connection) closeAfter(d time.Duration) *time.Timer {
	return time.AfterFunc(d, guard.Func(func() { _ = c.Close() }, c.guests.broke))
}

// grant lets so many bytes come in all.
func (c *connection) grant(bytes int64) {
	if bytes = min(bytes, c.limits.Input); bytes > c.granted {
		c.left.Add(bytes - c.granted)
		c.granted = bytes
	}
}

// Read is net.Conn's. Over the limit it reads nothing more, while the visitor gets a message. The SSH library calls it
// in a goroutine that recovers from nothing.
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

// Close is net.Conn's.
func (c *connection) Close() error {
	if c.ends() {
		close(c.gone)
		c.guests.waitsNoLonger(c)
	}
	return c.Conn.Close()
}

// ends notes that the connection is closed, and reports whether this is the first time.
func (c *connection) ends() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	first := !c.closed
	c.closed = true
	c.vacant.Stop()
	return first
}

// take takes one of the channels that a connection may have at once. It is given back by free.
func (c *connection) take() (free func(), ok bool) {
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

// asksSession notes that a session was asked for: behind it more may come before it is known whose it is. It reports
// whether it is the first.
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

// entered counts somebody who is in, until they leave.
func (c *connection) entered() (left func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.inside++
	c.vacant.Stop()
	c.guests.waitsNoLonger(c)
	c.grant(c.limits.Input)
	return sync.OnceFunc(func() {
		if evicted := c.leaves(); evicted != nil {
			_ = evicted.Close()
		}
	})
}

// leaves counts one person less, and returns a connection that makes room for this one among those that wait.
func (c *connection) leaves() (evicted *connection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.inside--; c.inside == 0 && !c.closed {
		evicted, _ = c.guests.waits(c, false)
		c.vacant.Reset(vacancy)
	}
	return evicted
}

// refused counts a session that is not let in. A connection that only tries ends, after a moment to read why.
func (c *connection) refused() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.refusals++; c.refusals == mostRefusals {
		c.closeAfter(lastCall)
	}
}

// triesOnly tells that enough sessions were refused.
func (c *connection) triesOnly() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.refusals >= mostRefusals
}

// hostOf is where an address comes from, without its port. Of IPv6 it is the network: whoever has one address there has
// all of them.
func hostOf(address net.Addr) string {
	text := address.String()
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return text
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return text
	}
	return network.String()
}
