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

// PublicOptions are what a listener is told of the world it listens to.
type PublicOptions struct {
	// Hosts are the host names, without port, under which the server is known; on a loopback listener they are added
	// to the loopback names. Without any, other listeners answer to every name.
	Hosts []string
	// Concurrency bounds the requests that are worked on at the same time; 0 means DefaultConcurrency. Four times
	// as many may wait, for up to ten seconds. One person has at most half of them, so that nobody shuts the others out.
	Concurrency int
	// Rate limits the searches and questions of each token, and of each chat session.
	Rate Rate
	// OpenMetrics shows the metrics to everybody. They are for administrators otherwise.
	OpenMetrics bool
}

// authenticate finds out whose token a request shows.
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

// bearer is the token of a request: of X-Onyx-Authorization, and only where that is missing, of Authorization.
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

// secured tells browsers and caches to make nothing of the answers.
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

// guardNames turns away requests that name another host, as a page does whose name was pointed at this machine, and
// those that another site's page sends.
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

// names are those under which a listener is known.
type names struct {
	hosts    []string
	loopback bool // it can only be reached from this machine
}

// includes reports whether a Host header names this server.
func (n names) includes(host string) bool {
	name := hostName(host)
	return n.lists(name) || n.loopback && isLoopbackName(name) || !n.loopback && len(n.hosts) == 0
}

func (n names) lists(name string) bool {
	return slices.ContainsFunc(n.hosts, func(known string) bool { return name == hostName(known) })
}

// allowsOrigin reports whether a request comes from no web page, from one of this very host, or from one of Hosts.
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

// hostName is a host without port and final dot, in lower case; an IPv6 address without brackets.
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
