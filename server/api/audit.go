package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/llm"
)

// contextKey is the type of this package's keys in a request's context.
type contextKey int

const (
	callerKey contextKey = iota
	trustedKey
	visitorKey
)

// caller collects who made a request of a listener, for the log and the metrics.
type caller struct {
	principal directory.Principal
	route     string // its pattern; empty: not found
}

func withCaller(ctx context.Context, c *caller) context.Context {
	return context.WithValue(ctx, callerKey, c)
}

// isListener reports whether a request came over a listener.
func isListener(ctx context.Context) bool { return ctx.Value(callerKey) != nil }

func withTrust(ctx context.Context) context.Context { return context.WithValue(ctx, trustedKey, true) }

// isTrusted reports whether the caller may see internal errors: only the owner in process.
func isTrusted(ctx context.Context) bool { return ctx.Value(trustedKey) != nil }

// noteCaller records the caller for the access log.
func noteCaller(r *http.Request, who directory.Principal) {
	if c, ok := r.Context().Value(callerKey).(*caller); ok {
		c.principal = who
	}
}

// noteRoute records the route for the metrics.
func noteRoute(r *http.Request, pattern string) {
	if c, ok := r.Context().Value(callerKey).(*caller); ok {
		_, c.route, _ = strings.Cut(pattern, " ")
	}
}

// audit is the log line and the metrics of a search or question. Those of the local owner are not logged.
type audit struct {
	kind    string // for the metrics
	server  *Server
	ctx     context.Context
	who     directory.Principal
	start   time.Time
	request wire.SearchRequest
	results int
	stages  []wire.Stage
	meter   *llm.Meter // of the models it used; nil: none yet
	secret  bool       // the query is not logged
	whole   bool       // the answer is complete
	failed  string     // error code of an answer that failed after it began
}

func (s *Server) startAudit(r *http.Request, who directory.Principal) *audit {
	return &audit{kind: kindSearch, server: s, ctx: r.Context(), who: who, start: time.Now()}
}

// answered records the answer.
func (a *audit) answered(response *wire.SearchResponse) {
	a.results, a.stages = len(response.Results), response.Stages
}

// complete reports whether the whole answer was sent before the caller disconnected.
func (a *audit) complete() bool { return a.whole || a.kind == kindSearch && a.stages != nil }

// end writes the log line, which never contains a token.
func (a *audit) end(err error) {
	if a.who.Owner {
		return
	}
	outcome := "ok"
	switch {
	case a.failed != "":
		outcome = a.failed
	case a.ctx.Err() == context.Canceled && !a.complete():
		outcome = "canceled"
	case err != nil:
		f, _ := explain(err, false)
		outcome, _ = codeOf(f)
	}
	took := time.Since(a.start)
	var used map[string]llm.Usage
	if a.meter != nil {
		used = a.meter.Snapshot()
	}
	a.server.measures().search(a.kind, outcome, took, a.stages, used)
	attributes := []slog.Attr{
		slog.String("tenant", a.who.Tenant), slog.String("user", a.who.Email), slog.Int("token_id", a.who.TokenID),
		slog.Any("sources", append([]string{}, a.request.Sources...)), slog.Int("results", a.results),
		slog.Int64("ms", took.Milliseconds()), slog.String("outcome", outcome),
	}
	if a.meter != nil {
		attributes = append(attributes, modelUse(a.meter)...)
	}
	if !a.server.OmitQueries && !a.secret {
		attributes = append(attributes, slog.String("query", a.request.Query))
	}
	line := "search"
	if a.kind == kindAnswer {
		line = "ask"
	}
	a.server.Log.LogAttrs(a.ctx, slog.LevelInfo, line, attributes...)
}
