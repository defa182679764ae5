package explorer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/screentest"
	"quarry/ui/state"
)

// many is a library of documents that all match, listed page by page.
func many(count int) *script {
	return &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		from := 0
		if request.Offset != nil {
			from = *request.Offset
		}
		response := wire.SearchResponse{TotalMatches: count, Matched: wire.Matched{Level: "all", Documents: count}, Results: []wire.SearchResult{}}
		for i := from; i < min(count, from+*request.NumResults); i++ {
			number, name := i+1, i
			if request.Sort == wire.SortOldest {
				name = count - 1 - i
			}
			response.Results = append(response.Results, wire.SearchResult{CitationID: &number, Title: fmt.Sprintf("Document %03d", name),
				Content: "text", DocumentID: fmt.Sprintf("d%d", name), Ref: fmt.Sprintf("d%d#0", name), SourceType: "file", ChunkCount: 1, Matches: true})
		}
		wire.FillEmpty(&response)
		answer200(w, response)
	}, routes: map[string]http.HandlerFunc{"GET /version": func(w http.ResponseWriter, _ *http.Request) {
		answer200(w, map[string]any{"quarry": map[string]any{"version": "1", "api": 1, "features": []string{wire.FeatureOffset, wire.FeatureSort}}})
	}}}
}

// The list goes on behind the first results, each document once, as far as there are any.
func TestTheListGoesOn(t *testing.T) {
	t.Parallel()
	server := many(120)
	screen := start(t, 120, 40, Options{Target: server.library(t)})
	screen.WaitText("type to search")
	screen.Type("text")
	screen.WaitText("120 documents") // as the line of sources counts, also while the word is typed
	screen.Press("enter")
	screen.WaitText("1 of 120")
	screen.Press("G")
	screen.WaitText("50 of 120")
	screen.WaitText("Document 050") // the next page
	screen.Press("G")
	screen.WaitText("100 of 120 ╯")
	screen.WaitText("Document 100")
	screen.Press("G")
	screen.WaitText("120 of 120")
	screen.WaitText("Document 119")
	screen.Press("up", "down")
	screen.WaitText("120 of 120")
}

// Behind a first page that a model ranked the rows say that words found them.
func TestRowsBehindAModelsPageSayHowTheyWereFound(t *testing.T) {
	t.Parallel()
	for _, model := range []bool{true, false} {
		server := many(120)
		words := server.search
		server.search = func(w http.ResponseWriter, r *http.Request, request wire.SearchRequest) {
			if request.Instant || request.Offset != nil || !model {
				words(w, r, request)
				return
			}
			number, response := 1, wire.SearchResponse{TotalMatches: 120, Stages: []wire.Stage{{Name: "select", Outcome: wire.OutcomeOK}},
				Results: []wire.SearchResult{{Title: "Best", Content: "text", DocumentID: "d7", Ref: "d7#0", Selected: true}}}
			response.Results[0].CitationID = &number
			wire.FillEmpty(&response)
			answer200(w, response)
		}
		screen := start(t, 120, 40, Options{Target: server.library(t)})
		screen.WaitText("type to search")
		screen.Type("text")
		screen.WaitText("120 documents")
		screen.Press("enter")
		if !model {
			screen.Press("G")
			screen.WaitText("Document 050") // the next page
			screen.Press("g")
			screen.WaitText("1 of 120")
			for range 60 {
				screen.Press("j")
			}
			screen.WaitText("61 of 120")
			if strings.Contains(screen.Text(), "by words") {
				t.Errorf("no model ranked anything:\n%s", screen.Text())
			}
			continue
		}
		screen.WaitText("Best")
		screen.WaitText("── more, by words ──")
		screen.WaitText("Document 000")
	}
}

// A page that goes into groups above the selection is the only one until the selection moves.
func TestPagesInGroups(t *testing.T) {
	t.Parallel()
	server := many(400)
	all := server.search
	server.search = func(w http.ResponseWriter, r *http.Request, request wire.SearchRequest) {
		recorder := httptest.NewRecorder()
		all(recorder, r, request)
		var response wire.SearchResponse
		if err := wire.Unmarshal(recorder.Body.Bytes(), &response); err != nil {
			t.Error(err)
		}
		for i := range response.Results { // the further back, the newer
			at := today().AddDate(0, *response.Results[i].CitationID/10-100, 0).Format(time.RFC3339)
			response.Results[i].UpdatedAt = &at
		}
		answer200(w, response)
	}
	m := ready(t, server, Options{})
	drive(t, m, m.nextGrouping())
	drive(t, m, m.nextGrouping())
	ask(t, m, "text")
	m.list.Last()
	drive(t, m, m.sync(nil))
	if m.list.Len() != 100 || m.list.Row() != 99 {
		t.Fatalf("row %d of %d", m.list.Row(), m.list.Len())
	}
	m.list.Move(-1)
	drive(t, m, m.sync(nil))
	if m.list.Len() != 150 {
		t.Fatalf("row %d of %d", m.list.Row(), m.list.Len())
	}
}

// Groups have headings with counts, the selection stays, and the next time they are the same.
func TestResultsAreGrouped(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		results := []map[string]any{sixFields(1, "Runbook", "text"), sixFields(2, "Chat", "text"), sixFields(3, "Policy", "text")}
		for i, source := range []string{"confluence", "slack", "confluence"} {
			results[i]["source_type"], results[i]["link"] = source, fmt.Sprintf("https://acme.com/%d", i)
		}
		results[2]["updated_at"] = "2026-10-12T09:00:00+00:00"
		answer200(w, map[string]any{"results": results})
	}}
	target := server.remote(t)
	target.State = state.InMemory(0)
	open := func() *screentest.Screen {
		screen := start(t, 120, 40, Options{Target: target})
		screen.WaitText("type a question")
		screen.Type("text")
		screen.Press("enter")
		screen.WaitText("Policy")
		return screen
	}
	screen := open()
	screen.Press("j")
	screen.WaitText("2 of 3")
	screen.Press("B")
	screen.WaitText("Results by source")
	screen.WaitText("── Confluence · 2 documents ──")
	screen.WaitText("── Slack · 1 document ──")
	screen.WaitText("3 of 3") // Chat, which is still selected
	screen.Press("3")
	screen.WaitText("2 of 3")
	screen.Press("tab")
	screen.WaitText("● 1 marked")
	screen.Press("B")
	screen.WaitText("Results by month")
	screen.WaitText("── March 2026 · 2 documents ──")
	screen.Press("q")
	screen.WaitEnd()
	again := open()
	again.WaitText("── October 2026 · 1 document ──")
	again.Press("B")
	again.WaitText("grouped by document")
	again.WaitGone("Results by month")
}

// Months follow the order of the results, so that the first result, which is selected, stays the first of the list.
func TestMonthsFollowTheOrder(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Type("incident")
	screen.Press("enter")
	screen.WaitText("╭ Results ")
	screen.Press("s")
	screen.WaitText("newest first")
	screen.Press("s")
	screen.WaitText("oldest first")
	screen.Press("B")
	screen.WaitText("Results by source")
	screen.Press("B")
	screen.WaitText("Results by month")
	first := regexp.MustCompile(`─ 1 of \d+ ╯`)
	screen.Wait("the selection on the first result", first.MatchString)
}

// The results are sorted by the server, over all that matched.
func TestResultsAreSorted(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: many(120).library(t)})
	screen.WaitText("type to search")
	screen.Type("text")
	screen.Press("enter")
	screen.WaitText("Document 000")
	screen.Press("s")
	screen.WaitText("120 documents, newest first")
	screen.Press("s")
	screen.WaitText("120 documents, oldest first")
	screen.WaitText("Document 119")
	screen.Press("s")
	screen.WaitGone("120 documents, oldest first")
	screen.WaitText("Document 000")
}

// The pages of a follow-up list what its rephrasing matches, as its totals count.
func TestPagesOfAFollowUp(t *testing.T) {
	t.Parallel()
	server := many(120)
	m := ready(t, server, Options{})
	ask(t, m, "text")
	m.search.shown.wire.MessageHistory = []wire.Message{{Type: "user", Message: "a"}, {Type: "user", Message: "text"}}
	m.search.shown.response.QueryExpansion.SemanticQueries = []string{"text of a"}
	m.list.Last()
	drive(t, m, m.sync(nil))
	asked := server.asked()
	if last := asked[len(asked)-1]; last.Offset == nil || last.Query != "text of a" || m.list.Len() != 100 {
		t.Errorf("asked for %+v: %d rows", last, m.list.Len())
	}
}
