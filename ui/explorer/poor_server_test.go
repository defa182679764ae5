package explorer

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"quarry/client/wire"
)

func refusing(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

const outOfScope = `{"error_code":"INSUFFICIENT_PERMISSIONS","detail":"This token's scopes do not permit this endpoint."}`

// A token that may search and nothing else is usual: that it may not list anything is no failure.
func TestATokenThatMayOnlySearch(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}, routes: map[string]http.HandlerFunc{}}
	listed := make(chan struct{})
	once := sync.OnceFunc(func() { close(listed) })
	for _, route := range []string{"GET /manage/indexed-sources", "GET /manage/connector-status", "GET /persona"} {
		server.routes[route] = func(w http.ResponseWriter, r *http.Request) {
			refusing(http.StatusForbidden, outOfScope)(w, r)
			once()
		}
	}
	screen := start(t, 120, 40, Options{Target: server.remote(t)})
	<-listed // nothing on the screen tells it
	screen.Type("rollback")
	screen.WaitText("↵ searches acme")
	if text := screen.Text(); strings.Contains(text, "failed") {
		t.Errorf("a failure is told:\n%s", text)
	}
	screen.Type(" agent:Eng")
	screen.Press("enter")
	screen.WaitText(`the token may not list agents, so "Eng"`)
	screen.Press("ctrl+f")
	screen.WaitText("this token may not list sources: all of Onyx's")
	screen.Type("zen")
	screen.WaitText("enter selects Zendesk")
}

// What is offered are the sources of the person's own connectors and federated ones, not those of the whole workspace.
func TestSourcesWithoutAccessAreNotOffered(t *testing.T) {
	t.Parallel()
	list := func(body any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { answer200(w, body) }
	}
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}, routes: map[string]http.HandlerFunc{
		"GET /manage/indexed-sources":  list(map[string]any{"sources": []string{"confluence", "jira"}}),
		"GET /manage/connector-status": list([]any{map[string]any{"source": "confluence"}}),
		"GET /federated":               list([]any{map[string]any{"id": 1, "source": "federated_slack", "name": "Slack"}}),
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t)})
	screen.WaitText("2 sources")
	screen.Press("ctrl+f")
	screen.WaitText("[ ] # Slack")
	screen.WaitText("[ ] ◆ Confluence")
	if strings.Contains(screen.Text(), "Jira") {
		t.Errorf("a source of others is offered:\n%s", screen.Text())
	}
}

// What went wrong is said in full beside the results of the search before, and so is what to do.
func TestAFailureIsExplainedAboveOlderResults(t *testing.T) {
	t.Parallel()
	var healthy atomic.Bool
	healthy.Store(true)
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		if healthy.Load() {
			answer200(w, oneResult(request))
			return
		}
		refusing(http.StatusForbidden, `{"error_code":"INSUFFICIENT_PERMISSIONS","detail":"You do not have access to the following document sets: ['Legal']"}`)(w, nil)
	}}
	for _, size := range []struct{ width, height int }{{120, 40}, {80, 24}} {
		healthy.Store(true)
		screen := start(t, size.width, size.height, Options{Target: server.remote(t), Query: "rollback"})
		screen.WaitText("About rollback")
		healthy.Store(false)
		screen.Press("r")
		screen.WaitText("✕ search refused")
		for _, want := range []string{"['Legal']", "give the same error", "About rollback"} {
			if text := strings.Join(strings.Fields(leftPane(screen)), " "); !strings.Contains(text, want) {
				t.Errorf("%d×%d: does not say %q:\n%s", size.width, size.height, want, screen.Text())
			}
		}
	}
}

// A bare Onyx knows no end of a time: what it sent was narrowed down, which is not ignoring it. Phrases have no chip.
func TestWhatWasNarrowedDownIsNotCalledIgnored(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}, routes: map[string]http.HandlerFunc{"GET /version": func(w http.ResponseWriter, _ *http.Request) {
		answer200(w, map[string]any{"backend_version": "4.2.0"})
	}}}
	screen := start(t, 200, 40, Options{Target: server.remote(t), Query: `rollback until:2026-10-01 author:jo`})
	screen.WaitText("author: jo (ignored)")
	screen.WaitText("only the returned results were filtered")
	if strings.Contains(screen.Text(), "until 2026-10-01 (ignored)") {
		t.Error("until is called ignored, though it was applied")
	}
	screen.Press("s")
	screen.WaitText("sorted: newest first")
	screen.WaitText("· sort: this")
	if strings.Contains(screen.Text(), "most of the words") {
		t.Error("the order of another server is described")
	}
	screen = start(t, 200, 40, Options{Target: server.remote(t), Query: `"roll back"`})
	screen.WaitText("exact phrases: this server searches")
}

// After a search was stopped, the rows are still those of the one before, and say so.
func TestRowsOfAnotherQuerySayWhichOne(t *testing.T) {
	t.Parallel()
	server := holding(oneResult)
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "rollback"})
	<-server.begun
	server.release <- struct{}{}
	screen.WaitText("About rollback")
	screen.Press("/")
	screen.Type(" plan")
	screen.WaitText("↵ searches")
	screen.Press("enter")
	<-server.begun
	screen.WaitText("esc stops")
	screen.Press("esc")
	screen.WaitText("for “rollback”") // in the results, not in the query any more
}

// With nothing typed, trying again asks for the list of sources again, not for the empty query.
func TestTryingAgainWithoutAQuery(t *testing.T) {
	t.Parallel()
	var healthy atomic.Bool
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}, routes: map[string]http.HandlerFunc{"GET /manage/indexed-sources": func(w http.ResponseWriter, r *http.Request) {
		if !healthy.Load() {
			refusing(http.StatusUnauthorized, `{"error_code":"TOKEN_EXPIRED","detail":"The token has expired."}`)(w, r)
			return
		}
		answer200(w, map[string]any{"sources": []string{"slack"}})
	}}}
	screen := start(t, 120, 40, Options{Target: server.remote(t)})
	screen.WaitText("listing failed at 12:00 · F5 retries")
	healthy.Store(true)
	screen.Press("f5")
	screen.WaitText("1 source")
	screen.WaitGone("failed")
	if asked := server.asked(); len(asked) > 0 {
		t.Errorf("searched for %+v", asked)
	}
}
