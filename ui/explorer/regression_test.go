package explorer

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
)

// ready is an explorer whose target is open.
func ready(t *testing.T, s *script, o Options) *Model {
	t.Helper()
	o.Target, o.Now, o.Width, o.Height = s.remote(t), today, 120, 40
	m := New(t.Context(), o)
	drive(t, m, m.open())
	return m
}

// oneAbout finds one passage about whatever is asked.
func oneAbout() *script {
	return &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "About "+request.Query, "All of rollback and release.")}})
	}}
}

// ask asks a question and waits for its answer.
func ask(t *testing.T, m *Model, q string) {
	m.box.SetQuery(q)
	drive(t, m, m.submit())
}

func TestASlowSearchAfterOneFromMemory(t *testing.T) {
	t.Parallel()
	m := ready(t, oneAbout(), Options{})
	ask(t, m, "a")
	ask(t, m, "b")
	ask(t, m, "a")
	if !m.search.shown.remembered {
		t.Fatal("not from memory")
	}
	m.box.SetQuery("c")
	m.submit() // under way
	handled(m, func() tea.Cmd { return m.handleSlowSearch(m.search.running) })
}

func TestAFastAnswerAfterOneFromMemory(t *testing.T) {
	t.Parallel()
	m := ready(t, oneAbout(), Options{Fast: true})
	ask(t, m, "a")
	ask(t, m, "b")
	ask(t, m, "a")
	m.box.SetQuery("c")
	m.submit()
	drive(t, m, m.askFast(m.search.running))
}

func TestABlameThatComesTooLate(t *testing.T) {
	t.Parallel()
	nothing := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{}})
	}}
	m := ready(t, nothing, Options{})
	m.box.SetQuery("x source:slack within:30d")
	m.submit()
	blame := m.handleSearch(m.search.running, &wire.SearchResponse{}, nil)
	if !m.filters.blaming.running() {
		t.Fatal("not blaming")
	}
	m.box.SetQuery("source:slack within:30d")
	m.queryEdited()
	drive(t, m, blame)
	m.dropFilter()
}

func TestATargetThatOpensLeavesTheKeysWhereTheyAre(t *testing.T) {
	t.Parallel()
	m := ready(t, oneAbout(), Options{})
	m.box.SetQuery("hal")
	m.focus = InBox
	drive(t, m, m.switchTo(m.target))
	if m.focus != InBox {
		t.Errorf("focus went to %v while typing", m.focus.Name())
	}
}

func TestTheReaderMarksTheWordsOfTheQuery(t *testing.T) {
	t.Parallel()
	s := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Doc", "All of rollback and release after release.")}})
	}}
	m := ready(t, s, Options{})
	ask(t, m, "rollback")
	ask(t, m, "release")
	m.Update(nil)
	m.View()
	if _, marked := m.reader.Match(); marked != 2 {
		t.Errorf("%d words are marked, not the two that were asked for last", marked)
	}
}

func TestASpanOfTimeIsRemembered(t *testing.T) {
	t.Parallel()
	s := oneAbout()
	now := today()
	m := ready(t, s, Options{})
	m.options.Now = func() time.Time { now = now.Add(time.Second); return now }
	ask(t, m, "a within:30d")
	ask(t, m, "b")
	ask(t, m, "a within:30d")
	if !m.search.shown.remembered {
		t.Errorf("asked fresh: %d searches", len(s.asked()))
	}
}

func TestNoResultsAreNotRead(t *testing.T) {
	t.Parallel()
	empty := false
	s := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		if empty {
			answer200(w, map[string]any{"results": []any{}})
			return
		}
		answer200(w, map[string]any{"results": []any{sixFields(1, "Doc", "All of rollback and release.")}})
	}}
	m := ready(t, s, Options{})
	m.Update(tea.WindowSizeMsg{Width: 70, Height: 24})
	ask(t, m, "rollback")
	m.focus = InReader
	m.Update(nil)
	empty = true
	drive(t, m, m.startSearch("other", false, true))
	m.Update(nil)
	if m.rects.List.H == 0 {
		t.Errorf("an empty reader fills the screen:\n%s", m.View().Content)
	}
}

func TestAnAnswerFromBeforeAChangeIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := oneAbout()
	m := ready(t, s, Options{})
	m.conn.version = "1"
	m.box.SetQuery("a")
	m.submit()
	asked := m.search.running
	handled(m, func() tea.Cmd { return m.handleVersion(&wire.LibraryStatus{Version: "2"}, nil) })
	handled(m, func() tea.Cmd { return m.handleSearch(asked, &wire.SearchResponse{}, nil) })
	if _, ok := m.search.memory.Get(asked.key); ok {
		t.Error("an answer from before the change is remembered")
	}
}

func TestAWheelTurnedSideways(t *testing.T) {
	t.Parallel()
	s := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "A", "x"), sixFields(2, "B", "y")}})
	}}
	m := ready(t, s, Options{})
	ask(t, m, "rollback")
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelLeft, X: 3, Y: m.rects.List.Y})
	if m.list.SelectedIndex() != 0 {
		t.Error("a wheel turned sideways moves the selection")
	}
}

func TestATargetThatOpensAfterTheEndIsClosed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	closed := 0
	m := New(ctx, Options{Target: Target{Kind: Library, Where: "x", Open: func(context.Context) (*client.Session, error) {
		return &client.Session{Close: func() error { closed++; return nil }}, nil
	}}, Now: today, Width: 120, Height: 40})
	command := m.open()
	cancel()  // the person quits
	command() // its message reaches nobody any more
	if err := m.Close(); err != nil || closed != 1 {
		t.Errorf("closed %d times, %v", closed, err)
	}
}

func TestCountsOfAFormerQueryAreNotAwaited(t *testing.T) {
	t.Parallel()
	m := ready(t, oneAbout(), Options{})
	m.conn.welcome.exact = true
	m.openPicker()
	if !m.filters.counting.running() {
		t.Fatal("nothing is counted")
	}
	m.closePanel()
	ask(t, m, "rollback")
	m.openPicker()
	if m.filters.counting.running() {
		t.Error("counts of the former query are still awaited")
	}
}

func TestAHintWithoutAKeyIsNone(t *testing.T) {
	t.Parallel()
	m := New(t.Context(), Options{Target: Target{Kind: Remote, Where: "x"}, Now: today, Width: 120, Height: 40,
		Keys: map[string][]string{"filters": {}}})
	if line := m.chipsLine(); strings.Contains(line, "filters") {
		t.Errorf("%q", line)
	}
}

func TestMoreResultsThanAskedForAreCut(t *testing.T) {
	t.Parallel()
	m := ready(t, oneAbout(), Options{})
	m.show(shown{response: &wire.SearchResponse{Results: make([]wire.SearchResult, 30_000)}})
	if m.list.Len() > wire.MaxNumResults {
		t.Errorf("%d results in the list", m.list.Len())
	}
}

// A server that needs no closing may be opened for somebody who has left meanwhile.
func TestOpenedTooLate(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	m := New(ctx, Options{Target: Target{Kind: Remote, Where: "a server", Open: func(context.Context) (*client.Session, error) {
		leave()
		return &client.Session{}, nil
	}}})
	m.open()() // which must not fail
}
