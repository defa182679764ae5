package explorer

import (
	"net/http"
	"testing"

	"quarry/client/wire"
)

// likeness is a server that finds passages like one, if it has that feature.
func likeness(features ...string) *script {
	return &script{
		search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
			first, second := sixFields(1, "Travel rules", "Book early."), sixFields(2, "Expense rules", "Keep receipts.")
			first["document_id"], first["ref"] = "file:/notes/travel, old.md", "file:/notes/travel, old.md#3"
			second["document_id"], second["ref"] = "expenses", "expenses#0"
			if request.SimilarTo != "" {
				first = sixFields(1, "Like "+request.SimilarTo, "Sources: "+request.Query)
				answer200(w, map[string]any{"results": []any{first}})
				return
			}
			answer200(w, map[string]any{"results": []any{first, second}})
		},
		routes: map[string]http.HandlerFunc{"GET /version": func(w http.ResponseWriter, _ *http.Request) {
			answer200(w, wire.Version{BackendVersion: "4.0.0", Quarry: &wire.QuarryVersion{Version: "1.0.0", API: 1, Features: features}})
		}},
	}
}

// Passages like one are found by a search of their own, which a chip with the title describes; the search before it is one
// step back, and the chip goes like any other.
func TestSimilarPassages(t *testing.T) {
	t.Parallel()
	server := likeness(wire.FeatureSimilarTo, wire.FeatureBrowse)
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rules source:web"})
	screen.WaitText(" 1  Travel rules")
	screen.Press("~")
	screen.WaitText("similar to: Travel rules ✕")
	screen.WaitText("Like file:/notes/travel, old.md#3")
	screen.WaitGone("source: web ✕")
	if title := screen.Title(); title != "quarry: similar to: Travel rules" {
		t.Errorf("the title is %q", title)
	}
	screen.Press("alt+left")
	screen.WaitText("source: web ✕")
	screen.WaitText(" 2  Expense rules")
	screen.WaitGone("similar to:")
	screen.Press("alt+right")
	screen.WaitText("similar to: Travel rules ✕")
	screen.WaitText("Like file:/notes")
	screen.Press("/")
	screen.Type("receipts")
	screen.Press("enter")
	screen.WaitText("Sources: receipts")
	screen.Press("x") // the chip goes, the words stay
	screen.WaitText(" 2  Expense rules")
	screen.WaitGone("similar to:")
	last := server.asked()
	if asked := last[len(last)-1]; asked.SimilarTo != "" || asked.Query != "receipts" || asked.Browse {
		t.Errorf("asked %+v", asked)
	}
	screen.Press("u")
	screen.WaitText("similar to: Travel rules ✕")
}

// The search for similar passages is no recent search: nobody typed it.
func TestSimilarPassagesLeaveTheRecentSearches(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: likeness(wire.FeatureSimilarTo).remote(t), Query: "rules"})
	screen.WaitText(" 1  Travel rules")
	screen.Press("~")
	screen.WaitText("Like file:/notes/travel")
	screen.Press("ctrl+r")
	screen.WaitText("Recent")
	waitShown(screen, []string{"rules", "Searches"}, "similar:")
}

func TestSimilarPassagesAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	bare := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "About "+request.Query, "x")}})
	}}
	screen := start(t, 140, 40, Options{Target: bare.remote(t), Query: "rules"})
	screen.WaitText("About rules")
	screen.Press("~")
	screen.WaitText("this server cannot search for similar passages")
}

// The sample library finds other documents about the same thing.
func TestSimilarPassagesOfTheSampleLibrary(t *testing.T) {
	t.Parallel()
	screen := start(t, 160, 40, Options{Target: sampleTarget(t), Query: "rolling back a release"})
	screen.WaitText(" 1  Runbook: rolling back")
	screen.WaitText("· 1 ms")
	screen.Press("~")
	screen.WaitText("similar to: Runbook: rolling back a")
	waitShown(screen, []string{" 1  "}, "▌ 1  Runbook: rolling back a release")
}
