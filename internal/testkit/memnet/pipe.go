package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// buffered is how many bytes a connection takes before somebody reads them, as a socket does.
const buffered = 64 << 10

// Pipe returns the two ends of a connection. Unlike those of net.Pipe, both ends may write first.
func Pipe() (net.Conn, net.Conn) {
	up, down := newStream(), newStream()
	return &conn{from: down, to: up}, &conn{from: up, to: down}
}

// stream is one direction of a connection.
type stream struct {
	mutex            sync.Mutex
	changed          sync.Cond
	waiting          []byte
	written, unread  bool // closed by its writer, or by its reader
	reading, writing deadline
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d deadline) over() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mutex
	return s
}

// set changes a deadline, and wakes those who wait when it comes.
func (s *stream) set(d *deadline, at time.Time) {
	s.change(func() {
		if d.timer != nil {
			d.timer.Stop()
		}
		if d.at = at; !at.IsZero() {
			d.timer = time.AfterFunc(time.Until(at), func() { s.change(func() {}) })
		}
	})
}

// change makes a change that those who wait want to know of.
func (s *stream) change(how func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	how()
	s.changed.Broadcast()
}

func (s *stream) read(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for {
		switch {
		case s.unread:
			return 0, net.ErrClosed
		case s.reading.over():
			return 0, os.ErrDeadlineExceeded
		case len(s.waiting) > 0:
			n := copy(p, s.waiting)
			s.waiting = s.waiting[n:]
			s.changed.Broadcast()
			return n, nil
		case s.written:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (sent int, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for {
		switch {
		case s.written:
			return sent, net.ErrClosed
		case s.unread:
			return sent, io.ErrClosedPipe
		case s.writing.over():
			return sent, os.ErrDeadlineExceeded
		}
		n := min(len(p)-sent, buffered-len(s.waiting))
		s.waiting = append(s.waiting, p[sent:sent+n]...)
		s.changed.Broadcast()
		if sent += n; sent == len(p) {
			return sent, nil
		}
		s.changed.Wait()
	}
}

// conn is one end of a connection.
type conn struct{ from, to *stream }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) { return c.from.read(p) }

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) { return c.to.write(p) }

// Close implements net.Conn.
func (c *conn) Close() error {
	_ = c.SetDeadline(time.Time{})
	c.from.change(func() { c.from.unread = true })
	c.to.change(func() { c.to.written = true })
	return nil
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return address{} }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return address{} }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(at time.Time) error {
	c.from.set(&c.from.reading, at)
	c.to.set(&c.to.writing, at)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(at time.Time) error {
	c.from.set(&c.from.reading, at)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(at time.Time) error {
	c.to.set(&c.to.writing, at)
	return nil
}
