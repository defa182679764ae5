package explorer

import (
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/screentest"
	"quarry/ui/state"
)

// picks starts an explorer that picks passages; hotels cannot be chosen.
func picks(t *testing.T, options Options) (screen *screentest.Screen, chosen func() []string) {
	t.Helper()
	var titles []string
	options.Pick = &Pick{
		Unfit: func(result wire.SearchResult) string {
			return unless(!strings.HasPrefix(result.Title, "hotel"), "not a file on this machine")
		},
		Chosen: func(results []wire.SearchResult) {
			for _, result := range results {
				titles = append(titles, "["+string(rune('0'+*result.CitationID))+"] "+result.Title)
			}
		},
	}
	if options.Target.Open == nil {
		options.Target = answersTwo().remote(t)
	}
	screen = start(t, 120, 40, options)
	screen.WaitText("type a question")
	screen.Type("taxi")
	screen.Press("enter")
	screen.WaitText("taxi 2")
	screen.WaitText("↵ choose")
	return screen, func() []string {
		screen.Model()
		return titles
	}
}

func TestAPassageIsPicked(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"j", "enter"}, {"j", "l", "enter"}} {
		screen, chosen := picks(t, Options{})
		screen.Press(keys...)
		if got := chosen(); !slices.Equal(got, []string{"[2] taxi 2"}) {
			t.Errorf("%q chose %q", keys, got)
		}
	}
}

// The marks of a pick are chosen in their order, and the collection stays as it is.
func TestMarkedPassagesArePicked(t *testing.T) {
	t.Parallel()
	options, store := withStore(t)
	older := state.Passage{SearchResult: wire.SearchResult{Ref: "old", Title: "Older"}}
	if _, err := store.Change(func(s *state.State) error { return s.Collect(older) }); err != nil {
		t.Fatal(err)
	}
	screen, chosen := picks(t, options)
	screen.Press("j", "tab")
	screen.WaitText("● 1 marked")
	screen.Press("k", "tab")
	screen.WaitText("● 2 marked")
	screen.Press("m")
	screen.WaitText("2  taxi 1")
	screen.Press("x")
	screen.Type("command json")
	screen.WaitText("unavailable: this collection is not stored")
	screen.Press("esc", "esc", "enter")
	if got := chosen(); !slices.Equal(got, []string{"[1] taxi 2", "[2] taxi 1"}) {
		t.Errorf("chose %q", got)
	}
	if got := store.State().Collection; len(got) != 1 || got[0].Ref != "old" {
		t.Errorf("the collection is %+v", got)
	}
}

func TestPickingIsLeftWithoutAChoice(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"q"}, {"ctrl+c"}, {"esc"}} {
		screen, chosen := picks(t, Options{})
		screen.Press(keys...)
		if got := chosen(); len(got) > 0 {
			t.Errorf("%q chose %q", keys, got)
		}
	}
}

// A passage that does not fit stays unchosen, and the explorer open.
func TestAnUnfitPassageIsNotPicked(t *testing.T) {
	t.Parallel()
	screen, chosen := picks(t, Options{})
	screen.Press("/", "ctrl+u")
	screen.Type("hotel")
	screen.Press("enter")
	screen.WaitText("hotel 2")
	screen.Press("enter")
	screen.WaitText("not a file on this machine: hotel 1")
	screen.Press("q")
	if got := chosen(); len(got) > 0 {
		t.Errorf("chose %q", got)
	}
}

// The key that picks cannot be taken away, and is none where nobody waits for a choice.
func TestTheKeyThatPicks(t *testing.T) {
	t.Parallel()
	keys, problems := keysFor(Options{Pick: &Pick{}, Keys: map[string][]string{"open": {"enter"}}})
	if b, _ := keys.find(InList, "enter"); b.Action != "choose" || len(problems) != 1 {
		t.Errorf("enter is %q, problems %q", b.Action, problems)
	}
	keys, problems = keysFor(Options{Pick: &Pick{}, Keys: map[string][]string{"choose": {"ctrl+x"}}})
	if b, _ := keys.find(InReader, "ctrl+x"); b.Action != "choose" {
		t.Errorf("ctrl+x is %q, problems %q", b.Action, problems)
	}
	keys, problems = keysFor(Options{Keys: map[string][]string{"choose": {"ctrl+x"}}})
	if b, _ := keys.find(InList, "enter"); b.Action != "open" || len(problems) > 0 {
		t.Errorf("enter is %q, problems %q", b.Action, problems)
	}
	if slices.ContainsFunc(keys.bindings, func(b Binding) bool { return b.Picks }) {
		t.Error("choosing is listed")
	}
}
