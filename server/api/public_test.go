package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/index"
)

func TestNamesOfTheServer(t *testing.T) {
	w := newWorld(t)
	loopback := names{loopback: true}
	named := names{loopback: true, hosts: []string{"quarry.test"}}
	anywhere := names{}
	listed := names{hosts: []string{"Search.acme.example"}}
	for _, test := range []struct {
		at             names
		host, origin   string
		health, search int
	}{
		{loopback, "localhost:8080", "", 200, 200},
		{loopback, "LOCALHOST.", "", 200, 200},
		{loopback, "127.0.0.1:8080", "", 200, 200},
		{loopback, "127.9.9.9", "", 200, 200},
		{loopback, "[::1]:8080", "", 200, 200},
		{loopback, "[::1]", "", 200, 200},
		{loopback, "app.localhost", "", 200, 200},
		{loopback, "evil.example", "", 200, 421},
		{loopback, "evil.example:8080", "", 200, 421},
		{loopback, "localhost.evil.example", "", 200, 421},
		{loopback, "user@localhost", "", 200, 421},
		{loopback, "10.0.0.1", "", 200, 421},
		{loopback, "", "", 200, 421},
		{named, "quarry.test:1", "", 200, 200},
		{named, "localhost", "", 200, 200},
		{named, "other.test", "", 200, 421},
		{anywhere, "whatever.example", "", 200, 200},
		{listed, "search.acme.example:443", "", 200, 200},
		{listed, "localhost", "", 200, 421},
		{loopback, "localhost:8080", "http://localhost:8080", 200, 200},
		{loopback, "localhost:8080", "http://localhost:3000", 200, 403},
		{loopback, "localhost:8080", "https://evil.example", 200, 403},
		{loopback, "localhost:8080", "null", 200, 403},
		{loopback, "localhost:8080", "file://", 200, 403},
		{named, "localhost:8080", "https://quarry.test", 200, 200},
		{listed, "search.acme.example", "https://search.acme.example", 200, 200},
		{listed, "search.acme.example", "https://acme.example", 200, 403},
	} {
		handler := w.server.Gate(PublicOptions{Hosts: test.at.hosts}).Listener(test.at.loopback)
		for target, want := range map[string]int{"/api/health": test.health, "/health": test.health, "/me": test.search} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
			r.Host = test.host
			r.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)
			if answer.Code != want {
				t.Errorf("%s at %q from %q: HTTP %d, want %d", target, test.host, test.origin, answer.Code, want)
			}
		}
	}
}

func TestHowATokenIsShown(t *testing.T) {
	w := newWorld(t)
	jo, kim := w.tokens["jo"], w.tokens["kim"]
	for _, test := range []struct{ onyx, standard, email string }{
		{"", "Bearer " + jo, "jo@acme.example"},
		{"Bearer " + jo, "", "jo@acme.example"},
		{"Bearer " + kim, "Bearer " + jo, "kim@acme.example"},
		{"", "bearer " + jo, "jo@acme.example"},
		{"Bearer wrong", "Bearer " + jo, ""},
		{"", jo, ""},
		{"", "Basic " + jo, ""},
		{"", "Bearer", ""},
		{"", "Bearer " + strings.Repeat("x", 10_000), ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/me", nil)
		r.Host = "localhost"
		if test.onyx != "" {
			r.Header.Set("X-Onyx-Authorization", test.onyx)
		}
		if test.standard != "" {
			r.Header.Set("Authorization", test.standard)
		}
		answer := httptest.NewRecorder()
		w.public.ServeHTTP(answer, r)
		if test.email == "" && answer.Code != http.StatusForbidden ||
			test.email != "" && !strings.Contains(answer.Body.String(), `"email":"`+test.email+`"`) {
			t.Errorf("%.20q, %.20q: HTTP %d %s", test.onyx, test.standard, answer.Code, answer.Body)
		}
	}
}

func TestTheLogHoldsWhoButNoToken(t *testing.T) {
	w := newWorld(t)
	post[wire.SearchResponse](w, "jo", "/search", `{"query":"deploy plans","sources":["file"]}`)
	get[wire.Suggestions](w, "jo", "/search/suggest?prefix=secretive")
	w.call(w.public, "", "POST", "/search", `{"query":"unauthenticated words"}`)
	w.call(w.public, "jo", "POST", "/search", `{"query":"x","persona_id":77}`)
	log := w.log.String()
	for _, wanted := range []string{
		`msg=search`, `query="deploy plans"`, `user=jo@acme.example`, `sources=[file]`, `results=1`, `outcome=ok`,
		`outcome=PERSONA_NOT_FOUND`, `msg=request method=POST path=/search status=200`, `status=403`,
	} {
		if !strings.Contains(log, wanted) {
			t.Errorf("the log has no %s:\n%s", wanted, log)
		}
	}
	for _, unwanted := range []string{w.tokens["jo"], w.tokens["jo"][9:40], "secretive", "unauthenticated words", "Bearer"} {
		if strings.Contains(log, unwanted) {
			t.Errorf("the log holds %q", unwanted)
		}
	}
	before := len(w.log.String())
	w.call(w.public, "jo", "GET", "/made/up/"+strings.Repeat("x", 10_000), "")
	if line := w.log.String()[before:]; !strings.Contains(line, "path=/made/up/xxx") || len(line) > 1000 {
		t.Errorf("a path of 10 KB takes %d bytes of the log", len(line))
	}
	w.server.OmitQueries = true
	post[wire.SearchResponse](w, "jo", "/search", `{"query":"hush"}`)
	if strings.Contains(w.log.String(), "hush") {
		t.Error("the query is in the log")
	}
}

// brokenIndex fails in a manner of its own, and otherwise is the index it stands before.
type brokenIndex struct {
	index.Index
	snapshot func(context.Context) (index.Snapshot, error)
}

func (b brokenIndex) Snapshot(ctx context.Context) (index.Snapshot, error) { return b.snapshot(ctx) }

func (w *world) breakWith(snapshot func(context.Context) (index.Snapshot, error)) {
	broken := brokenIndex{w.documents, snapshot}
	w.server.Index = func(context.Context, string, bool) (index.Index, error) { return broken, nil }
}

func TestFailuresOfTheEngine(t *testing.T) {
	for name, test := range map[string]struct {
		err            error
		status         int
		public, inside string
	}{
		"unforeseen": {errors.New("segment 7 at /secret/path is torn"), 500, `{"detail":"Internal server error"}`, "segment 7"},
		"late":       {context.DeadlineExceeded, 504, `"GATEWAY_TIMEOUT"`, `"GATEWAY_TIMEOUT"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.breakWith(func(context.Context) (index.Snapshot, error) { return nil, test.err })
			owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
			for i, handler := range []http.Handler{w.public, owner} {
				answer := w.call(handler, "jo", "POST", "/search", `{"query":"x"}`)
				want := []string{test.public, test.inside}[i]
				if answer.Code != test.status || !strings.Contains(answer.Body.String(), want) {
					t.Errorf("HTTP %d %s, want %s", answer.Code, answer.Body, want)
				}
			}
		})
	}
}

// TestFailuresOfTheLibrary: its owner is told what to mend, others only that it is not their doing.
func TestFailuresOfTheLibrary(t *testing.T) {
	for code, test := range map[string]struct {
		err    error
		status int // for others than the owner
	}{
		wire.CodeDiskFull:          {fault.ErrDiskFull, 500},
		wire.CodeLibraryNewer:      {fault.ErrNewer, 500},
		wire.CodeNetworkFileSystem: {fault.ErrNetworkFileSystem, 500},
		wire.CodeLibraryReadOnly:   {fault.ErrReadOnly, 403},
		wire.CodeLibraryOlder:      {fmt.Errorf("%w, and %w", fault.ErrReadOnly, fault.ErrOlder), 403},
		wire.CodeLibraryBusy:       {fault.ErrBusy, 503},
		wire.CodeIndexBehind:       {fault.ErrBehind, 503},
		wire.CodeLibraryDamaged:    {fault.ErrDamaged, 500},
	} {
		t.Run(code, func(t *testing.T) {
			w := newWorld(t)
			w.breakWith(func(context.Context) (index.Snapshot, error) {
				return nil, fmt.Errorf("open /secret/path: %w", test.err)
			})
			told := w.call(w.server.Handler(directory.Owner(directory.DefaultTenant)), "jo", "POST", "/search", `{"query":"x"}`)
			if !strings.Contains(told.Body.String(), `"`+code+`"`) || !strings.Contains(told.Body.String(), "/secret/path") {
				t.Errorf("the owner is told %s", told.Body)
			}
			others := w.call(w.public, "jo", "POST", "/search", `{"query":"x"}`)
			if others.Code != test.status || strings.Contains(others.Body.String(), "/secret/path") {
				t.Errorf("others are told HTTP %d %s", others.Code, others.Body)
			}
		})
	}
}

// panicking is a snapshot that breaks in whatever goroutine searches it.
type panicking struct{ index.Snapshot }

func (panicking) Search(context.Context, index.Query) (index.Result, error) { panic("at /secret/path") }

func TestAPanicEndsOneRequest(t *testing.T) {
	for name, snapshot := range map[string]func(context.Context, index.Index) (index.Snapshot, error){
		"of its goroutine": func(context.Context, index.Index) (index.Snapshot, error) { panic("at /secret/path") },
		"of another": func(ctx context.Context, working index.Index) (index.Snapshot, error) {
			opened, err := working.Snapshot(ctx)
			return panicking{opened}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			working := w.server.Index
			w.breakWith(func(ctx context.Context) (index.Snapshot, error) { return snapshot(ctx, w.documents) })
			answer := w.call(w.public, "jo", "POST", "/search", `{"query":"x"}`)
			if answer.Code != http.StatusInternalServerError || answer.Body.String() != `{"detail":"Internal server error"}`+"\n" {
				t.Errorf("HTTP %d %s", answer.Code, answer.Body)
			}
			if strings.Count(w.log.String(), "/secret/path") != 1 || !strings.Contains(w.log.String(), "public_test.go") {
				t.Errorf("the log does not tell once what happened, and where: %s", w.log)
			}
			w.server.Index = working
			post[wire.SearchResponse](w, "jo", "/search", `{"query":"x"}`)
		})
	}
}

// occupied is work that lasts until leave is closed.
type occupied struct{ entered, leave chan struct{} }

// occupy holds up whoever looks at documents.
func (w *world) occupy() occupied {
	o := occupied{make(chan struct{}, 100), make(chan struct{})}
	working := w.documents
	w.breakWith(func(ctx context.Context) (index.Snapshot, error) {
		o.entered <- struct{}{}
		<-o.leave
		return working.Snapshot(ctx)
	})
	return o
}

func TestTooManyRequestsWait(t *testing.T) {
	w := newWorld(t)
	handler := w.server.Gate(PublicOptions{Concurrency: 1}).Listener(true)
	o := w.occupy()
	done := make(chan int, 2)
	for _, who := range []string{"jo", "kim"} {
		go func() { done <- w.call(handler, who, "GET", "/manage/indexed-sources", "").Code }()
	}
	<-o.entered
	if answer := w.call(handler, "", "GET", "/health", ""); answer.Code != http.StatusOK {
		t.Errorf("a busy server's health: HTTP %d", answer.Code)
	}
	select {
	case <-done:
		t.Error("two requests are served at once")
	default:
	}
	// Somebody who gives up while waiting leaves the queue.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/me", nil)
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer "+w.tokens["owner"])
	left := httptest.NewRecorder()
	if handler.ServeHTTP(left, r); left.Code != http.StatusServiceUnavailable {
		t.Errorf("who left the queue: HTTP %d", left.Code)
	}
	close(o.leave)
	for range 2 {
		if status := <-done; status != http.StatusOK {
			t.Errorf("HTTP %d", status)
		}
	}
	if shown := w.metrics(handler, "owner"); !strings.Contains(shown, `route="/me",status="0"} 1`) || strings.Contains(shown, "refused_total{") {
		t.Errorf("who left the queue is counted so:\n%s", shown)
	}
}

// TestNobodyShutsOthersOut: one person's work leaves room for that of others.
func TestNobodyShutsOthersOut(t *testing.T) {
	w := newWorld(t)
	handler := w.server.Gate(PublicOptions{Concurrency: 4}).Listener(true)
	o := w.occupy()
	done := make(chan int, 2)
	for range 2 {
		go func() { done <- w.call(handler, "jo", "GET", "/manage/indexed-sources", "").Code }()
		<-o.entered
	}
	for who, want := range map[string]int{"jo": 429, "scoped": 429, "kim": 200, "owner": 200} {
		answer := w.call(handler, who, "GET", "/me", "")
		if answer.Code != want || want == 429 && answer.Header().Get("Retry-After") == "" {
			t.Errorf("%s: HTTP %d %s", who, answer.Code, answer.Body)
		}
	}
	close(o.leave)
	for range 2 {
		if status := <-done; status != http.StatusOK {
			t.Errorf("HTTP %d", status)
		}
	}
	if status := w.call(handler, "jo", "GET", "/me", "").Code; status != http.StatusOK {
		t.Errorf("afterwards: HTTP %d", status)
	}
}

// TestWhatIsBrokenOffIsNoSuccess: a server that stops breaks requests off whose callers are still there. Callers who
// left are not counted as refused.
func TestWhatIsBrokenOffIsNoSuccess(t *testing.T) {
	for cause, want := range map[error][2]string{fault.ErrStopping: {"stopping", "status=503"}, nil: {"canceled", "status=0"}} {
		testBrokenOff(t, cause, want[0], want[1])
	}
}

func testBrokenOff(t *testing.T, cause error, told, logged string) {
	w := newWorld(t)
	ctx, stop := context.WithCancelCause(t.Context())
	w.breakWith(func(ctx context.Context) (index.Snapshot, error) {
		stop(cause)
		return nil, ctx.Err()
	})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/manage/indexed-sources", nil)
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
	answer := httptest.NewRecorder()
	w.public.ServeHTTP(answer, r)
	if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), told) ||
		!strings.Contains(w.log.String(), logged) {
		t.Errorf("%v: HTTP %d %s, %s", cause, answer.Code, answer.Body, w.log)
	}
}

func TestHeadersOfAnswers(t *testing.T) {
	w := newWorld(t)
	answer := w.call(w.public, "jo", "GET", "/me", "")
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Type": "application/json",
	} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if allow := w.call(w.public, "jo", "PUT", "/user/pats", "").Header().Get("Allow"); allow != "GET, POST" {
		t.Errorf("Allow: %q", allow)
	}
	if got := w.call(w.public, "", "HEAD", "/health", "").Code; got != http.StatusOK {
		t.Errorf("HEAD /health: HTTP %d", got)
	}
}

func TestServerWithoutALog(t *testing.T) {
	if s := New(Options{}); s.Log == nil || s.Now == nil || s.Profile != "local" || s.Log.Enabled(t.Context(), slog.LevelError) {
		t.Errorf("made %+v", s.Options)
	}
}
