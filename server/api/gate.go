package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/server/directory"
)

// Gate admits requests from outside this process: those of a listener of its own, and those of visitors whom another
// listener has authenticated. They share the limits of the gate.
type Gate struct {
	server  *Server
	options PublicOptions
	guard   *guards
	visits  http.Handler
}

// Gate returns a gate.
func (s *Server) Gate(options PublicOptions) *Gate {
	if options.Concurrency <= 0 {
		options.Concurrency = DefaultConcurrency
	}
	g := &Gate{server: s, options: options, guard: newGuards(options, s.Now, s.Coordinator)}
	g.visits = s.logged(s.recovered(s.mount(routes(), identifyVisitor, g.guard)))
	return g
}

// Listener returns the handler of a listener: every request needs a token, and requests for other hosts are refused. It
// has no route that changes the library on this machine. With loopback, the host must be a loopback name.
func (g *Gate) Listener(loopback bool) http.Handler {
	s := g.server
	listed := append(routes(), metricsRoute(g.options.OpenMetrics))
	if g.options.MCP != nil {
		listed = append(listed, g.mcpRoute("POST /mcp"), g.mcpRoute("POST /mcp/connector"))
	}
	routes := s.mount(listed, s.authenticate, g.guard)
	return s.logged(s.recovered(secured(guardNames(names{g.options.Hosts, loopback}, routes))))
}

// Visitor is a caller whom another listener has authenticated.
type Visitor struct {
	// Identify returns the visitor's rights. It is called for every request, so that changes apply at once.
	Identify func(context.Context) (directory.Principal, error)
	// Remote is the visitor's address, "host:port".
	Remote string
}

// Visitor returns the in-process handler of a visitor. Like a listener, it has no route that changes the library, and
// hides internal errors.
func (g *Gate) Visitor(v Visitor) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), visitorKey, v))
		r.RemoteAddr = v.Remote
		g.visits.ServeHTTP(w, r)
	})
}

// identifyVisitor returns the visitor of a request.
func identifyVisitor(r *http.Request) (directory.Principal, error) {
	v, ok := r.Context().Value(visitorKey).(Visitor)
	if !ok {
		return directory.Principal{}, directory.ErrUnauthenticated
	}
	who, err := v.Identify(r.Context())
	who.Owner = false // visitors are never the local owner
	return who, err
}

// personOf returns the key of a caller's limits: the user, or the address of an anonymous caller. It is empty for
// routes without a token, which are not limited.
func personOf(r *http.Request, who directory.Principal) string {
	switch {
	case who.UserID == "":
		return ""
	case who.Anonymous:
		return who.Tenant + "/from/" + hostName(r.RemoteAddr)
	}
	return who.Tenant + "/" + who.UserID
}

// guards limit what callers from outside this process use. Requests that wait for a slow caller, to send a body or read
// an answer, have limits of their own and use no worker.
type guards struct {
	pending    *quota // requests of a person, from their first byte to the last of the answer
	working    *quota // those of them that have a worker, or wait for one
	flight     *quota // bytes on their way from and to callers
	workers    *workers
	monitoring *workers
	limits     *limiter
	sandboxes  *limiter
	changes    *limiter
}

func newGuards(options PublicOptions, now func() time.Time, shared Coordinator) *guards {
	half := max(1, options.Concurrency/2)
	limits := newLimiter("searches", options.Rate, now, shared)
	return &guards{
		pending: newQuota(half*queueFactor, math.MaxInt), working: newQuota(half, math.MaxInt),
		flight:     newQuota(flightOfPerson, flightInAll),
		workers:    newWorkers(options.Concurrency, options.Concurrency*queueFactor),
		monitoring: newWorkers(maxMonitoring, maxMonitoring*queueFactor),
		limits:     limits, sandboxes: cmp.Or(limits, newLimiter("searches of sandboxes", sandboxRate(), now, shared)),
		changes: newLimiter("changes", changeRate(), now, shared),
	}
}

// admit counts a request against the rate limits of its route.
func (g *guards) admit(r *http.Request, route route, who directory.Principal, body []byte) error {
	if route.changes {
		if err := g.changes.admitChange(r, who); err != nil {
			return err
		}
	}
	if route.sandbox {
		return g.sandboxes.admit(r, who, body)
	}
	if route.limited {
		return g.limits.admit(r, who, body)
	}
	return nil
}

// enter waits for a worker, which is used until leave is called.
func (g *guards) enter(r *http.Request, route route, person string) (leave func(), err error) {
	switch {
	case route.monitoring:
		return g.monitoring.enter(r)
	case route.relays:
		return func() {}, nil
	}
	stop, err := g.working.enter(person)
	if err != nil {
		return nil, err
	}
	out, err := g.workers.enter(r)
	if err != nil {
		stop()
		return nil, err
	}
	return func() {
		stop()
		out()
	}, nil
}

// guarded serves a request from outside. It reads the body before it takes a worker, and sends the answer after.
func (s *Server) guarded(w http.ResponseWriter, r *http.Request, route route, who directory.Principal, guard *guards) {
	person := personOf(r, who)
	done, err := guard.pending.enter(person)
	if err != nil {
		s.timeouts.limitRefused(w, r)
		s.refuseRequest(w, r, err)
		return
	}
	defer done()
	held := &load{flight: guard.flight, person: person}
	defer held.drop()
	body, err := s.receive(w, r, route.maxBody, held)
	if err == nil {
		err = guard.admit(r, route, who, body)
	}
	var leave func()
	if err == nil {
		leave, err = guard.enter(r, route, person)
	}
	if err != nil {
		s.refuseRequest(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	out, whole := &outbox{ResponseWriter: w, held: held, cancel: cancel, log: s.Log}, false
	defer func() {
		leave()
		out.end(whole)
	}()
	s.work(out, r, route, who)
	whole = true
}

// refuseRequest answers a request that got no worker, and counts it.
func (s *Server) refuseRequest(w http.ResponseWriter, r *http.Request, err error) {
	f, _ := explain(err, false)
	switch {
	case callerOf(r).gone:
	case f.status == http.StatusTooManyRequests:
		s.measures().refused.Add(1, refusedByRate)
	case f.status == http.StatusServiceUnavailable:
		s.measures().refused.Add(1, refusedAsBusy)
	}
	writeFailure(w, f)
}

// receive reads the body of a request into memory before the request takes a worker, so that a slow caller blocks
// nobody. It is bounded by maxBody, the timeouts and the quota of held.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, maxBody int64, held *load) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil // without a body, a read deadline would look like a disconnected caller
	}
	s.timeouts.limitBody(w, maxBody)
	if r.ContentLength > maxBody {
		return nil, bodyError(w, &http.MaxBytesError{Limit: maxBody})
	}
	from := http.MaxBytesReader(w, r.Body, maxBody)
	body := make([]byte, 0, 4*kilobyte)
	for {
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == nil && len(body) == cap(body) {
			// The buffer grows with the received bytes, not with Content-Length, which costs the caller nothing.
			body = append(body, 0)[:len(body)]
			err = held.grow(cap(body) - held.bytes)
		}
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, bodyError(w, err)
		}
	}
}

// bodyError returns the error of a body that was not read to its end. It closes the connection: the rest may never
// arrive.
func bodyError(w http.ResponseWriter, err error) error {
	w.Header().Set("Connection", "close")
	var refused failure
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, os.ErrDeadlineExceeded):
		return detailed(http.StatusRequestTimeout, "The request did not arrive in time.")
	}
	return unreadable(err)
}

// DefaultConcurrency bounds the requests of a listener, where PublicOptions do not.
const DefaultConcurrency = 64

// PublicOptions configure the handlers for callers from outside this process.
type PublicOptions struct {
	// Hosts are the server's host names, without port. A loopback listener accepts the loopback names too; any other
	// listener without Hosts accepts every name.
	Hosts []string
	// Concurrency bounds the requests that are served at once; 0 means DefaultConcurrency. Four times as many may wait,
	// for up to ten seconds. One person gets at most half of each.
	Concurrency int
	// Rate limits the searches and questions of each token, and of each chat session.
	Rate Rate
	// MCP answers agents; nil: there is no such route.
	MCP MCP
	// OpenMetrics serves the metrics to everybody, not only to administrators.
	OpenMetrics bool
}

// authenticate returns the owner of a request's token.
func (s *Server) authenticate(r *http.Request) (directory.Principal, error) {
	token := bearer(r)
	if token == "" {
		return directory.Principal{}, directory.ErrUnauthenticated
	}
	return s.Directory.Authenticate(r.Context(), token)
}

// bearer returns the token of X-Onyx-Authorization, or else of Authorization.
func bearer(r *http.Request) string {
	header := r.Header.Get("X-Onyx-Authorization")
	if header == "" {
		header = r.Header.Get("Authorization")
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// secured sets headers that keep browsers from rendering or caching the answers.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// guardNames refuses requests for another host, as in DNS rebinding, and requests of other sites' pages.
func guardNames(known names, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isHealth(r):
		case !known.includes(r.Host):
			writeFailure(w, detailed(http.StatusMisdirectedRequest, "Misdirected Request"))
			return
		case !known.allowsOrigin(r):
			writeFailure(w, detailed(http.StatusForbidden, "Origin not allowed"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isHealth(r *http.Request) bool { return r.URL.Path == "/health" || r.URL.Path == "/api/health" }

// names are the host names of a listener.
type names struct {
	hosts    []string
	loopback bool // also the loopback names
}

// includes reports whether a Host header names this server.
func (n names) includes(host string) bool {
	name := hostName(host)
	return n.lists(name) || n.loopback && wire.IsLoopback(name) || !n.loopback && len(n.hosts) == 0
}

func (n names) lists(name string) bool {
	return slices.ContainsFunc(n.hosts, func(known string) bool { return name == hostName(known) })
}

// allowsOrigin reports whether a request has no Origin, or that of this host or of a known host.
func (n names) allowsOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	origin, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || origin.Host == "" || (origin.Scheme != "http" && origin.Scheme != "https") {
		return false
	}
	return strings.EqualFold(origin.Host, r.Host) || n.lists(hostName(origin.Host))
}

// hostName returns a host in lower case without port and final dot, and an IPv6 address without brackets.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// logged writes one line per request: never a query string, a body or a token.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		who := &caller{}
		s.measures().inFlight.Add(1)
		recorder := &recorder{ResponseWriter: w, patience: s.timeouts.answer}
		recorder.begin(0) // the deadline of an earlier request on this connection may have passed
		defer func() {
			s.measures().inFlight.Add(-1)
			if who.gone {
				recorder.status = 0
			}
			s.measures().request(r, who.route, recorder.status)
			level := slog.LevelInfo
			if isHealth(r) {
				level = slog.LevelDebug
			}
			s.Log.LogAttrs(r.Context(), level, "request",
				slog.String("method", clip(r.Method)), slog.String("path", clip(r.URL.Path)),
				slog.Int("status", recorder.status),
				slog.Int64("bytes", recorder.bytes), slog.Int64("ms", time.Since(start).Milliseconds()),
				slog.String("remote", r.RemoteAddr), slog.String("user", who.principal.Email),
				slog.Int("token_id", who.principal.TokenID))
		}()
		next.ServeHTTP(recorder, r.WithContext(context.WithValue(r.Context(), callerKey, who)))
	})
}

// MCP answers a request of the Model Context Protocol. The caller's handler answers the API's requests with the rights
// of the request's token.
type MCP func(w http.ResponseWriter, r *http.Request, caller http.Handler) error

const (
	mcpTimeout = searchTimeout + time.Minute // a search, and what else a request does
	mcpRealm   = `Bearer realm="quarry", scope="` + directory.PermissionReadSearch + `"`
)

// mcpRoute returns a route of the protocol, whose clients expect 401 without a valid token. Every search counts as one
// of the token, in the limits and in the log.
func (g *Gate) mcpRoute(pattern string) route {
	denied := detailed(http.StatusUnauthorized, "Access denied. User is not authenticated.")
	denied.authenticate = mcpRealm
	return route{pattern: pattern, needs: directory.PermissionReadSearch, timeout: mcpTimeout, maxBody: megabyte,
		relays: true, denied: denied, respond: func(c *call) any {
			token := bearer(c.Request)
			identify := func(ctx context.Context) (directory.Principal, error) {
				return g.server.Directory.Authenticate(ctx, token)
			}
			check(g.options.MCP(c.w, c.Request, g.Visitor(Visitor{Remote: c.RemoteAddr, Identify: identify})))
			return written{}
		}}
}
