package api

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"quarry/server/directory"
)

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
	// OpenMetrics serves the metrics to everybody, not only to administrators.
	OpenMetrics bool
}

// authenticate returns the owner of a request's token.
func (s *Server) authenticate(r *http.Request) (directory.Principal, error) {
	token := bearer(r)
	if token == "" {
		return directory.Principal{}, directory.ErrUnauthenticated
	}
	d, err := s.Directory(r.Context(), false)
	if err != nil {
		return directory.Principal{}, fmt.Errorf("open the directory: %w", err)
	}
	return d.Authenticate(r.Context(), token)
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
	return n.lists(name) || n.loopback && isLoopbackName(name) || !n.loopback && len(n.hosts) == 0
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

func isLoopbackName(name string) bool {
	if ip := net.ParseIP(name); ip != nil {
		return ip.IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// logged writes one line per request: never a query string, a body or a token.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		who := &caller{}
		s.measures().inFlight.Add(1)
		recorder := &recorder{ResponseWriter: w}
		defer func() {
			s.measures().inFlight.Add(-1)
			s.measures().request(r, who.route, recorder.status)
			level := slog.LevelInfo
			if isHealth(r) {
				level = slog.LevelDebug
			}
			s.Log.LogAttrs(r.Context(), level, "request",
				slog.String("method", clip(r.Method)), slog.String("path", clip(r.URL.Path)), slog.Int("status", recorder.status),
				slog.Int64("bytes", recorder.bytes), slog.Int64("ms", time.Since(start).Milliseconds()),
				slog.String("remote", r.RemoteAddr), slog.String("user", who.principal.Email),
				slog.Int("token_id", who.principal.TokenID))
		}()
		next.ServeHTTP(recorder, r.WithContext(withCaller(r.Context(), who)))
	})
}
