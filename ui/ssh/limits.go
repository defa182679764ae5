package ssh

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

const (
	rememberedAddresses = 10_000
	handshakeTime       = 20 * time.Second
	spareConnections    = 100             // that have no session yet, or none any more
	vacancy             = 1 * time.Minute // that a connection may be without a session
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

// guests counts who is in.
type guests struct {
	limits Limits

	mutex       sync.Mutex
	connections int
	sessions    int
	persons     map[string]int
}

func newGuests(limits Limits) *guests { return &guests{limits: limits, persons: map[string]int{}} }

// connected counts a connection; it is refused when there are too many.
func (g *guests) connected() bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.connections >= g.limits.Sessions+spareConnections {
		return false
	}
	g.connections++
	return true
}

func (g *guests) disconnected() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.connections--
}

// What is full.
var (
	errFull       = errors.New("this server is full; try again in a while")
	errPersonFull = errors.New("you have as many sessions as one person may have; leave one of them first")
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
	left   atomic.Int64 // bytes that may still come
	closed func()       // called once

	mutex    sync.Mutex
	sessions int
	used     bool // had a session
	vacant   *time.Timer
}

func newConnection(inner net.Conn, limits Limits, closed func()) *connection {
	c := &connection{Conn: inner, closed: sync.OnceFunc(closed)}
	c.left.Store(limits.Input)
	c.vacant = time.AfterFunc(handshakeTime+vacancy, func() { _ = c.Close() })
	return c
}

// Read is net.Conn's.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.left.Add(int64(-n)) < 0 && err == nil {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// Close is net.Conn's.
func (c *connection) Close() error {
	c.vacant.Stop()
	defer c.closed()
	return c.Conn.Close()
}

// opened counts a session of the connection until it is over. The first one runs first.
func (c *connection) opened(first func()) (over func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.sessions++
	c.vacant.Stop()
	if !c.used {
		c.used = true
		first()
	}
	return sync.OnceFunc(func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.sessions--; c.sessions == 0 {
			c.vacant.Reset(vacancy)
		}
	})
}

// busy is how many sessions the connection has.
func (c *connection) busy() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.sessions
}

// hostOf is where an address comes from, without its port. Of IPv6 it is the network: whoever has one address there has
// all of them.
func hostOf(address net.Addr) string {
	text := address.String()
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Unmap().Is4() {
		return text
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return text
	}
	return network.String()
}
