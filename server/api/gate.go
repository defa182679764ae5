package api

import (
	"context"
	"net/http"

	"quarry/server/directory"
)

// Gate is where requests from outside this process come in: those of a listener, and those of visitors whom another
// listener knows. All that come through one gate share its limits.
type Gate struct {
	server  *Server
	options PublicOptions
	guard   *guards
	visits  http.Handler
}

// Gate makes a gate.
func (s *Server) Gate(options PublicOptions) *Gate {
	if options.Concurrency <= 0 {
		options.Concurrency = DefaultConcurrency
	}
	g := &Gate{server: s, options: options, guard: newGuards(options, s.Now)}
	g.visits = s.logged(s.recovered(s.mount(s.routes(), visiting, g.guard)))
	return g
}

// Listener answers for a listener: every request shows a token, and what cannot be meant for this server is turned
// away. It has no route that changes the library on this machine. With loopback the listener can only be reached from
// this machine, and requests must name it as such.
func (g *Gate) Listener(loopback bool) http.Handler {
	s := g.server
	routes := s.mount(append(s.routes(), s.metricsRoute(g.options.OpenMetrics)), s.authenticate, g.guard)
	return s.logged(s.patience.taken(s.recovered(secured(guardNames(names{g.options.Hosts, loopback}, routes)))))
}

// Visitor is somebody from outside whom another listener has let in.
type Visitor struct {
	// Identify says who it is. It is asked for every request, so that what is taken away is gone at once.
	Identify func(context.Context) (directory.Principal, error)
	// Remote is the address that the visitor comes from, "host:port".
	Remote string
}

// Visitor answers for a visitor, in this process. Like a listener, it has no route that changes the library, and tells
// nothing of what goes wrong inside.
func (g *Gate) Visitor(v Visitor) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), visitorKey, v))
		r.RemoteAddr = v.Remote
		g.visits.ServeHTTP(w, r)
	})
}

// visiting finds out which visitor makes a request.
func visiting(r *http.Request) (directory.Principal, error) {
	v, ok := r.Context().Value(visitorKey).(Visitor)
	if !ok {
		return directory.Principal{}, directory.ErrUnauthenticated
	}
	who, err := v.Identify(r.Context())
	who.Owner = false // whoever it is, they come from outside
	return who, err
}

// personOf tells people apart where each is to have a share: by who they are, and nobody in particular by where they
// come from. Whoever needs no token is not counted: empty.
func personOf(r *http.Request, who directory.Principal) string {
	switch {
	case who.UserID == "":
		return ""
	case who.Anonymous:
		return who.Tenant + "/from/" + hostName(r.RemoteAddr)
	}
	return who.Tenant + "/" + who.UserID
}
