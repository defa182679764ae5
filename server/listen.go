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

// The patience of a listener with its callers.
const (
	shutdownGrace     = 10 * time.Second
	farewell          = 2 * time.Second // to tell those who are cut off
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 10 * time.Second // of a body that no route reads; package api bounds the others, and all answers
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Admission lets in who comes from outside: over the listener of the API, and as visitors of another listener. All of
// them share its limits.
type Admission struct {
	server *Server
	gate   *api.Gate
}

// Admit makes an admission.
func (s *Server) Admit(options api.PublicOptions) *Admission {
	return &Admission{s, s.api.Gate(options)}
}

// ListenAndServe serves the API at an address until ctx ends, and then finishes what it began, for at most ten seconds.
// Ready is called with the address as soon as connections are accepted; it may be nil.
func (a *Admission) ListenAndServe(ctx context.Context, address string, ready func(net.Addr)) error {
	s := a.server
	if err := s.settleAll(ctx); err != nil {
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

// serve answers on a listener until ctx ends.
func (s *Server) serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	// Requests outlive ctx: they are finished, and only cut off when the time for that is over.
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

// shutDown lets nobody in any more, and waits for those who are in: as long as s.grace, after which they are cut off,
// and then a moment for them to be told.
func (s *Server) shutDown(server *http.Server, cutOff func()) error {
	for _, step := range []struct {
		patience time.Duration
		then     string
	}{{s.grace, "requests are cut off"}, {farewell, "connections are closed on requests that do not end"}} {
		ctx, cancel := context.WithTimeout(context.Background(), step.patience)
		err := server.Shutdown(ctx)
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		s.options.Log.Warn(step.then, "after", step.patience)
		cutOff()
	}
	return server.Close()
}
