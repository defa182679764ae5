package explorer

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/ui/state"
)

// titled is a server whose only passage is titled after the query; more of them exist from the second round on.
func titled(round *atomic.Int32) *script {
	return &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		results := []map[string]any{sixFields(1, "About "+request.Query, "text")}
		for i := range int(round.Load()) {
			more := sixFields(i+2, fmt.Sprintf("Addition %d", i), "text")
			more["link"] = fmt.Sprintf("https://wiki.acme.com/more/%d", i)
			results = append(results, more)
		}
		answer200(w, map[string]any{"results": results})
	}}
}

// Searches are walked through like pages: from memory, with the selection as it was left.
func TestSearchesAreWalkedThrough(t *testing.T) {
	t.Parallel()
	var round atomic.Int32
	round.Store(2)
	server := titled(&round)
	screen := start(t, 120, 40, Options{Target: server.remote(t)})
	screen.WaitText("type a question")
	screen.Type("first")
	screen.Press("enter")
	screen.WaitText("About first")
	screen.Press("down")
	inReader := func(frame string) bool { return strings.Count(frame, "Addition 0") >= 2 }
	screen.Wait("the second passage in the reader", inReader)
	screen.Press("/", "ctrl+u")
	screen.Type("second")
	screen.Press("enter")
	screen.WaitText("About second")
	asked := len(server.asked())
	screen.Press("alt+left")
	screen.WaitText("About first")
	screen.Wait("the selection that was left", inReader)
	screen.Press("alt+left")
	screen.WaitText("this is the first search")
	screen.Press("alt+right")
	screen.WaitText("About second")
	if now := len(server.asked()); now != asked {
		t.Fatalf("walking asked the server %d times", now-asked)
	}
}

// What was searched and saved survives the explorer, and a saved search says what is new.
func TestSearchesSurviveTheExplorer(t *testing.T) {
	t.Parallel()
	var round atomic.Int32
	folder, now := t.TempDir(), today()
	open := func() (options Options) {
		target := titled(&round).remote(t)
		target.State = state.InFolder(folder, "acme")
		return Options{Target: target, Now: func() time.Time { return now }}
	}
	first := start(t, 120, 40, open())
	first.WaitText("type a question")
	first.Type("expenses")
	first.Press("enter")
	first.WaitText("About expenses")
	first.Press("ctrl+s")
	first.WaitText("Save search")
	first.Press("ctrl+u")
	first.Type("Money")
	first.Press("enter")
	first.WaitText(`saved as "Money"`)
	first.Press("q")
	if err := first.Model().(timeless).Close(); err != nil { // as Run does: what was changed last may not be written yet
		t.Fatal(err)
	}

	round.Store(2)
	now = now.Add(24 * time.Hour)
	second := start(t, 120, 40, open())
	second.WaitText("type a question")
	second.Press("up")
	second.WaitText("Saved")
	second.WaitText("Money · expenses")
	second.WaitText("yesterday")
	second.Press("enter")
	second.WaitText("Money: 2 new, last opened yesterday")
	for line := range strings.Lines(leftPane(second)) {
		if isNew := strings.Contains(line, "✦ new"); isNew != strings.Contains(line, "Addition ") && strings.Contains(line, "8 mo") {
			t.Errorf("new %t: %s", isNew, line)
		}
	}
	second.Press("ctrl+r")
	second.WaitText("Recent")
	second.Press("enter")
	second.WaitText("Money: nothing new, last opened 12:00")
	if strings.Contains(second.Text(), "✦") {
		t.Errorf("something is new:\n%s", second.Text())
	}
}

// A search that is forgotten is gone from the list and from the file.
func TestASearchIsForgotten(t *testing.T) {
	t.Parallel()
	store := state.InFolder(t.TempDir(), "acme")
	if _, err := store.Change(func(s *state.State) error { s.Searched(state.Search{Query: "secret thing", At: today()}); return nil }); err != nil {
		t.Fatal(err)
	}
	target := titled(new(atomic.Int32)).remote(t)
	target.State = store
	screen := start(t, 120, 40, Options{Target: target})
	screen.WaitText("type a question")
	screen.Press("ctrl+r")
	screen.WaitText("secret thing")
	screen.Press("ctrl+x")
	screen.WaitGone("secret thing")
	screen.Press("ctrl+c")
	if err := screen.Model().(timeless).Close(); err != nil { // as Run does: what was changed last may not be written yet
		t.Fatal(err)
	}
	if left := store.State().Recent; len(left) > 0 {
		t.Fatalf("%+v", left)
	}
}

// The theme and the sizes of the panes are those of the last time.
func TestTheScreenIsArrangedAsBefore(t *testing.T) {
	t.Parallel()
	store := state.InMemory(0)
	if _, err := store.Change(func(s *state.State) error {
		s.Screen = state.Screen{Theme: "mono", DividerX: 8}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	target := titled(new(atomic.Int32)).remote(t)
	target.State = store
	m := New(t.Context(), Options{Target: target, Theme: "auto", Now: today, Width: 160, Height: 45})
	m.Update(m.loadState()())
	if m.look.mode != "mono" || m.look.dividerX != 8 {
		t.Fatalf("arranged as %+v", m.look)
	}
}
