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
	handshakeTime       = 2 * time.Minute // a person compares a fingerprint, and types the passphrase of a key
	spareConnections    = 100             // that have no session yet, or none any more
	spareOfOne          = 50              // of them of one address
	vacancy             = 1 * time.Minute // that a connection may be without a session
	earlyInput          = 256 << 10       // bytes of a connection before its first session
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
	vacant      map[string]int // connections without a session, by address
	sessions    int
	persons     map[string]int
}

func newGuests(limits Limits) *guests {
	return &guests{limits: limits, vacant: map[string]int{}, persons: map[string]int{}}
}

// connected counts a connection, which has no session yet; it is refused when there are too many.
func (g *guests) connected(address string) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.connections >= g.limits.Sessions+spareConnections || g.vacant[address] >= spareOfOne {
		return false
	}
	g.connections++
	g.vacant[address]++
	return true
}

// vacated counts a connection of an address among those without a session.
func (g *guests) vacated(address string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.vacant[address]++
}

// occupied counts it there no longer.
func (g *guests) occupied(address string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.vacant[address]--; g.vacant[address] == 0 {
		delete(g.vacant, address)
	}
}

// disconnected forgets a connection that is counted nowhere else.
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
	host    string
	limits  Limits
	guests  *guests
	left    atomic.Int64  // bytes that may still come
	flooded func()        // called when too much came, if somebody is there
	gone    chan struct{} // closed with the connection

	mutex    sync.Mutex
	channels int
	sessions int
	used     bool // had a session
	closed   bool
	vacant   *time.Timer
}

// newConnection begins to watch a connection that guests has counted.
func newConnection(inner net.Conn, host string, g *guests) *connection {
	c := &connection{Conn: inner, host: host, limits: g.limits, guests: g, flooded: func() {}, gone: make(chan struct{})}
	c.left.Store(min(earlyInput, c.limits.Input))
	c.vacant = time.AfterFunc(handshakeTime+vacancy, func() { _ = c.Close() })
	return c
}

// Read is net.Conn's. Once too much came nothing more is read, while whoever is there is told.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.left.Add(int64(-n)) >= 0 || err != nil {
		return n, err
	}
	c.mutex.Lock()
	somebody := c.sessions > 0
	c.mutex.Unlock()
	if somebody {
		c.flooded()
		time.AfterFunc(lastCall, func() { _ = c.Close() })
		<-c.gone
	}
	_ = c.Close()
	return 0, io.ErrUnexpectedEOF
}

// Close is net.Conn's.
func (c *connection) Close() error {
	c.mutex.Lock()
	first := !c.closed
	c.closed = true
	c.vacant.Stop()
	vacant := c.sessions == 0
	c.mutex.Unlock()
	if first {
		close(c.gone)
		if vacant {
			c.guests.occupied(c.host)
		}
		c.guests.disconnected()
	}
	return c.Conn.Close()
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

// began counts a session of the connection until it is over. The first one runs first.
func (c *connection) began(first func()) (over func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.sessions++
	c.vacant.Stop()
	if c.sessions == 1 && !c.closed {
		c.guests.occupied(c.host)
	}
	if !c.used {
		c.used = true
		c.left.Add(c.limits.Input - min(earlyInput, c.limits.Input))
		first()
	}
	return sync.OnceFunc(func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.sessions--; c.sessions == 0 && !c.closed {
			c.guests.vacated(c.host)
			c.vacant.Reset(vacancy)
		}
	})
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
