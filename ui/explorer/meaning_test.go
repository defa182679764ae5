package explorer

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
	"quarry/internal/testkit/screentest"
)

// meant is a library with vectors: what only they find is found by searches that are not instant.
func meant(meaning wire.Meaning, model string) *script {
	return &script{routes: map[string]http.HandlerFunc{
		"GET /library/status": func(w http.ResponseWriter, _ *http.Request) {
			answer200(w, wire.LibraryStatus{Version: "1", Meaning: meaning})
		},
		"GET /library/model": func(w http.ResponseWriter, _ *http.Request) { answer200(w, wire.ModelStatus{Model: model}) },
	}, search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		long := strings.Repeat("how to go back\n\n", 50)
		results := []any{sixFields(1, "Runbook "+request.Query, long), sixFields(3, "Deploys", "x")}
		for _, matching := range results {
			matching.(map[string]any)["matches"] = true
		}
		if !request.Instant {
			near := sixFields(2, "Going back", "x")
			near["found_by"] = wire.FoundByMeaning
			results = slices.Insert(results, 0, any(near))
		}
		answer200(w, map[string]any{"results": results, "stages": []any{},
			"matched": wire.Matched{Level: "all", Documents: 2, All: 2}})
	}}
}

func complete() wire.Meaning { return wire.Meaning{State: wire.MeaningComplete, Done: 9, Total: 9} }

// whole counts the searches that were not instant.
func (s *script) whole() (n int) {
	for _, request := range s.asked() {
		if !request.Instant {
			n++
		}
	}
	return n
}

// rest lets more than a pause pass in a bubble.
func rest() {
	time.Sleep(2 * max(meaningPause, versionEvery))
	synctest.Wait()
}

// typeMeant runs a test in a bubble, with a query typed into a library with vectors.
func typeMeant(t *testing.T, server *script, test func(t *testing.T, screen *screentest.Screen)) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		screen := start(t, 120, 40, Options{Target: server.library(t)})
		screen.WaitText("type to search")
		rest() // the library says what it has each second
		screen.Type("rollback")
		screen.WaitText("Runbook rollback")
		test(t, screen)
	})
}

// The pause after the last key asks by meaning, once; Enter then has nothing to ask where there is no language model.
func TestAPauseSearchesByMeaning(t *testing.T) {
	t.Parallel()
	server := meant(complete(), "")
	typeMeant(t, server, func(t *testing.T, screen *screentest.Screen) {
		if n := server.whole(); n > 0 {
			t.Fatalf("%d searches by meaning while typing", n)
		}
		screen.WaitText("Going back")
		screen.WaitText("by meaning")
		screen.Press("enter")
		screen.WaitText("o source") // the keys of the list
		rest()
		if asked := server.asked(); server.whole() != 1 || asked[len(asked)-1].SkipQueryExpansion {
			t.Errorf("asked %+v", asked)
		}
		screen.Press("/")
		screen.Type("s")
		screen.WaitText("Runbook rollbacks")
		screen.WaitText("Going back")
		if n := server.whole(); n != 2 {
			t.Errorf("%d searches by meaning of two queries", n)
		}
	})
}

// Other profiles, Slack among them, are asked on Enter alone: the library would ask them with itself.
func TestAPauseAsksNoOtherProfile(t *testing.T) {
	t.Parallel()
	server := meant(complete(), "")
	target := server.library(t)
	target.Beside = []string{"slack"}
	inBubble(t, func(t *testing.T) {
		screen := start(t, 120, 40, Options{Target: target})
		screen.WaitText("type to search")
		rest()
		screen.Type("rollback")
		screen.WaitText("Runbook rollback")
		rest()
		if n := server.whole(); n > 0 {
			t.Errorf("a pause made %d searches that other profiles are asked with", n)
		}
		screen.Press("enter")
		screen.WaitText("Going back")
	})
}

// A language model, which costs something, is for those who press Enter.
func TestAPauseAsksNoLanguageModel(t *testing.T) {
	t.Parallel()
	server := meant(complete(), "local/llama")
	typeMeant(t, server, func(t *testing.T, screen *screentest.Screen) {
		screen.WaitText("Going back")
		asked := server.asked()
		if last := asked[len(asked)-1]; last.Instant || !last.SkipQueryExpansion || !last.SkipDocumentSelection {
			t.Errorf("asked %+v", last)
		}
		screen.Press("enter")
		screen.Wait("the whole search", func(string) bool { return server.whole() == 2 })
		asked = server.asked()
		if last := asked[len(asked)-1]; last.SkipQueryExpansion || last.SkipDocumentSelection {
			t.Errorf("Enter asked %+v", last)
		}
	})
}

// Rows do not change under the eyes of somebody who reads them. Enter shows what was found, without asking again.
func TestRowsThatAreReadStay(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]tea.Msg{
		"another row":       tea.KeyPressMsg{Code: tea.KeyDown},
		"a scrolled reader": tea.MouseWheelMsg{Button: tea.MouseWheelDown, X: 100, Y: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := meant(complete(), "")
			typeMeant(t, server, func(t *testing.T, screen *screentest.Screen) {
				screen.Message(read)
				rest()
				screen.WaitGone("Going back")
				if n := server.whole(); n > 0 {
					t.Errorf("%d searches whose results nobody may see", n)
				}
				screen.Press("enter")
				screen.WaitText("Going back")
			})
		})
	}
}

// The results of a search that was asked in a pause come too late for somebody who has gone on to read.
func TestLateMeaningLeavesRows(t *testing.T) {
	t.Parallel()
	var release chan struct{}
	server := meant(complete(), "")
	answer := server.search
	server.search = func(w http.ResponseWriter, r *http.Request, request wire.SearchRequest) {
		if !request.Instant {
			<-release
		}
		answer(w, r, request)
	}
	typeMeant(t, server, func(t *testing.T, screen *screentest.Screen) {
		release = make(chan struct{}) // of the bubble
		screen.Wait("a search by meaning", func(string) bool { return server.whole() == 1 })
		screen.WaitGone("searching") // nobody waits for it
		screen.Press("down")
		synctest.Wait() // the key came before the results
		close(release)
		rest()
		screen.WaitGone("Going back")
		screen.Press("enter")
		screen.WaitText("Going back")
		if n := server.whole(); n != 1 {
			t.Errorf("%d searches by meaning", n)
		}
	})
}

// Where vectors find nothing, nothing is asked twice.
func TestWithoutVectorsAPauseAsksNothing(t *testing.T) {
	t.Parallel()
	for name, meaning := range map[string]wire.Meaning{
		"none yet":     {State: wire.MeaningRunning, Total: 9},
		"switched off": {State: wire.MeaningOff, Done: 9, Total: 9},
		"waiting":      {State: wire.MeaningWaiting, Total: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := meant(meaning, "")
			typeMeant(t, server, func(t *testing.T, screen *screentest.Screen) {
				rest()
				if n := server.whole(); n > 0 {
					t.Errorf("%d searches by meaning", n)
				}
			})
		})
	}
}
