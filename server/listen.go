package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"quarry/internal/guard"
	"quarry/server/api"
)

// The timeouts of a listener.
const (
	shutdownGrace     = 10 * time.Second
	finalGrace        = 2 * time.Second // to answer canceled requests
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 10 * time.Second // of a body that no route reads; package api bounds the other bodies, and all answers
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Admission serves callers from outside this process: over the API's listener, and visitors of another listener. They
// share its limits.
type Admission struct {
	server *Server
	gate   *api.Gate
}

// Admit returns an admission.
func (s *Server) Admit(options api.PublicOptions) *Admission {
	return &Admission{s, s.api.Gate(options)}
}

// ListenAndServe serves the API at an address until ctx is done, and then waits up to ten seconds for open requests. Ready
// is called with the address once connections are accepted; it may be nil.
func (a *Admission) ListenAndServe(ctx context.Context, address string, ready func(net.Addr)) error {
	s := a.server
	if err := s.syncConnectors(ctx); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	if ready != nil {
		ready(listener.Addr())
	}
	return s.serve(ctx, listener, a.gate.Listener(isLoopback(listener.Addr())))
}

func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// serve serves a listener until ctx is done.
func (s *Server) serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	// Requests outlive ctx: they are canceled only after the grace period.
	base, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         newConnections(maxConnections).changed,
		ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	failed := make(chan error, 1)
	guard.Go(func() { failed <- server.Serve(listener) }, func(err error) { failed <- err })
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.options.Log.Info("stopping", "address", listener.Addr().String(), "grace", s.grace)
	if err := s.shutDown(server, cutOff); err != nil {
		return fmt.Errorf("stop serving on %s: %w", listener.Addr(), err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return nil
}

// shutDown stops accepting connections and waits for open requests. After s.grace it cancels them, and after finalGrace it
// closes their connections.
func (s *Server) shutDown(server *http.Server, cutOff func()) error {
	for _, step := range []struct {
		timeout time.Duration
		then    string
	}{{s.grace, "canceling open requests"}, {finalGrace, "closing the connections of open requests"}} {
		ctx, cancel := context.WithTimeout(context.Background(), step.timeout)
		err := server.Shutdown(ctx)
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		s.options.Log.Warn(step.then, "after", step.timeout)
		cutOff()
	}
	return server.Close()
}
