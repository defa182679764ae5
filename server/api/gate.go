package api

import (
	"context"
	"net/http"

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
	g := &Gate{server: s, options: options, guard: newGuards(options, s.Now)}
	g.visits = s.logged(s.recovered(s.mount(s.routes(), visiting, g.guard)))
	return g
}

// Listener returns the handler of a listener: every request needs a token, and requests for other hosts are refused. It
// has no route that changes the library on this machine. With loopback, the host must be a loopback name.
func (g *Gate) Listener(loopback bool) http.Handler {
	s := g.server
	routes := s.mount(append(s.routes(), s.metricsRoute(g.options.OpenMetrics)), s.authenticate, g.guard)
	return s.logged(s.timeouts.limitWrites(s.recovered(secured(guardNames(names{g.options.Hosts, loopback}, routes)))))
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

// visiting returns the visitor of a request.
func visiting(r *http.Request) (directory.Principal, error) {
	v, ok := r.Context().Value(visitorKey).(Visitor)
	if !ok {
		return directory.Principal{}, directory.ErrUnauthenticated
	}
	who, err := v.Identify(r.Context())
	who.Owner = false // visitors are never the local owner
	return who, err
}

// personOf returns the key of a caller's limits: the user, or the address of an anonymous caller. It is empty for routes
// without a token, which are not limited.
func personOf(r *http.Request, who directory.Principal) string {
	switch {
	case who.UserID == "":
		return ""
	case who.Anonymous:
		return who.Tenant + "/from/" + hostName(r.RemoteAddr)
	}
	return who.Tenant + "/" + who.UserID
}
