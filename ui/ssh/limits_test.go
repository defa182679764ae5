package ssh

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quarry/internal/guard"
	"quarry/ui/target"
)

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(3)
		for i := range 3 {
			if !r.allow("a") {
				t.Errorf("connection %d is refused", i)
			}
		}
		if r.allow("a") || !r.allow("b") {
			t.Error("the limit is not that of an address")
		}
		time.Sleep(20 * time.Second)
		if !r.allow("a") || r.allow("a") {
			t.Error("the limit does not go with time")
		}
		for range rememberedAddresses {
			r.allow(time.Now().String())
		}
		if r.known.Len() > rememberedAddresses {
			t.Error("every address is remembered")
		}
	})
}

func TestGuests(t *testing.T) {
	g := newGuests(target.SSHLimits{Sessions: 3, PerPerson: 2}, slog.New(slog.DiscardHandler))
	var leave []func()
	for range 2 {
		one, err := g.enter("jo")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, one)
	}
	if _, err := g.enter("jo"); !errors.Is(err, errPersonFull) {
		t.Error(err)
	}
	if _, err := g.enter("ann"); err != nil {
		t.Error(err)
	}
	if _, err := g.enter("al"); !errors.Is(err, errFull) {
		t.Error(err)
	}
	leave[0]()
	leave[0]() // counts once
	if _, err := g.enter("jo"); err != nil {
		t.Error(err)
	}
	if _, err := g.enter("jo"); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if g.count() != 3 {
		t.Errorf("%d sessions", g.count())
	}
}

// One address has only some of the connections that may be there with nobody in them, and nobody keeps others out by
// standing there.
func TestConnectionsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuests(target.SSHLimits{Sessions: 100, Input: 1 << 20}, slog.New(slog.DiscardHandler))
		from := func(host string) *connection {
			inner, other := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, other) }()
			c, ok := newConnection(inner, host, g)
			if !ok {
				_, _ = inner.Close(), other.Close()
				return nil
			}
			return c
		}
		var all []*connection
		for range waitingOfOne {
			all = append(all, from("a"))
		}
		if from("a") != nil {
			t.Error("the limit is not that of an address")
		}
		left := all[0].entered()
		if all = append(all, from("a")); from("a") != nil {
			t.Error("a connection with somebody in it counts as one that waits")
		}
		for i := range mostWaiting {
			all = append(all, from(string(rune('b'+i%26))))
		}
		synctest.Wait()
		if len(g.waiting) != mostWaiting {
			t.Errorf("%d connections wait", len(g.waiting))
		}
		select {
		case <-all[1].gone:
		default:
			t.Error("the one that waits longest is not ended")
		}
		select {
		case <-all[0].gone:
			t.Error("one with somebody in it is ended")
		default:
		}
		left()
		for _, c := range all {
			_ = c.Close()
		}
		synctest.Wait()
		if !g.empty() {
			t.Error("closed connections are still counted")
		}
	})
}

// A connection may have to make room as soon as others know of it.
func TestAConnectionMakesRoomAtOnce(t *testing.T) {
	var broken atomic.Pointer[error]
	g := newGuests(target.SSHLimits{Sessions: 1, Input: 1 << 20}, slog.New(slog.DiscardHandler))
	g.mostWaiting, g.broke = 1, func(err error) { broken.Store(&err) }
	var group sync.WaitGroup
	for range 8 {
		group.Go(guard.Func(func() {
			for range 5_000 {
				inner, other := net.Pipe()
				c, ok := newConnection(inner, "a", g)
				if !ok {
					t.Error("refused")
				}
				c.entered()()
				_, _ = c.Close(), other.Close()
			}
		}, g.broke))
	}
	group.Wait()
	if err := broken.Load(); err != nil {
		t.Error(*err)
	}
	if !g.empty() {
		t.Error("closed connections are still counted")
	}
}

// Who only tries tokens does not do so for long.
func TestRefusalsEndAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, other, g := connected(t, target.SSHLimits{Sessions: 1, Input: 1 << 20})
		for range mostRefusals {
			if c.isRefused() {
				t.Error("it ends too soon")
			}
			c.refused()
		}
		if after := ends(t, other); after != lastCall || !g.empty() || !c.isRefused() {
			t.Errorf("it ended after %s", after)
		}
	})
}

// connected returns a connection and its other end.
func connected(t *testing.T, limits target.SSHLimits) (*connection, net.Conn, *guests) {
	t.Helper()
	g := newGuests(limits, slog.New(slog.DiscardHandler))
	inner, other := net.Pipe()
	c, ok := newConnection(inner, "a", g)
	if !ok {
		t.Fatal("refused")
	}
	t.Cleanup(func() { _, _ = c.Close(), other.Close() })
	return c, other, g
}

func (g *guests) empty() bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return len(g.waiting) == 0
}

// ends tells when the other end of a connection sees its end.
func ends(t *testing.T, other net.Conn) time.Duration {
	t.Helper()
	start := time.Now()
	if _, err := io.Copy(io.Discard, other); err != nil {
		t.Error(err)
	}
	return time.Since(start)
}

// A channel that asks for nothing is no session.
func TestAConnectionWithoutASessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, other, g := connected(t, target.SSHLimits{Sessions: 1, Input: 1 << 20})
		if _, ok := c.reserve(); !ok {
			t.Fatal("no channel")
		}
		if after := ends(t, other); after != handshakeTime+emptyTime || !g.empty() {
			t.Errorf("it ended after %s", after)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, other, g := connected(t, target.SSHLimits{Sessions: 1, Input: 1 << 20})
		over, second := c.entered(), c.entered()
		time.Sleep(time.Hour)
		over()
		over()
		time.Sleep(time.Hour)
		second()
		if after := ends(t, other); after != emptyTime || !g.empty() {
			t.Errorf("it ended %s after its last session", after)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, _, g := connected(t, target.SSHLimits{Sessions: 1, Input: 1 << 20})
		over := c.entered()
		_ = c.Close()
		over()
		_ = c.Close()
		if !g.empty() {
			t.Error("a connection that was closed in its session is still counted")
		}
	})
}

func TestChannelsOfAConnection(t *testing.T) {
	c, _, _ := connected(t, target.SSHLimits{Sessions: 1, Input: 1 << 20})
	var group sync.WaitGroup
	given := make(chan func(), 1000)
	for range 1000 {
		group.Go(func() {
			if free, ok := c.reserve(); ok {
				given <- free
			}
		})
	}
	group.Wait()
	if len(given) != mostChannels {
		t.Errorf("%d channels", len(given))
	}
	free := <-given
	free()
	free()
	if _, ok := c.reserve(); !ok {
		t.Error("a channel is not given back")
	}
	if _, ok := c.reserve(); ok {
		t.Error("a channel is given back twice")
	}
}

func TestInputOfAConnection(t *testing.T) {
	send := func(other net.Conn) <-chan int {
		sent := make(chan int, 1)
		go func() {
			n, err := 0, error(nil)
			for chunk := make([]byte, 1<<10); err == nil; n++ {
				_, err = other.Write(chunk)
			}
			sent <- n << 10
		}()
		return sent
	}
	synctest.Test(t, func(t *testing.T) {
		c, other, _ := connected(t, target.SSHLimits{Sessions: 1, Input: 1 << 20})
		sent := send(other)
		if n, _ := io.Copy(io.Discard, c); n != earlyInput {
			t.Errorf("%d bytes came before a session", n)
		}
		if n := <-sent; n > earlyInput+2<<10 {
			t.Errorf("%d bytes were taken", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, other, _ := connected(t, target.SSHLimits{Sessions: 1, Input: 1 << 20})
		told := time.Time{}
		c.flooded = func() { told = time.Now() }
		if _, ok := c.reserve(); !ok || !c.asksSession() || c.asksSession() {
			t.Error("a session cannot be asked for")
		}
		c.entered()
		send(other)
		if n, _ := io.Copy(io.Discard, c); n != 1<<20 {
			t.Errorf("%d bytes came", n)
		}
		if time.Since(told) != lastCall {
			t.Error("who is there is told, and given a moment")
		}
	})
}

func TestHostOf(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1:22": "192.0.2.1", "[2001:db8:1:2:3::1]:22": "2001:db8:1:2::/64", "[fe80::1%eth0]:22": "fe80::/64", "pipe": "pipe",
		"[::ffff:192.0.2.1]:22": "192.0.2.1",
	} {
		if got := hostOf(address(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
