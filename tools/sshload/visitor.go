//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"quarry/internal/testkit/screentest/terminal"
)

const (
	paintLimit = time.Minute // for what must come
	keyLimit   = time.Minute // for the first byte after a key that changes something
	quiet      = 150 * time.Millisecond
	columns    = 120
	rows       = 40
)

// window is the size of a terminal, in cells.
type window struct{ columns, rows int }

// The ciphers of visitors: OpenSSH's first choice, and that of clients with a processor made for it.
const (
	chacha = ssh.CipherChaCha20Poly1305
	gcm    = ssh.CipherAES128GCM
)

// wire counts what goes over a connection, headers of TCP aside.
type wire struct {
	net.Conn
	down, up atomic.Int64
}

// Read is net.Conn's.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.down.Add(int64(n))
	return n, err
}

// Write is net.Conn's.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.up.Add(int64(n))
	return n, err
}

// chunk is one piece of output, as it came.
type chunk struct {
	at    time.Time
	bytes int
}

// visitor is somebody at a terminal.
type visitor struct {
	*terminal.Terminal
	wire    *wire
	conn    *ssh.Client
	session *ssh.Session
	keys    io.Writer // straight to the server, past the terminal
	ended   chan struct{}
	painted time.Duration // from the beginning of the connection to the first frame

	mutex  sync.Mutex
	chunks []chunk
}

// visit connects and waits for the first frame with anything on it.
func (s *server) visit(cipher string) (*visitor, error) {
	began := time.Now()
	v, err := s.connect(cipher)
	if err != nil {
		return nil, err
	}
	if err := v.sit(s.window); err != nil {
		v.leave()
		return nil, err
	}
	if !v.Wait(paintLimit, func(screen string) bool { return strings.TrimSpace(screen) != "" }) {
		v.leave()
		return nil, fmt.Errorf("nothing was painted; the server says %s", s.log())
	}
	v.painted = time.Since(began)
	return v, nil
}

func (s *server) connect(cipher string) (*visitor, error) {
	inner, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, err
	}
	v := &visitor{wire: &wire{Conn: inner}, ended: make(chan struct{})}
	config := &ssh.ClientConfig{User: "visitor", HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: paintLimit}
	config.Ciphers = []string{cipher}
	conn, channels, requests, err := ssh.NewClientConn(v.wire, s.address, config)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	v.conn = ssh.NewClient(conn, channels, requests)
	v.Terminal = terminal.New(terminal.Options{Width: min(s.window.columns, mostColumns), Height: min(s.window.rows, mostRows), Tap: v.note})
	return v, nil
}

// sit opens a session with a terminal.
func (v *visitor) sit(w window) (err error) {
	if v.session, err = v.conn.NewSession(); err != nil {
		return err
	}
	if err := v.session.RequestPty("xterm-256color", w.rows, w.columns, ssh.TerminalModes{}); err != nil {
		return err
	}
	keys, err := v.session.StdinPipe()
	if err != nil {
		return err
	}
	v.keys = keys
	go func() { _, _ = io.Copy(keys, v.Input()) }()
	v.session.Stdout, v.session.Stderr = v, v
	if err := v.session.Shell(); err != nil {
		return err
	}
	go func() {
		_ = v.session.Wait() // with the exit code of whoever leaves by ctrl+c
		v.End()
		close(v.ended)
	}()
	return nil
}

// quit leaves by ctrl+c, and tells how long that took.
func (v *visitor) quit() (time.Duration, error) {
	at := time.Now()
	if err := v.Press("ctrl+c"); err != nil {
		return 0, err
	}
	select {
	case <-v.ended:
		return time.Since(at), nil
	case <-time.After(paintLimit):
		return 0, fmt.Errorf("the session did not end; the screen is\n%s", v.Text())
	}
}

// leave hangs up.
func (v *visitor) leave() {
	_ = v.conn.Close()
	v.Close()
}

func (v *visitor) note(output []byte) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.chunks = append(v.chunks, chunk{time.Now(), len(output)})
}

// since gives the output from a chunk on.
func (v *visitor) since(first int) []chunk {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.chunks[first:]
}

func (v *visitor) count() int { return len(v.since(0)) }

// settle waits until nothing came for a while. This is a measurement, not a test: it has to watch the clock.
func (v *visitor) settle(pause time.Duration) {
	for seen := -1; ; {
		now := v.count()
		if now == seen {
			return
		}
		seen = now
		time.Sleep(pause)
	}
}

// stroke is what one key caused.
type stroke struct {
	first    time.Duration // from the key to the first byte of the answer
	bytes    int           // of the terminal
	down, up int           // on the wire
}

// press types a key and measures the answer, up to the pause after it. No answer is an error: keys are chosen so that
// each changes the screen.
func (v *visitor) press(key string) (stroke, error) {
	// Keys must not fall in step with the frames of the explorer.
	time.Sleep(time.Duration(rand.IntN(34_000)) * time.Microsecond)
	before, down, up, at := v.count(), v.wire.down.Load(), v.wire.up.Load(), time.Now()
	if err := v.Press(key); err != nil {
		return stroke{}, err
	}
	if !v.Wait(keyLimit, func(string) bool { return v.count() > before }) {
		return stroke{}, fmt.Errorf("nothing happened on the key %s; the screen is\n%s", key, v.Text())
	}
	v.settle(quiet)
	answer := v.since(before)
	result := stroke{first: answer[0].at.Sub(at), down: int(v.wire.down.Load() - down), up: int(v.wire.up.Load() - up)}
	for _, c := range answer {
		result.bytes += c.bytes
	}
	return result, nil
}

// pressAll types keys one after the other, each after the answer to the one before it.
func (v *visitor) pressAll(keys ...string) ([]stroke, error) {
	var strokes []stroke
	for _, key := range keys {
		stroke, err := v.press(key)
		if err != nil {
			return nil, err
		}
		strokes = append(strokes, stroke)
	}
	return strokes, nil
}

// letters are the keys of a text, spaces by their name.
func letters(text string) []string {
	var keys []string
	for _, r := range text {
		if r == ' ' {
			keys = append(keys, "space")
			continue
		}
		keys = append(keys, string(r))
	}
	return keys
}

// search types a question, asks it, and waits for what is found.
func (v *visitor) search(question string) error {
	if err := v.Press(append(letters(question), "enter")...); err != nil {
		return err
	}
	if !v.Wait(paintLimit, func(screen string) bool { return strings.Contains(screen, "[1]") }) {
		return fmt.Errorf("no results for %q; the screen is\n%s", question, v.Text())
	}
	v.settle(quiet)
	return nil
}

// read looks at a few results, and reads one of them whole.
func (v *visitor) read() error {
	for _, key := range []string{"down", "down", "enter", "E", "pgdown", "pgdown"} {
		if err := v.Press(key); err != nil {
			return err
		}
		v.settle(quiet)
	}
	return nil
}
