package api

import (
	"context"
	"net/http"
	"time"

	"quarry/internal/guard"
	"quarry/server/directory"
	"quarry/server/index"
)

// call is a request by somebody who may make it.
type call struct {
	*http.Request
	*fields // of its body, or of its URL if it has none
	*Server
	ctx context.Context // of the request
	// directory is as the caller uses it.
	directory directory.View
	who       directory.Principal
	w         http.ResponseWriter
}

// responder returns the answer to a permitted request: a value, or written. It may abort the request before it has
// written anything.
type responder func(c *call) any

// abort ends a request with an error, see guard.Abort.
func abort(err error) { guard.Abort(err) }

// check aborts the request if there is an error.
func check(err error) { guard.Check(err) }

// must returns a value, or aborts the request if there is an error.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// fieldReader reads the fields of a request.
type fieldReader func(*http.Request) *fields

// written is the answer of a responder that has written it itself.
type written struct{}

// noBody returns a route of requests without a body.
func noBody(pattern, needs string, respond responder, traits ...func(*route)) route {
	return newRoute(route{pattern: pattern, needs: needs, respond: respond,
		read: func(r *http.Request) *fields { return queryFields(r.URL.Query()) }}, traits)
}

// withBody returns a route of requests whose body is a JSON object.
func withBody(pattern, needs string, respond responder, traits ...func(*route)) route {
	return newRoute(route{pattern: pattern, needs: needs, respond: respond, read: bodyFields}, traits)
}

func newRoute(r route, traits []func(*route)) route {
	for _, trait := range traits {
		trait(&r)
	}
	return r
}

// The traits of routes.
func large(r *route)       { r.maxBody = megabyte }
func huge(r *route)        { r.maxBody = 32 * megabyte }
func slow(r *route)        { r.timeout = ingestTimeout }
func changes(r *route)     { r.changes = true }
func rateLimited(r *route) { r.limited = true }
func syncs(r *route)       { r.syncs = true }

func withTimeout(timeout time.Duration) func(*route) { return func(r *route) { r.timeout = timeout } }
func upTo(bytes int64) func(*route)                  { return func(r *route) { r.maxBody = bytes } }

// answer runs the route's handler, or writes what it responds.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, route route, who directory.Principal) error {
	c := &call{Request: r, Server: s, ctx: r.Context(), who: who, w: w, directory: s.Directory.For(r.Context(), who)}
	if route.read != nil {
		c.fields = route.read(r)
	}
	var value any
	err := guard.Ended(func() { value = route.respond(c) })
	if err == nil && route.syncs {
		err = s.SyncConnectors(c.ctx, who.Tenant)
	}
	if _, done := value.(written); err == nil && !done {
		writeJSON(w, http.StatusOK, value)
	}
	return err
}

// view runs do on a snapshot of the caller's documents if the request is valid.
func (c *call) view(do func(index.Snapshot) any) (value any) {
	check(c.failure())
	c.read(func(snapshot index.Snapshot) { value = do(snapshot) })
	return value
}

// read runs do on a snapshot of the caller's documents.
func (c *call) read(do func(index.Snapshot)) {
	check(c.reading(c.ctx, c.who.Tenant, func(snapshot index.Snapshot) error {
		do(snapshot)
		return nil
	}))
}
