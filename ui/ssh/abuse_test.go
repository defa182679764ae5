package ssh_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"quarry/internal/testkit/longtest"
)

// dialFrom opens a connection from another address of this machine, so that limits of addresses can be told apart.
func (h *house) dialFrom(address string) (net.Conn, error) {
	if h.memory != nil {
		return h.memory.Dial(context.Background(), "", "")
	}
	dialer := net.Dialer{Timeout: patience}
	if runtime.GOOS == "linux" { // where all of 127.0.0.0/8 is this machine
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(address)}
	}
	return dialer.DialContext(context.Background(), "tcp", h.address)
}

// client speaks SSH over a connection.
func (h *house) client(conn net.Conn, auth ...gossh.AuthMethod) (*gossh.Client, error) {
	c, channels, requests, err := gossh.NewClientConn(conn, h.address, &gossh.ClientConfig{User: "visitor", Auth: auth, HostKeyCallback: gossh.InsecureIgnoreHostKey()})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return gossh.NewClient(c, channels, requests), nil
}

// stranger connects from an address that nobody else in the test has.
func (h *house) stranger(address string, auth ...gossh.AuthMethod) *gossh.Client {
	h.t.Helper()
	conn, err := h.dialFrom(address)
	if err != nil {
		h.t.Fatal(err)
	}
	client, err := h.client(conn, auth...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = client.Close() })
	return client
}

// neighbour is somebody who works while others misbehave.
type neighbour struct {
	t    testing.TB
	h    *house
	auth []gossh.AuthMethod
	conn *gossh.Client
	v    *visit
}

const theirAddress = "127.0.0.9" // the neighbour's

func newNeighbour(h *house, auth ...gossh.AuthMethod) *neighbour {
	h.t.Helper()
	n := &neighbour{t: h.t, h: h, auth: auth, conn: h.stranger(theirAddress, auth...)}
	n.v = sit(h.t, n.conn, 100, 30, "")
	n.v.sees("type to search")
	n.works() // what is opened once is open
	return n
}

// works searches in the explorer and with a command, and somebody new comes in. All of them get their answers.
func (n *neighbour) works() {
	n.t.Helper()
	n.v.Send("roll back a release")
	n.v.sees("Runbook: rolling back a release")
	n.v.press("esc")
	n.v.Send("\x15")
	n.v.sees("type to search")
	if got := run(n.t, n.conn, "search rollback", ""); got.code != 0 || !strings.Contains(got.out, "Runbook") {
		n.t.Errorf("a neighbour's search: exit %d\n%s", got.code, got.err)
	}
	conn := n.h.stranger("127.0.0.10", n.auth...)
	if got := run(n.t, conn, "version", ""); got.code != 0 {
		n.t.Errorf("somebody new: exit %d\n%s", got.code, got.err)
	}
	_ = conn.Close()
}

// footprint is what a process holds.
type footprint struct{ goroutines, files int }

func footprintNow() footprint {
	f := footprint{goroutines: runtime.NumGoroutine()}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		f.files = len(entries)
	}
	return f
}

// calm is what a process holds when nothing happens: the least of a while.
func calm() footprint {
	least := footprintNow()
	for quiet := 0; quiet < 20; quiet++ {
		time.Sleep(10 * time.Millisecond)
		if now := footprintNow(); now.goroutines < least.goroutines || now.files < least.files {
			least, quiet = footprint{min(least.goroutines, now.goroutines), min(least.files, now.files)}, 0
		}
	}
	return least
}

// settles waits until no more is held than before.
func settles(t *testing.T, before footprint) {
	t.Helper()
	var now footprint
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if now = footprintNow(); now.goroutines <= before.goroutines && now.files <= before.files {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("before: %+v, now: %+v\n%s", before, now, stacks[:runtime.Stack(stacks, true)])
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// rawSession is a session of which a test makes the requests itself.
func rawSession(t *testing.T, conn *gossh.Client) gossh.Channel {
	t.Helper()
	channel, requests, err := conn.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	go gossh.DiscardRequests(requests)
	return channel
}

type ptyRequest struct {
	Term                                    string
	Columns, Rows, PixelsAcross, PixelsDown uint32
	Modes                                   string
}

type windowChange struct{ Columns, Rows, PixelsAcross, PixelsDown uint32 }

// ask makes a request of a session, and tells whether it is granted.
func ask(t *testing.T, channel gossh.Channel, kind string, payload any) bool {
	t.Helper()
	var marshalled []byte
	if payload != nil {
		marshalled = gossh.Marshal(payload)
	}
	granted, err := channel.SendRequest(kind, true, marshalled)
	if err != nil {
		t.Logf("%s: %v", kind, err)
	}
	return granted
}

// gated is a connection whose reader can stop.
type gated struct {
	net.Conn
	shut chan struct{} // closed: nothing is read any more
	gone chan struct{}
	once sync.Once
}

func (g *gated) Read(p []byte) (int, error) {
	select {
	case <-g.shut:
		<-g.gone
		return 0, io.EOF
	default:
		return g.Conn.Read(p)
	}
}

func (g *gated) Close() error {
	g.once.Do(func() { close(g.gone) })
	return g.Conn.Close()
}

// The largest screen that a session may have.
const widest, highest = 500, 200

// shell begins an explorer.
func shell(t *testing.T, channel gossh.Channel, columns, rows uint32) {
	t.Helper()
	if !ask(t, channel, "pty-req", ptyRequest{Term: "xterm-256color", Columns: columns, Rows: rows}) || !ask(t, channel, "shell", nil) {
		t.Fatal("no shell")
	}
}

// hammer writes until it fails, and tells how much was taken.
func hammer(to io.Writer, chunk []byte, most int64) (sent int64) {
	for sent < most {
		n, err := to.Write(chunk)
		sent += int64(n)
		if err != nil {
			break
		}
	}
	return sent
}

// abuse is what somebody does to a server. It returns when it is under way; end ends it, if it does not end by itself.
type abuse func(t *testing.T, h *house) (end func())

// client connects as somebody who means no good.
func villain(t *testing.T, h *house) *gossh.Client {
	t.Helper()
	return h.stranger("127.0.0.66")
}

func abuses() map[string]abuse {
	return map[string]abuse{
		"a flood of keys":                   floodOfKeys,
		"100 MB on standard input":          floodOfInput,
		"a terminal that is not read":       channelNotRead,
		"a connection that is not read":     connectionNotRead,
		"10,000 sizes":                      manySizes,
		"sizes of 2^32-1":                   hugeSizes,
		"sizes before the shell":            earlySizes,
		"1,000 channels":                    manyChannels,
		"1,000 connections":                 manyConnections,
		"half a handshake":                  halfHandshakes,
		"garbage in place of a handshake":   garbage,
		"a command line of 10 MB":           hugeCommand,
		"text that is no text":              strangeText,
		"requests without end":              floodOfRequests,
		"a connection cut off in a search":  cutOff,
		"channels that ask for nothing":     idleChannels,
		"answers to questions nobody asked": strangeAnswers,
	}
}

// Whatever somebody does, it costs the others nothing, and when they are gone nothing is left of it.
func TestAbuse(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program; `make test` collects less often
	h := sample(t, nil)
	n := newNeighbour(h)
	before, usedBefore := calm(), heap()
	before.goroutines++ // that of a subtest
	for name, begin := range abuses() {
		t.Run(name, func(t *testing.T) {
			n.t, n.v.t, h.t = t, t, t
			end := begin(t, h)
			n.works()
			used := heap()
			end()
			settles(t, before)
			const most = 128 << 20 // a few terminals as large as they may be, and what the test itself holds
			if used > usedBefore+most {
				t.Errorf("%d MB of memory are used", (used-usedBefore)>>20)
			}
		})
	}
	if strings.Contains(h.log.String(), "broke") {
		t.Error(h.log)
	}
}

const hundredMB = 100 << 20

func floodOfKeys(t *testing.T, h *house) func() {
	conn := villain(t, h)
	var group sync.WaitGroup
	channels := make(map[string]gossh.Channel)
	for _, keys := range []string{"x", "\x0c", "\x1b[M", "\x1b[200~paste"} {
		channel := rawSession(t, conn)
		go func() { _, _ = io.Copy(io.Discard, channel) }()
		shell(t, channel, 100, 30)
		channels[keys] = channel
	}
	for keys, channel := range channels { // once all are open: who types too much loses the connection
		group.Go(func() {
			if sent := hammer(channel, bytes.Repeat([]byte(keys), 1<<12), hundredMB); sent > 16<<20 {
				t.Errorf("%d bytes of keys were taken", sent)
			}
		})
	}
	return func() {
		_ = conn.Close()
		group.Wait()
	}
}

func floodOfInput(t *testing.T, h *house) func() {
	commands := []string{"search -", "search rollback", "ask --prompt this", "read 1 --from -", "search - --source slack"}
	var group sync.WaitGroup
	for _, command := range commands {
		conn := villain(t, h)
		group.Go(func() {
			defer func() { _ = conn.Close() }()
			session, err := conn.NewSession()
			if err != nil {
				t.Error(err)
				return
			}
			var errs, out bytes.Buffer
			session.Stdout, session.Stderr = &out, &errs
			session.Stdin = io.LimitReader(endless("0123456789 abcdef\n"), hundredMB)
			err = session.Run(command)
			t.Logf("%s: %v: %.200s%.200s", command, err, out.String(), errs.String())
		})
	}
	return group.Wait
}

// endless gives a text over and over.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func TestVariablesWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		channel := rawSession(t, sample(t, inMemory).mustConnect())
		for sent := 0; ; sent++ {
			if _, err := channel.SendRequest("env", true, gossh.Marshal(struct{ Name, Value string }{"LANG", strings.Repeat("x", 1_000)})); err != nil {
				break
			}
			if sent > 10_000 {
				t.Fatal("there is no end of them")
			}
		}
	})
}

func channelNotRead(t *testing.T, h *house) func() {
	conn := villain(t, h)
	var group sync.WaitGroup
	for range longtest.Rounds(2, 5) {
		channel := rawSession(t, conn)
		shell(t, channel, widest, highest)
		group.Go(func() { hammer(channel, bytes.Repeat([]byte("\x0c"), 1<<10), 1<<20) })
	}
	return func() {
		_ = conn.Close()
		group.Wait()
	}
}

func connectionNotRead(t *testing.T, h *house) func() {
	inner, err := h.dialFrom("127.0.0.66")
	if err != nil {
		t.Fatal(err)
	}
	gate := &gated{Conn: inner, shut: make(chan struct{}), gone: make(chan struct{})}
	conn, err := h.client(gate)
	if err != nil {
		t.Fatal(err)
	}
	channel := rawSession(t, conn)
	shell(t, channel, widest, highest)
	close(gate.shut)
	done := make(chan struct{})
	go func() {
		defer close(done)
		hammer(channel, bytes.Repeat([]byte("\x0c"), 1<<10), 1<<20)
	}()
	return func() {
		_ = conn.Close()
		<-done
	}
}

func manySizes(t *testing.T, h *house) func() {
	v := sit(t, villain(t, h), 100, 30, "")
	v.sees("type to search")
	for i := range 10_000 {
		if err := v.session.WindowChange(20+i%50, 60+i%100); err != nil {
			t.Fatal(err)
		}
	}
	v.Resize(90, 30)
	if err := v.session.WindowChange(30, 90); err != nil {
		t.Fatal(err)
	}
	v.Send("roll back a release")
	v.sees("Runbook: rolling back a release")
	v.press("esc")
	v.press("ctrl+c")
	if code := v.leaves(); code != 0 {
		t.Errorf("exit %d", code)
	}
	v.Close()
	return func() { _ = v.conn.Close() }
}

func hugeSizes(t *testing.T, h *house) func() {
	conn := villain(t, h)
	const most = 1<<32 - 1
	for _, size := range []windowChange{{most, most, most, most}, {0, 0, 0, 0}, {1, most, 0, 0}, {most, 1, 0, 0}, {1, 1, 0, 0}} {
		channel := rawSession(t, conn)
		go func() { _, _ = io.Copy(io.Discard, channel) }()
		if !ask(t, channel, "pty-req", ptyRequest{"xterm", size.Columns, size.Rows, size.PixelsAcross, size.PixelsDown, ""}) || !ask(t, channel, "shell", nil) {
			t.Errorf("no shell at %v", size)
		}
		for _, next := range []windowChange{{80, 24, 0, 0}, {most, most, most, most}, {0, 0, 0, 0}, size} {
			ask(t, channel, "window-change", next)
			_, _ = io.WriteString(channel, "roll back a release\r")
		}
	}
	return func() { _ = conn.Close() }
}

func earlySizes(t *testing.T, h *house) func() {
	conn := villain(t, h)
	for range 5 {
		channel := rawSession(t, conn)
		ask(t, channel, "window-change", windowChange{80, 24, 0, 0})
		ask(t, channel, "pty-req", ptyRequest{Term: "xterm", Columns: 80, Rows: 24})
		for range 100 {
			_, _ = channel.SendRequest("window-change", false, gossh.Marshal(windowChange{90, 30, 0, 0}))
		}
	}
	if got := run(t, conn, "version", ""); got.code != 0 { // the connection is not held up
		t.Errorf("exit %d", got.code)
	}
	return func() { _ = conn.Close() }
}

func manyChannels(t *testing.T, h *house) func() {
	conn := villain(t, h)
	var group sync.WaitGroup
	var mutex sync.Mutex
	opened, refused := 0, 0
	for range 1000 {
		group.Go(func() {
			_, _, err := conn.OpenChannel("session", nil)
			mutex.Lock()
			defer mutex.Unlock()
			var no *gossh.OpenChannelError
			switch {
			case err == nil:
				opened++
			case errors.As(err, &no) && no.Reason == gossh.ResourceShortage:
				refused++
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if opened != 10 || refused != 990 {
		t.Errorf("%d are open, %d refused", opened, refused)
	}
	return func() { _ = conn.Close() }
}

func manyConnections(t *testing.T, h *house) func() {
	var conns []net.Conn
	refused := 0
	for range 1000 {
		conn, err := h.dialFrom("127.0.0.66")
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		greeting := make([]byte, 100)
		n, err := conn.Read(greeting)
		if !strings.HasPrefix(string(greeting[:n]), "SSH-2.0-") {
			refused++
			if !strings.Contains(string(greeting[:n]), "Too many") {
				t.Fatalf("%q, %v", greeting[:n], err)
			}
			_ = conn.Close()
			continue
		}
		conns = append(conns, conn)
	}
	if len(conns) != 50 {
		t.Errorf("%d connections of an address without a session, %d refused", len(conns), refused)
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

func halfHandshakes(t *testing.T, h *house) func() {
	var conns []net.Conn
	for i := range 40 {
		conn, err := h.dialFrom("127.0.0.66")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "SSH-2.0-half\r\n")
		if i%2 == 0 { // and half of a packet
			_, _ = conn.Write([]byte{0, 0, 4, 0, 10, 20})
		}
		conns = append(conns, conn)
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

func garbage(t *testing.T, h *house) func() {
	var group sync.WaitGroup
	for i := range 20 {
		conn, err := h.dialFrom("127.0.0.66")
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 1<<20)
		_, _ = rand.Read(text)
		if i%2 == 0 {
			copy(text, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		if i%3 == 0 {
			copy(text, "SSH-2.0-x\r\n")
			binary.BigEndian.PutUint32(text[11:], uint32(1<<31+i))
		}
		group.Go(func() {
			defer func() { _ = conn.Close() }()
			_, _ = conn.Write(text)
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection stays")
			}
		})
	}
	return group.Wait
}

func hugeCommand(t *testing.T, h *house) func() {
	conn := villain(t, h)
	channel := rawSession(t, conn)
	if ask(t, channel, "exec", struct{ Line string }{strings.Repeat("search ", 10<<20/7)}) {
		t.Error("it runs")
	}
	other := villain(t, h)
	channel = rawSession(t, other)
	if !ask(t, channel, "exec", struct{ Line string }{"search " + strings.Repeat("x ", 60<<10)}) {
		t.Error("it does not run")
	}
	text, _ := io.ReadAll(channel.Stderr())
	if !strings.Contains(string(text), "error:") || len(text) > 10<<10 {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
	return func() { _, _ = conn.Close(), other.Close() }
}

func strangeText(t *testing.T, h *house) func() {
	conn := villain(t, h)
	for _, line := range []string{"\xff\xfe", "search \xff\x00\x1b]0;title\x07", "search \"\xff", "\x00", "--\x1b[2J", "search --\x1b[31m", "search --source \x1b[2J\u202e x", strings.Repeat("\xf0\x9f", 1000)} {
		got := run(t, conn, line, "")
		if strings.ContainsAny(got.err, "\x1b\x07\x00") || strings.ContainsAny(got.out, "\x1b\x07\x00") {
			t.Errorf("%q: %q %q", line, got.out, got.err)
		}
	}
	for _, name := range []string{"", "\x1b[2J", "../../../etc/passwd", strings.Repeat("x", 2_000), "xterm\n\x00", "dumb", "\xff"} {
		channel := rawSession(t, conn)
		go func() { _, _ = io.Copy(io.Discard, channel) }()
		if !ask(t, channel, "pty-req", ptyRequest{Term: name, Columns: 80, Rows: 24}) || !ask(t, channel, "shell", nil) {
			t.Errorf("%.20q: no shell", name)
		}
		_ = channel.Close()
	}
	channel := rawSession(t, conn)
	if ask(t, channel, "pty-req", ptyRequest{Term: strings.Repeat("x", 200_000), Columns: 80, Rows: 24}) {
		t.Error("a name of 200 KB is taken")
	}
	return func() { _ = conn.Close() }
}

func floodOfRequests(t *testing.T, h *house) func() {
	conn := villain(t, h)
	channel := rawSession(t, conn)
	go func() { _, _ = io.Copy(io.Discard, channel) }()
	shell(t, channel, 100, 30)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_, _, err := conn.SendRequest(fmt.Sprint("anything-", i), i%100 == 0, []byte("x"))
			if err == nil {
				_, err = channel.SendRequest([]string{"signal", "break", "x11-req", "anything"}[i%4], i%100 == 0, []byte("\x00\x00\x00\x03INT"))
			}
			if err != nil {
				return
			}
		}
	}()
	return func() {
		close(stop)
		_ = conn.Close()
		<-done
	}
}

func cutOff(t *testing.T, h *house) func() {
	for range longtest.Rounds(4, 20) {
		conn := villain(t, h)
		channel := rawSession(t, conn)
		shell(t, channel, 100, 30)
		_, _ = io.WriteString(channel, "roll back a rel")
		session, err := conn.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Start("search rollback release incident"); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	return func() {}
}

func idleChannels(t *testing.T, h *house) func() {
	var conns []*gossh.Client
	for range 20 {
		conn := villain(t, h)
		for range 10 {
			channel := rawSession(t, conn)
			ask(t, channel, "pty-req", ptyRequest{Term: "xterm", Columns: 80, Rows: 24})
		}
		conns = append(conns, conn)
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

// strangeAnswers sends what terminals answer with to questions, and half of it, and what none of them would.
func strangeAnswers(t *testing.T, h *house) func() {
	const visitors = 3
	answersEach := longtest.Rounds(6, 200) // all of them, by some visitor, or more than a minute's keys
	conn := villain(t, h)
	var group sync.WaitGroup
	for i := range visitors {
		channel := rawSession(t, conn)
		go func() { _, _ = io.Copy(io.Discard, channel) }()
		shell(t, channel, 100, 30)
		group.Go(func() {
			answers := []string{"\x1b]11;rgb:ffff/ffff/ffff\x07", "\x1b]11;rgb:zz/\x1b\\", "\x1b[?2026;99999999999999999999$y", "\x1bP1+r524742\x1b\\",
				"\x1b[1;1R", "\x1b[<999999999;-1;-1M", "\x1b[<0;0;0M", "\x1b[I", "\x1b_Gi=1\x1b\\", "\x1b[200~" + strings.Repeat("\x1b", 100),
				"\x1b[27;5;1114112~", "\x1b[4294967296u", "\x1b[?u", "\x1b]52;c;AAAA\x07", "\xff\xfe\xc0\x80", "\x1b[M\xff\xff\xff", "\x1b[48;0;0;0;0t"}
			for j := range answersEach {
				random := make([]byte, 16)
				_, _ = rand.Read(random)
				if _, err := io.WriteString(channel, answers[(i*answersEach+j)%len(answers)]+string(random)); err != nil {
					return // ctrl+c was among it
				}
			}
		})
	}
	return func() {
		group.Wait()
		_ = conn.Close()
	}
}
