// Package memnet is a network in memory for one server and its clients. In a testing/synctest bubble, where time passes
// only while everybody waits, timeouts of minutes can be tested without waiting and whatever the machine is busy with.
package memnet

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Listener accepts the connections that Dial makes.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen returns a listener without connections.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return address{} }

// Dial connects to the listener, whatever the address. It fits http.Transport.DialContext.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: address{}, Err: net.ErrClosed}
	}
}

// Transport returns a transport that reaches the listener only.
func (l *Listener) Transport() *http.Transport { return &http.Transport{DialContext: l.Dial} }

// Serve starts a server of the handler. Its clients use the returned transport.
func Serve(handler http.Handler) (*httptest.Server, *http.Transport) {
	listener := Listen()
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	server.Start()
	return server, listener.Transport()
}

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory.test:80" }
