package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/llm"
	"quarry/server/metrics"
)

// measures are the metrics of a server. Their labels are routes, statuses, codes, stages and purposes: no values of
// callers, and no personal data.
type measures struct {
	registry *metrics.Registry
	inFlight atomic.Int64

	requests, refused       *metrics.Counter
	searches                *metrics.Counter
	latency, stages         *metrics.Histogram
	outcomes                *metrics.Counter
	modelCalls, modelTokens *metrics.Counter
}

// The kinds of searches.
const (
	kindSearch = "search"
	kindAnswer = "answer" // a question to a model; its time is that of the whole answer
)

// The reasons of refused requests.
const (
	refusedByRate   = "rate"
	refusedByBudget = "budget"
	refusedAsBusy   = "busy"
)

// measuringTimeout is well below the ten seconds that Prometheus waits.
const measuringTimeout = 3 * time.Second

// Metrics returns the registry that GET /metrics serves. Other listeners of this server may add metrics to it.
func (s *Server) Metrics() *metrics.Registry { return s.measures().registry }

func newMeasures() *measures {
	r := metrics.New()
	m := &measures{registry: r}
	m.requests = r.Counter("quarry_http_requests_total", "Requests answered.", "method", "route", "status")
	r.Gauge("quarry_http_requests_in_flight", "Requests being answered or waiting for it.",
		func() float64 { return float64(m.inFlight.Load()) })
	m.refused = r.Counter("quarry_refused_total",
		"Requests refused: over the rate of a token or session, over the day's budget of model tokens, or while the "+
			"server was busy.",
		"reason")
	m.searches = r.Counter("quarry_searches_total",
		"Searches, and questions to a model, by outcome: ok, canceled, or the code of the error.", "kind", "outcome")
	m.latency = r.Histogram("quarry_search_seconds", "Time of the searches, and of the questions, that were answered.",
		[]float64{.001, .0025, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "kind")
	m.stages = r.Histogram("quarry_search_stage_seconds", "Time of the stages of searches.",
		[]float64{.001, .01, .1, .5, 1, 5, 10, 30}, "stage")
	m.outcomes = r.Counter("quarry_search_stages_total", "Stages of searches by outcome.", "stage", "outcome")
	m.modelCalls = r.Counter("quarry_model_calls_total", "Calls of language and embedding models.", "purpose")
	m.modelTokens = r.Counter("quarry_model_tokens_total", "Tokens sent to models and received from them.",
		"purpose", "kind")
	return m
}

// request counts an answered request. A status of 0 is an incomplete answer.
func (m *measures) request(r *http.Request, route string, status int) {
	method := r.Method
	if !text.IsAmong(method, "GET HEAD POST PUT PATCH DELETE OPTIONS") {
		method = metrics.Other
	}
	if route == "" {
		route = metrics.Other
	}
	m.requests.Add(1, method, route, strconv.Itoa(status))
}

// search counts a search.
func (m *measures) search(kind, outcome string, took time.Duration, stages []wire.Stage, used map[string]llm.Usage) {
	m.searches.Add(1, kind, outcome)
	if outcome == "ok" {
		m.latency.Observe(took.Seconds(), kind)
	}
	for _, stage := range stages {
		m.outcomes.Add(1, stage.Name, stage.Outcome)
		m.stages.Observe(stage.MS/1000, stage.Name)
	}
	for purpose, usage := range used {
		m.modelCalls.Add(float64(usage.Calls), purpose)
		m.modelTokens.Add(float64(usage.Prompt), purpose, "prompt")
		m.modelTokens.Add(float64(usage.Completion), purpose, "completion")
	}
}

// metricsRoute returns GET /metrics, for everybody or for administrators of the default tenant, who run the server.
func metricsRoute(everybody bool) route {
	needs := directory.PermissionAdmin
	if everybody {
		needs = open
	}
	return noBody("GET /metrics", needs, serveMetrics, func(r *route) { r.monitoring = true })
}

func serveMetrics(c *call) any {
	if c.who.Tenant != "" && c.who.Tenant != directory.DefaultTenant {
		abort(forbidden("The metrics are of all tenants of this server."))
	}
	metrics.Serve(c.w, c.Request, c.Log, c.measures().registry, c.measureLibrary(c.ctx))
	return written{}
}

// measureLibrary returns metrics of the size of the library, or none if it cannot be read in time: the other metrics
// must not wait for it.
func (s *Server) measureLibrary(ctx context.Context) *metrics.Registry {
	size, documents, chunks := metrics.Empty(), 0, 0
	ctx, cancel := context.WithTimeout(ctx, measuringTimeout)
	defer cancel()
	tenants, err := s.Directory.Tenants(ctx)
	for i := 0; i < len(tenants) && err == nil; i++ {
		err = s.reading(ctx, tenants[i], func(snapshot index.Snapshot) error {
			stats, err := snapshot.Stats(ctx)
			documents, chunks = documents+stats.Documents, chunks+stats.Chunks
			return err
		})
	}
	if err != nil {
		s.Log.WarnContext(ctx, "measuring the library failed", "error", err.Error())
		return size
	}
	size.Gauge("quarry_library_documents", "Documents of all tenants.", func() float64 { return float64(documents) })
	size.Gauge("quarry_library_chunks", "Chunks of all tenants.", func() float64 { return float64(chunks) })
	return size
}

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
	gone      bool   // disconnected before the answer
}

// isListener reports whether a request came over a listener.
func isListener(ctx context.Context) bool { return ctx.Value(callerKey) != nil }

// isTrusted reports whether the caller may see internal errors: only the owner in process.
func isTrusted(ctx context.Context) bool { return ctx.Value(trustedKey) != nil }

// callerOf returns where a request notes its caller and route; in process nobody reads it.
func callerOf(r *http.Request) *caller {
	noted, _ := r.Context().Value(callerKey).(*caller)
	return cmp.Or(noted, &caller{})
}

// audit is the log line and the metrics of a search or question. Those of the local owner are not logged.
type audit struct {
	*call
	kind    string // for the metrics
	start   time.Time
	request wire.SearchRequest
	results int
	stages  []wire.Stage
	meter   *llm.Meter // of the models it used; nil: none yet
	secret  bool       // the query is not logged
	whole   bool       // the answer is complete
	failed  string     // error code of an answer that failed after it began
}

func (c *call) startAudit() *audit {
	return &audit{call: c, kind: kindSearch, start: time.Now()}
}

// answered records the answer.
func (a *audit) answered(response *wire.SearchResponse) {
	a.results, a.stages = len(response.Results), slices.Clone(response.Stages) // the answer belongs to the caller
}

// complete reports whether the whole answer was sent before the caller disconnected.
func (a *audit) complete() bool { return a.whole || a.kind == kindSearch && a.stages != nil }

// of runs a search or question, and audits how it ends.
func (a *audit) of(do func()) {
	var err error
	defer func() { a.end(err) }()
	err = guard.Ended(do)
	check(err)
}

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
		outcome = f.code
	}
	took := time.Since(a.start)
	var used map[string]llm.Usage
	if a.meter != nil {
		used = a.meter.Snapshot()
	}
	a.measures().search(a.kind, outcome, took, a.stages, used)
	attributes := []slog.Attr{
		slog.String("tenant", a.who.Tenant), slog.String("user", a.who.Email), slog.Int("token_id", a.who.TokenID),
		slog.Any("sources", append([]string{}, a.request.Sources...)), slog.Int("results", a.results),
		slog.Int64("ms", took.Milliseconds()), slog.String("outcome", outcome),
	}
	if a.meter != nil {
		attributes = append(attributes, modelUse(a.meter)...)
	}
	if !a.OmitQueries && !a.secret {
		attributes = append(attributes, slog.String("query", a.request.Query))
	}
	line := "search"
	if a.kind == kindAnswer {
		line = "ask"
	}
	a.Log.LogAttrs(a.ctx, slog.LevelInfo, line, attributes...)
}
