package server

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"quarry/internal/guard"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/segments"
)

// The timeouts of a listener.
const (
	shutdownGrace     = 10 * time.Second
	finalGrace        = 2 * time.Second // to answer canceled requests
	readHeaderTimeout = 10 * time.Second
	// Of a body that no route reads; package api bounds the other bodies, and all answers.
	readTimeout    = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
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

// ListenAndServe serves the API at an address until ctx is done, and then waits up to ten seconds for open requests.
// Ready is called with the address once connections are accepted; it may be nil.
func (a *Admission) ListenAndServe(ctx context.Context, address string, ready func(net.Addr)) error {
	s := a.server
	if err := s.syncConnectors(ctx); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve HTTP: %w", err) // which names the address
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
	base, cutOff := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cutOff(fault.ErrStopping)
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
	s.options.Log.Info("stopping", "address", listener.Addr().String(), "grace", s.grace.String())
	if err := s.shutDown(server, cutOff); err != nil {
		return fmt.Errorf("stop serving on %s: %w", listener.Addr(), err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return nil
}

// shutDown stops accepting connections and waits for open requests. After s.grace it cancels them, and after finalGrace
// it closes their connections.
func (s *Server) shutDown(server *http.Server, cutOff func(error)) error {
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
		s.api.EndAnswers()
		cutOff(fault.ErrStopping)
	}
	return server.Close()
}

// maxConnections bounds the open connections of a listener. Each takes a file and about 10 KB.
const maxConnections = 2_000

// connections closes the connection that has waited longest for a request when there are too many, so that callers who
// never finish their headers do not block others.
type connections struct {
	most    int
	mutex   sync.Mutex
	waiting *list.List                 // of net.Conn, the longest first
	open    map[net.Conn]*list.Element // nil while a request is answered
}

func newConnections(most int) *connections {
	return &connections{most: most, waiting: list.New(), open: make(map[net.Conn]*list.Element)}
}

// changed is the ConnState hook of an http.Server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if oldest := c.note(conn, state); oldest != nil {
		_ = oldest.Close()
	}
}

// note records a state, and returns the connection to close; nil for none.
func (c *connections) note(conn net.Conn, state http.ConnState) net.Conn {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if waits := c.open[conn]; waits != nil {
		c.waiting.Remove(waits)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.waiting.PushBack(conn)
	case http.StateActive:
		c.open[conn] = nil
	default:
		delete(c.open, conn)
	}
	if len(c.open) <= c.most || c.waiting.Len() == 0 {
		return nil
	}
	oldest := c.waiting.Remove(c.waiting.Front()).(net.Conn)
	delete(c.open, oldest)
	return oldest
}

// Prepare finishes interrupted work of earlier processes, as ListenAndServe does.
func (a *Admission) Prepare(ctx context.Context) error { return a.server.syncConnectors(ctx) }

// Token returns the handler of a visitor with a token, which is checked for every request. Remote is the visitor's
// address, "host:port".
func (a *Admission) Token(secret, remote string) http.Handler { return a.visitor(secret, "", remote) }

// Person returns the handler of a visitor whom another listener has authenticated: a user of the default tenant.
func (a *Admission) Person(email, remote string) http.Handler { return a.visitor("", email, remote) }

// Anybody returns the handler of an anonymous visitor, who sees the public documents of the default tenant.
func (a *Admission) Anybody(remote string) http.Handler {
	return a.gate.Visitor(api.Visitor{Remote: remote, Identify: func(context.Context) (directory.Principal, error) {
		return directory.Anonymous(directory.DefaultTenant), nil
	}})
}

func (a *Admission) visitor(secret, email, remote string) http.Handler {
	return a.gate.Visitor(api.Visitor{Remote: remote, Identify: func(ctx context.Context) (directory.Principal, error) {
		return a.identify(ctx, secret, email)
	}})
}

// identify returns the owner of a token, or the user with an address.
func (a *Admission) identify(ctx context.Context, secret, email string) (directory.Principal, error) {
	if email == "" {
		return a.server.people.Authenticate(ctx, secret)
	}
	return a.server.people.Person(ctx, directory.DefaultTenant, email)
}

// Knows reports whether a token, or without one a user, is still valid. It is true if that cannot be determined.
func (a *Admission) Knows(ctx context.Context, secret, email string) bool {
	_, err := a.identify(ctx, secret, email)
	return !errors.Is(err, directory.ErrUnauthenticated)
}

// syncConnectors finishes interrupted work of earlier processes: documents that the index of this server lacks, that do
// not match their connector, or have no vectors. A read-only library is served as it is.
func (s *Server) syncConnectors(ctx context.Context) error {
	tenants, err := s.people.Tenants(ctx)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	s.serving = true
	s.mutex.Unlock()
	if err := s.catchUp(ctx, tenants); err != nil {
		return err
	}
	for _, tenant := range tenants {
		s.vectors.changed(tenant)
		err := s.api.SyncConnectors(ctx, tenant)
		if errors.Is(err, fault.ErrReadOnly) {
			s.options.Log.Warn("documents do not have the last change of their connectors", "tenant", tenant,
				"error", err.Error())
			continue
		}
		if err != nil {
			return fmt.Errorf("update the documents of connectors: %w", err)
		}
	}
	return nil
}

// buildLogEvery is how often the log says how far the building of an index is.
const buildLogEvery = 10 * time.Second

// catchUp brings the indexes of this server up to date with the documents in the database, and removes those of tenants
// that were removed at other servers.
func (s *Server) catchUp(ctx context.Context, tenants []string) (err error) {
	defer guard.EndWhile("bring the index up to date", &err)
	if !s.options.DocumentsInDatabase {
		return nil
	}
	folders, err := os.ReadDir(s.folder(""))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, folder := range folders {
		if !slices.Contains(tenants, folder.Name()) {
			err = errors.Join(err, segments.RemoveIndexes(s.folder(folder.Name()), ""))
		}
	}
	for _, tenant := range tenants {
		documents, failed := s.index(ctx, tenant, false)
		if local, ok := documents.(*segments.Local); ok {
			logged := time.Time{}
			failed = local.CatchUp(ctx, func(left, total int) {
				if time.Since(logged) > buildLogEvery {
					logged = time.Now()
					s.options.Log.Info("building the index of this server", "tenant", tenant, "left", left,
						"documents", total)
				}
			})
		}
		err = errors.Join(err, failed)
	}
	return err
}
