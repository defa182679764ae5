package explorer

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
)

func TestALibraryIsSearchedWhileTyping(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Type("rolling back a relea")
	screen.WaitText("Runbook: rolling back a release")
	screen.WaitText("▏ 1  ")
	screen.Wait("the cursor behind what is typed", func(string) bool {
		x, y, visible := screen.Cursor()
		return x == len("│ › ")-4+len("rolling back a relea") && y == 1 && visible
	})
	screen.Press("down")
	screen.Press("enter")
	screen.WaitText("open") // the bar of the list
	screen.Press("enter")
	screen.WaitText("h results")
}

func TestAFilterThatMakesNoSenseIsTold(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Type("release since:2026-13-45")
	screen.WaitText(" 1  ")
	screen.WaitGone("is not a valid filter") // it may be typed on
	screen.Press("enter")
	screen.WaitText("! `since:2026-13-45` is not a valid filter")
}

func TestASourceThatDoesNotExistIsTold(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Type("release source:slak")
	screen.WaitText(" 1  ")
	screen.Press("enter")
	screen.WaitText(`there is no source "slak"`)
	screen.WaitText("search refused")
	if text := screen.Text(); strings.Contains(text, "retries") || strings.Contains(text, "times since") {
		t.Errorf("a wrong name is offered to be tried again:\n%s", text)
	}
	screen.WaitText("Did you mean source:slack?")
}

// A remote search costs model calls: typing asks nothing, and Enter asks once.
func TestARemoteServerIsSearchedOnEnter(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "About "+request.Query, "All of it.")}})
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t)})
	screen.Type("rollback")
	screen.WaitText("↵ searches acme")
	if asked := server.asked(); len(asked) > 0 {
		t.Fatalf("typing asked for %+v", asked)
	}
	screen.Press("enter")
	screen.WaitText("About rollback")
	screen.WaitText("1 document")
	asked := server.asked()
	if len(asked) != 1 || *asked[0].NumResults != wantedResults || asked[0].Instant {
		t.Errorf("asked for %+v", asked)
	}
	screen.Press("/")
	screen.Press("backspace", "enter")
	screen.WaitText("About rollbac ")
	screen.Press("/")
	screen.Type("k")
	screen.Press("enter")
	screen.WaitText("cached")
	if asked := server.asked(); len(asked) != 2 {
		t.Errorf("the remembered search was asked again: %d searches", len(asked))
	}
	screen.Press("r")
	screen.WaitGone("cached")
	if asked := server.asked(); len(asked) != 3 {
		t.Errorf("r did not ask fresh: %d searches", len(asked))
	}
}

// What only others hold is not asked for while one types, so that nothing may be said of it yet.
func TestWhatIsElsewhereTakesEnter(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Of the team", "x")}})
	}}
	target := server.library(t)
	target.Kind, target.Elsewhere = Remote, true
	screen := start(t, 120, 40, Options{Target: target, Instant: true})
	screen.Type("deploy")
	screen.WaitText("deploy")
	screen.Press("enter")
	screen.WaitText("Of the team")
	if asked := server.asked(); len(asked) != 1 || asked[0].Instant {
		t.Errorf("asked %+v", asked)
	}
}

func TestInstantSearchOfARemoteServer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
			answer200(w, map[string]any{"results": []any{sixFields(1, fmt.Sprintf("%s instant %v", request.Query, request.Instant), "x")}})
		}}
		screen := start(t, 120, 40, Options{Target: server.remote(t), Instant: true})
		screen.WaitText("type to search")
		screen.Type("rollback")
		screen.WaitText("rollback instant true")
		if asked := server.asked(); len(asked) != 1 {
			t.Errorf("%d searches for one pause of the keys", len(asked))
		}
	})
}

// A visitor over a network is sent each key that they type, and no more while the same is found.
func TestTypingAtAServerChangesTheBoxAloneWhileTheSameIsFound(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Runbook", "how to go back")}})
	}}
	seconds := 0
	ticking := func() time.Time { // so that no two searches take as long as each other
		seconds++
		return today().Add(time.Duration(seconds*seconds) * time.Millisecond)
	}
	m := New(t.Context(), Options{Target: server.remote(t), Instant: true, Theme: "dark", Width: 120, Height: 40, Now: ticking})
	drive(t, m, m.Init())
	typed := func(letter rune) []string {
		_, cmd := m.Update(tea.KeyPressMsg{Text: string(letter), Code: letter})
		drive(t, m, cmd)
		return strings.Split(m.View().Content, "\n")
	}
	found := func() []string {
		drive(t, m, m.handlePause(m.box.InstantQuery()))
		return strings.Split(m.View().Content, "\n")
	}
	typed('q')
	before := found()
	if !strings.Contains(strings.Join(before, "\n"), "Runbook") {
		t.Fatal("nothing was found")
	}
	waiting, after := typed('x'), found()
	for y := range before {
		if (waiting[y] != before[y] || after[y] != before[y]) != (y == 1) {
			t.Errorf("line %d was %q, while it is looked for %q, then %q", y, before[y], waiting[y], after[y])
		}
	}
	if len(server.asked()) != 2 {
		t.Errorf("%d searches", len(server.asked()))
	}
}

// held is a server whose searches wait until they are let go or given up.
type held struct {
	script
	release chan struct{}
	begun   chan wire.SearchRequest
	gone    atomic.Int32
}

func holding(body func(wire.SearchRequest) any) *held {
	h := &held{release: make(chan struct{}), begun: make(chan wire.SearchRequest, 100)}
	h.search = func(w http.ResponseWriter, r *http.Request, request wire.SearchRequest) {
		h.begun <- request
		select {
		case <-h.release:
			answer200(w, body(request))
		case <-r.Context().Done():
			h.gone.Add(1)
		}
	}
	return h
}

func oneResult(request wire.SearchRequest) any {
	return map[string]any{"results": []any{sixFields(1, "About "+request.Query, "All of it.")}}
}

func TestASlowSearchTellsAndCanBeStopped(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		server := holding(oneResult)
		screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "rollback", Now: time.Now})
		<-server.begun
		screen.WaitText("searching")
		screen.WaitText("esc stops")
		screen.WaitText("searching · 1 s")
		screen.Press("esc")
		screen.WaitText("stopped; nothing was found yet")
		screen.WaitGone("searching")
		screen.Press("/", "enter")
		<-server.begun
		close(server.release)
		screen.WaitText("About rollback")
		screen.Wait("the first search to be given up", func(string) bool { return server.gone.Load() == 1 })
	})
}

// The newest search wins: those before it are cancelled, and a late answer of theirs is not shown.
func TestTheNewestSearchWins(t *testing.T) {
	t.Parallel()
	server := holding(oneResult)
	screen := start(t, 120, 40, Options{Target: server.library(t)})
	screen.WaitText("type to search")
	for _, letter := range "abc" {
		screen.Type(string(letter))
		<-server.begun
	}
	close(server.release)
	screen.WaitText("About abc")
	screen.Wait("two searches to be given up", func(string) bool { return server.gone.Load() == 2 })
}

func TestALateAnswerIsDropped(t *testing.T) {
	t.Parallel()
	m := ready(t, oneAbout(), Options{})
	m.box.SetQuery("old")
	old := m.submit()
	m.box.SetQuery("new")
	latest := m.submit()
	drive(t, m, old)
	if m.search.shown != nil || m.search.failure != nil || m.search.running == nil || m.search.running.slow {
		t.Error("the answer to the old search was shown")
	}
	drive(t, m, latest)
	if m.search.shown == nil || m.search.shown.text != "new" {
		t.Error("the answer to the new search is not shown")
	}
}

func TestStagesAndProvisionalResults(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	server := &script{search: func(w http.ResponseWriter, r *http.Request, _ wire.SearchRequest) {
		w.Header().Set("Content-Type", wire.MediaTypeNDJSON)
		for line := range next {
			fmt.Fprintln(w, line)
			w.(http.Flusher).Flush()
		}
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "rollback"})
	next <- `{"type":"stage","name":"understand","state":"start"}`
	screen.WaitText("rewriting the query")
	next <- `{"type":"provisional","response":{"results":[{"citation_id":1,"title":"First guess","content":"x","source_type":"web"}]}}`
	screen.WaitText("First guess")
	screen.WaitText("1 document so far")
	next <- `{"type":"final","response":{"results":[{"citation_id":1,"title":"The answer","content":"x","source_type":"web"}]}}`
	close(next)
	screen.WaitText("The answer")
	screen.WaitGone("First guess")
	screen.WaitGone("so far")
}

func TestProvisionalResultsStayWhenTheSearchIsStopped(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	defer close(next)
	server := &script{search: func(w http.ResponseWriter, r *http.Request, _ wire.SearchRequest) {
		w.Header().Set("Content-Type", wire.MediaTypeNDJSON)
		fmt.Fprintln(w, <-next)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "rollback"})
	next <- `{"type":"provisional","response":{"results":[{"citation_id":1,"title":"First guess","content":"x","source_type":"web"}]}}`
	screen.WaitText("1 document so far")
	screen.Press("esc")
	screen.WaitText("stopped; 1 provisional passage kept")
	screen.WaitText("provisional")
	screen.WaitText("First guess")
}

func TestFastAnswerIsProvisional(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		title := "Quick"
		if !request.SkipQueryExpansion {
			<-release
			title = "Thorough"
		}
		answer200(w, map[string]any{"results": []any{sixFields(1, title, "x")}})
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "rollback", Fast: true})
	screen.WaitText("Quick")
	close(release)
	screen.WaitText("Thorough")
	screen.WaitGone("Quick")
}

func TestAFailureSaysWhatSinceWhenAndHowToRetry(t *testing.T) {
	t.Parallel()
	var healthy atomic.Bool
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		if healthy.Load() {
			answer200(w, oneResult(request))
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error_code":"SERVICE_UNAVAILABLE","detail":"the index is being rebuilt"}`)
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "rollback"})
	screen.WaitText("search failed at 12:00 · r retries")
	screen.WaitText("the index is being rebuilt")
	screen.Press("r")
	screen.WaitText("search failed 2 times since 12:00")
	healthy.Store(true)
	screen.Press("r")
	screen.WaitText("About rollback")
	screen.WaitGone("failed")
	healthy.Store(false)
	screen.Press("r")
	screen.WaitText("search failed at 12:00")
	screen.WaitText("About rollback") // what was there stays
}

func TestATargetThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}}
	working := server.remote(t)
	broken := working
	broken.Open = func(ctx context.Context) (*client.Session, error) {
		if tries.Add(1) == 1 {
			return nil, fmt.Errorf("the library was written by a newer quarry")
		}
		return working.Open(ctx)
	}
	screen := start(t, 120, 40, Options{Target: broken})
	screen.WaitText("open failed at 12:00")
	screen.WaitText("the library was written by a newer quarry")
	screen.Type("rollback")
	screen.WaitText("rollback")
	screen.Press("enter")
	screen.WaitText("About rollback")
}

func TestNothingFoundNamesTheFilterToBlame(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t), Query: "rollback source:hubspot within:3650d"})
	screen.WaitText("No results")
	screen.WaitText("╭ Results ─")
	screen.WaitText("Most restrictive: source:hubspot. x removes it")
	screen.Press("x")
	screen.WaitText("Runbook")
	screen.WaitGone("source:hubspot")
	screen.Press("u")
	screen.WaitText("No results")
	screen.WaitText("source: hubspot ✕")
}

// Filters alone list what they leave, the newest first; a server that cannot do that asks for a word.
func TestFiltersAloneBrowse(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("66 documents in")
	screen.Type("source:hubspot ")
	screen.WaitText("source: hubspot ✕")
	screen.WaitText("1 of 1")
	screen.Press("enter")
	screen.WaitText("open")
	screen.WaitText("1 of 1")

	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}}
	bare := start(t, 120, 40, Options{Target: server.remote(t)})
	bare.WaitText("type a question")
	bare.Type("source:slack ")
	bare.WaitText("source: slack ✕")
	bare.Press("enter")
	bare.WaitText("does not list documents by filters alone")
	if asked := server.asked(); len(asked) > 0 {
		t.Fatalf("asked for %+v", asked)
	}
}

func TestAHalfTypedFilterIsNotSearchedFor(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}}
	screen := start(t, 120, 40, Options{Target: server.library(t)})
	screen.WaitText("type to search")
	screen.Type("deploy source:sla")
	screen.WaitText("About deploy")
	screen.Type("ck ")
	screen.WaitText("source: slack ✕")
	for _, request := range server.asked() {
		if strings.Contains(request.Query, "sla") {
			t.Errorf("searched for %q", request.Query)
		}
	}
}

func TestWhatTheServerIgnoresIsSaid(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rollback author:jo"})
	screen.WaitText("About rollback")
	screen.WaitText("author: jo")
	screen.WaitText("ignore")
}

func TestAnAgentThatDoesNotExist(t *testing.T) {
	t.Parallel()
	server := &script{routes: map[string]http.HandlerFunc{"GET /persona": func(w http.ResponseWriter, _ *http.Request) {
		answer200(w, []map[string]any{{"id": 4, "name": "Engineering"}})
	}}, search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, fmt.Sprint("agent ", *request.PersonaID), "x")}})
	}}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: `rollback agent:Enginering`})
	screen.WaitText(`"Engineering"?`)
	screen.Press("/", "ctrl+u")
	screen.Press("backspace", "ctrl+u")
	screen.Type("rollback agent:engineering")
	screen.Press("enter")
	screen.WaitText("agent 4")
}

func TestALibraryThatAnotherProcessChanged(t *testing.T) {
	t.Parallel()
	var version atomic.Int32
	server := &script{routes: map[string]http.HandlerFunc{"GET /library/status": func(w http.ResponseWriter, _ *http.Request) {
		answer200(w, map[string]any{"version": fmt.Sprint(version.Load())})
	}}, search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, fmt.Sprint("version ", version.Load()), "x")},
			"stages": []any{}, "notes": []any{map[string]any{"code": wire.NoteNoModel, "text": "no language model is configured"}}})
	}}
	screen := start(t, 120, 40, Options{Target: server.library(t), Query: "rollback"})
	screen.WaitText("version 0")
	version.Store(1)
	screen.WaitText("version 1")
	if asked := server.asked(); len(asked) != 2 || asked[0].Instant || !asked[1].Instant || !asked[1].Prefix || asked[1].Query != "rollback" {
		t.Errorf("asked %+v", asked)
	}
}

// A server is asked while one types only where somebody wants that, since others count and log searches. One that cannot
// answer without a model is spared it as far as it lets.
func TestWhatIsAskedWhileTypingFollowsTheServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ quarry, instant, offers bool }{
		"quarry": {quarry: true, instant: true}, "onyx": {instant: true}, "over SSH": {quarry: true, offers: true}, "on Enter": {quarry: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				server := &script{routes: map[string]http.HandlerFunc{"GET /version": func(w http.ResponseWriter, _ *http.Request) {
					version := map[string]any{"backend_version": "4.1"}
					if test.quarry {
						version["quarry"] = map[string]any{"version": "1", "api": 1, "features": []string{"instant"}}
					}
					answer200(w, version)
				}}, search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
					answer200(w, oneResult(request))
				}}
				target := server.remote(t)
				target.Offers = test.offers
				screen := start(t, 120, 40, Options{Target: target, Instant: test.instant})
				if !test.instant && !test.offers {
					screen.WaitText("↵ search")
					screen.Type("rollback")
					time.Sleep(time.Second)
					screen.Press("enter")
					screen.WaitText("About rollback")
					if asked := server.asked(); len(asked) != 1 || asked[0].Instant {
						t.Errorf("asked for %+v", asked)
					}
					return
				}
				screen.WaitText("type to search")
				screen.Type("rollback")
				screen.WaitText("About rollback")
				for _, request := range server.asked() {
					if !request.Instant || request.SkipQueryExpansion == test.quarry {
						t.Errorf("asked for %+v", request)
					}
				}
			})
		})
	}
}

// What was found while typing does not vanish on Enter: an unfinished last word stays a prefix, and only that.
func TestEnterKeepsAnUnfinishedWord(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("66 documents")
	screen.Type("expense lap")
	screen.WaitText("─ 4 documents ·")
	screen.Press("enter")
	screen.WaitText("e expand")
	screen.Wait("the same results", func(text string) bool {
		return strings.Contains(text, "─ 4 documents ·") && strings.Contains(text, "Expenses and equipment policy")
	})
}

func TestEnterSendsPrefixUnlessASpaceFollows(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]bool{"expense lap": true, "expense lap ": false, "expense lap source:slack ": false} {
		server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
			answer200(w, oneResult(request))
		}}
		screen := start(t, 120, 40, Options{Target: server.remote(t)})
		screen.Type(typed)
		screen.WaitText("expense lap")
		screen.Press("enter")
		screen.WaitText("About")
		if asked := server.asked(); len(asked) != 1 || asked[0].Prefix != want {
			t.Errorf("%q asks %+v", typed, asked)
		}
	}
}

// The counts offered are those one gets, also with words of which few documents have enough.
func TestRemovingAFilterGivesWhatWasCounted(t *testing.T) {
	t.Parallel()
	query := "what did we promise the customer source:gong within:90d"
	screen := start(t, 120, 40, Options{Target: sampleTarget(t), Query: query})
	screen.WaitText("No results")
	screen.WaitText("without it")
	var offered string
	screen.Wait("a filter to remove", func(text string) bool {
		offered = countedWithout(text, "source:gong")
		return strings.Contains(text, "Most restrictive: source:gong")
	})
	screen.Press("x")
	screen.Wait("the documents that were offered", func(text string) bool { return strings.Contains(text, "─ "+offered+" ") })
}

// countedWithout is what the screen says of a search without a filter.
func countedWithout(screen, filter string) string {
	for line := range strings.Lines(screen) {
		if _, rest, ok := strings.Cut(line, "with "+filter+" · without it "); ok {
			return strings.Join(strings.Fields(rest)[:2], " ")
		}
	}
	return ""
}

func TestNoFilterIsNamedWhenSeveralCutAsMuch(t *testing.T) {
	t.Parallel()
	server := &script{
		routes: map[string]http.HandlerFunc{"GET /version": func(w http.ResponseWriter, _ *http.Request) {
			answer200(w, wire.Version{Quarry: &wire.QuarryVersion{API: 1, Features: []string{wire.FeatureFacets, wire.FeatureInstant}}})
		}},
		search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
			answer := wire.SearchResponse{Results: []wire.SearchResult{}, Stages: []wire.Stage{{Name: "retrieve", Outcome: wire.OutcomeOK}}}
			if len(request.Sources) == 0 || len(request.Authors) == 0 {
				answer.TotalMatches = 7
			}
			answer200(w, answer)
		},
	}
	screen := start(t, 120, 40, Options{Target: server.library(t), Query: "rollback source:slack author:jo"})
	screen.WaitText("with source:slack · without it 7 documents")
	screen.WaitText("with author:jo · without it 7 documents")
	screen.WaitText("removes the last filter")
	screen.WaitGone("Most restrictive")
}
