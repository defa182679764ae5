package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"quarry/server/directory"
	"quarry/server/index"
)

func (w *world) metrics(handler http.Handler, who string) string {
	w.t.Helper()
	answer := w.call(handler, who, "GET", "/metrics", "")
	if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/plain; version=0.0.4;") {
		w.t.Fatalf("HTTP %d %s: %s", answer.Code, answer.Header().Get("Content-Type"), answer.Body)
	}
	return answer.Body.String()
}

func TestMetricsTellWhatWasDone(t *testing.T) {
	w := newWorld(t)
	handler, _ := limited(w, Rate{3, time.Hour})
	for _, request := range []struct{ who, method, target, body string }{
		{"jo", "POST", "/search", `{"query":"deploy"}`},
		{"jo", "POST", "/api/search", `{"query":"deploy","stream":true}`},
		{"jo", "POST", "/search", `{"query":"deploy","persona_id":77}`},
		{"jo", "POST", "/search", `{"query":"deploy"}`}, // refused
		{"", "POST", "/search", `{"query":"deploy"}`},
		{"jo", "GET", "/persona/0", ""},
		{"jo", "GET", "/persona/1", ""},
		{"jo", "GET", "/made/up/by/the/caller", ""},
		{"jo", "BREW", "/made/up/by/the/caller", ""},
	} {
		w.call(handler, request.who, request.method, request.target, request.body)
	}
	w.server.Metrics().Counter("quarry_doors_total", "Counted by another part of the program.", "door").Add(3, "back")
	got := w.metrics(handler, "owner")
	for _, want := range []string{
		`quarry_doors_total{door="back"} 3`,
		`quarry_http_requests_total{method="POST",route="/search",status="200"} 2`,
		`quarry_http_requests_total{method="POST",route="/search",status="404"} 1`,
		`quarry_http_requests_total{method="POST",route="/search",status="429"} 1`,
		`quarry_http_requests_total{method="POST",route="/search",status="403"} 1`,
		`quarry_http_requests_total{method="GET",route="/persona/{id}",status="200"} 2`,
		`quarry_http_requests_total{method="GET",route="other",status="404"} 1`,
		`quarry_http_requests_total{method="other",route="other",status="404"} 1`,
		`quarry_http_requests_in_flight 1`,
		`quarry_refused_total{reason="rate"} 1`,
		`quarry_searches_total{kind="search",outcome="ok"} 2`,
		`quarry_searches_total{kind="search",outcome="PERSONA_NOT_FOUND"} 1`,
		`quarry_search_seconds_count{kind="search"} 2`,
		`quarry_search_stages_total{outcome="ok",stage="fuse"} 2`,
		`quarry_search_stage_seconds_count{stage="retrieve"} 2`,
		`quarry_library_documents 4`,
		`quarry_library_chunks 8`,
		"go_goroutines ",
		"go_memstats_heap_inuse_bytes ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, never := range []string{"made/up", "BREW", "deploy", "jo@", "onyx_pat"} {
		if strings.Contains(got, never) {
			t.Errorf("%s is told", never)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

func TestWhoSeesTheMetrics(t *testing.T) {
	w := newWorld(t)
	w.check(w.people.AddTenant(t.Context(), "acme"))
	_, secret, err := w.people.AddToken(t.Context(), directory.TokenRequest{Tenant: "acme", Name: "x"})
	w.check(err)
	w.tokens["other tenant's owner"] = secret
	for who, want := range map[string]int{"owner": 200, "jo": 403, "scoped": 403, "maker": 403, "": 403, "other tenant's owner": 403} {
		for _, target := range []string{"/metrics", "/api/metrics"} {
			if got := w.call(w.public, who, "GET", target, ""); got.Code != want {
				t.Errorf("%q at %s: HTTP %d %s", who, target, got.Code, got.Body)
			}
		}
	}
	everybody := w.server.Gate(PublicOptions{OpenMetrics: true}).Listener(true)
	w.metrics(everybody, "")
	if got := w.call(w.server.Handler(directory.Owner(directory.DefaultTenant)), "", "GET", "/metrics", "").Code; got != 404 {
		t.Errorf("in this process: HTTP %d", got)
	}
}

// TestMetricsOutliveTheLibrary: they are needed most when something is wrong.
func TestMetricsOutliveTheLibrary(t *testing.T) {
	w := newWorld(t)
	w.server.Index = func(context.Context, string, bool) (index.Index, error) { return nil, errors.New("gone") }
	w.call(w.public, "jo", "POST", "/search", `{"query":"deploy"}`)
	got := w.metrics(w.public, "owner")
	if !strings.Contains(got, `quarry_searches_total{kind="search",outcome="INTERNAL_ERROR"} 1`) || strings.Contains(got, "quarry_library") {
		t.Error(got)
	}
}

// TestMetricsHaveRoomOfTheirOwn: they are answered while everything else waits.
func TestMetricsHaveRoomOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	handler := w.server.Gate(PublicOptions{Concurrency: 1, OpenMetrics: true}).Listener(true)
	release := w.occupy()
	ended := make(chan int)
	go func() { ended <- w.call(handler, "jo", "GET", "/manage/indexed-sources", "").Code }()
	<-release.entered
	w.server.Index = func(context.Context, string, bool) (index.Index, error) { return nil, errors.New("not now") }
	w.metrics(handler, "")
	w.metrics(handler, "owner")
	close(release.leave)
	if got := <-ended; got != http.StatusOK {
		t.Errorf("HTTP %d", got)
	}
}

// TestRoom: one is served, two wait, the others are refused at once; who leaves makes room, also in the queue.
func TestRoom(t *testing.T) {
	r := newWorkers(1, 2)
	here := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	leave, err := r.enter(here)
	if err != nil {
		t.Fatal(err)
	}
	ctx, goAway := context.WithCancel(t.Context())
	impatient := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
	waiting := make(chan error, 2)
	admitted := make(chan func(), 1)
	go func() {
		_, err := r.enter(impatient)
		waiting <- err
	}()
	go func() {
		leave, err := r.enter(here)
		admitted <- leave
		waiting <- err
	}()
	for len(r.queue) < 2 {
		runtime.Gosched()
	}
	var f failure
	if _, err := r.enter(here); !errors.As(err, &f) || f.status != 503 || f.retryAfter == "" {
		t.Errorf("a full queue: %v", err)
	}
	goAway()
	if err := <-waiting; !errors.As(err, &f) || f.status != 503 {
		t.Errorf("who left: %v", err)
	}
	for len(r.queue) > 1 {
		runtime.Gosched()
	}
	leave()
	(<-admitted)()
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	for len(r.queue) > 0 || len(r.slots) > 0 {
		runtime.Gosched()
	}
}
