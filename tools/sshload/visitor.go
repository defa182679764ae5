//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"quarry/internal/testkit/screentest/terminal"
	"quarry/tools/drive"
)

const (
	pace    = 34 * time.Millisecond // at 30 frames a second, with many visitors
	columns = 120
	rows    = 40
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

// visitor is somebody at a terminal.
type visitor struct {
	*terminal.Terminal
	*drive.Driver
	wire    *wire
	conn    *ssh.Client
	session *ssh.Session
	keys    io.Writer // straight to the server, past the terminal
	ended   chan struct{}
	painted time.Duration // from the beginning of the connection to the first frame
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
	painted, err := v.Painted()
	if err != nil {
		v.leave()
		return nil, fmt.Errorf("%w; the server's last line is %s", err, s.log())
	}
	v.painted = painted.Sub(began)
	return v, nil
}

func (s *server) connect(cipher string) (*visitor, error) {
	inner, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, err
	}
	v := &visitor{wire: &wire{Conn: inner}, ended: make(chan struct{})}
	config := &ssh.ClientConfig{User: "visitor", HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: drive.Limit}
	config.Ciphers = []string{cipher}
	conn, channels, requests, err := ssh.NewClientConn(v.wire, s.address, config)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	v.conn = ssh.NewClient(conn, channels, requests)
	v.Driver = drive.New(pace, func() (int64, int64) { return v.wire.down.Load(), v.wire.up.Load() })
	v.Terminal = terminal.New(terminal.Options{Width: min(s.window.columns, mostColumns), Height: min(s.window.rows, mostRows), Tap: v.Record})
	v.Attach(v.Terminal)
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
	case <-time.After(drive.Limit):
		return 0, fmt.Errorf("the session did not end; the screen is\n%s", v.Text())
	}
}

// leave hangs up.
func (v *visitor) leave() {
	_ = v.conn.Close()
	v.Close()
}

// search types a question, asks it, and waits for what is found.
func (v *visitor) search(question string) error {
	if err := v.Press(append(drive.Letters(question), "enter")...); err != nil {
		return err
	}
	if err := v.Results(); err != nil {
		return fmt.Errorf("search for %q: %w", question, err)
	}
	v.Settle(drive.Quiet)
	return nil
}

// read looks at a few results, and reads one of them whole.
func (v *visitor) read() error {
	for _, key := range []string{"down", "down", "enter", "E", "pgdown", "pgdown"} {
		if err := v.Press(key); err != nil {
			return err
		}
		v.Settle(drive.Quiet)
	}
	return nil
}
