package explorer

import (
	"fmt"
	"net/http"
	"testing"

	"quarry/client/wire"
)

// many is a library of documents that all match, listed page by page.
func many(count int) *script {
	return &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		from := 0
		if request.Offset != nil {
			from = *request.Offset
		}
		response := wire.SearchResponse{TotalMatches: count, Results: []wire.SearchResult{}}
		for i := from; i < min(count, from+*request.NumResults); i++ {
			number, name := i+1, i
			if request.Sort == wire.SortOldest {
				name = count - 1 - i
			}
			response.Results = append(response.Results, wire.SearchResult{CitationID: &number, Title: fmt.Sprintf("Document %03d", name),
				Content: "text", DocumentID: fmt.Sprintf("d%d", name), Ref: fmt.Sprintf("d%d#0", name), SourceType: "file", ChunkCount: 1})
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
	screen.Press("enter")
	screen.WaitText("1 of 50")
	screen.Press("G")
	screen.WaitText("of 100")
	screen.Press("G")
	screen.WaitText("of 120")
	screen.Press("G")
	screen.WaitText("120 of 120")
	screen.WaitText("Document 119")
	screen.Press("up", "down")
	screen.WaitText("120 of 120")
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
	screen.WaitText("newest 50 of 120 documents")
	screen.Press("s")
	screen.WaitText("oldest 50 of 120 documents")
	screen.WaitText("Document 119")
	screen.Press("s")
	screen.WaitGone("oldest 50 of 120 documents")
	screen.WaitText("Document 000")
}
