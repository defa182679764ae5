package explorer

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/screentest"
	"quarry/ui/state"
)

// answersTwo is a server that finds two passages, named after the query.
func answersTwo() *script {
	return &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		var results []map[string]any
		for i := range 2 {
			result := sixFields(i+1, fmt.Sprintf("%s %d", request.Query, i+1), "The rule of "+request.Query)
			result["link"] = fmt.Sprintf("https://wiki.acme.com/%s/%d", request.Query, i+1)
			results = append(results, result)
		}
		answer200(w, map[string]any{"results": results})
	}}
}

// collect searches twice and marks one passage of each search.
func collect(t *testing.T, options Options) *screentest.Screen {
	t.Helper()
	if options.Target.Open == nil {
		options.Target = answersTwo().remote(t)
	}
	screen := start(t, 120, 40, options)
	screen.WaitText("type a question")
	screen.Type("taxi")
	screen.Press("enter")
	screen.WaitText("taxi 1")
	screen.Press("tab")
	screen.WaitText("● 1 marked")
	screen.Press("/", "ctrl+u")
	screen.Type("hotel")
	screen.Press("enter")
	screen.WaitText("hotel 2")
	screen.Press("j", "tab")
	screen.WaitText("● 2 marked")
	return screen
}

// withStore is a target whose collection a test can look at.
func withStore(t *testing.T) (Options, *state.Store) {
	t.Helper()
	target := answersTwo().remote(t)
	target.State = state.InMemory(0)
	return Options{Target: target}, target.State
}

// The keys that lead on are in sight on the narrowest screen, too.
func TestMarksLeaveTheKeys(t *testing.T) {
	t.Parallel()
	screen := collect(t, Options{})
	screen.Resize(40, 12)
	screen.WaitText(" / edit query   ↵ open   F1 keys    ● 2")
}

// Passages are marked across searches, and shown with what they are and the query that found them.
func TestPassagesAreCollected(t *testing.T) {
	t.Parallel()
	options, store := withStore(t)
	screen := collect(t, options)
	screen.Press("m")
	screen.WaitText("Collection")
	for _, text := range []string{"2 passages", "1  taxi 1", "2  hotel 2", "Confluence · “taxi”", "Confluence · “hotel”", "8 mo"} {
		screen.WaitText(text)
	}
	screen.Press("n")
	screen.WaitText("Note")
	screen.Type("ask finance")
	screen.Press("enter")
	screen.WaitText("“taxi” · ask finance")
	screen.Press("J")
	screen.WaitText("2  taxi 1")
	screen.Press("shift+up")
	screen.WaitText("1  taxi 1")
	screen.Press("d")
	screen.WaitText("1  hotel 2")
	screen.WaitText("● 1 marked")
	screen.Press("esc")
	screen.WaitGone("Collection")
	screen.Press("k", "tab", "m")
	screen.WaitText("2  hotel 1")
	screen.Press("ctrl+c")
	if err := screen.WaitEnd(); err != nil {
		t.Fatal(err)
	}
	if got := store.State().Collection; len(got) != 2 || got[0].Title != "hotel 2" || got[1].Title != "hotel 1" {
		t.Fatalf("%+v", got)
	}
}

// A mark is seen in the list, and the same key removes it, in the reader too.
func TestMarksAreShownInTheList(t *testing.T) {
	t.Parallel()
	screen := collect(t, Options{})
	screen.Wait("the mark before the second row", func(string) bool {
		for line := range strings.Lines(leftPane(screen)) {
			if strings.HasPrefix(strings.TrimSpace(line), "●") && strings.Contains(line, "hotel 2") {
				return true
			}
		}
		return false
	})
	screen.Press("j", "enter", "tab")
	screen.WaitText("● 1 marked")
	screen.Press("m", "d", "esc")
	screen.WaitGone("marked")
	screen.Press("m")
	screen.WaitText("no passages are marked; tab in the results marks one")
}

// A collected passage of an earlier search is read with the collection as the list.
func TestCollectedPassagesAreOpened(t *testing.T) {
	t.Parallel()
	screen := collect(t, Options{})
	screen.Press("m", "enter")
	screen.WaitText("2 passages from the collection")
	screen.WaitText("The rule of taxi")
	screen.Press("w")
	screen.WaitText("these documents come from the collection; r runs a search")
	screen.Press("r")
	screen.WaitText("hotel 1")
	screen.Press("m", "j", "enter")
	screen.WaitText("The rule of hotel")
	screen.Press("ctrl+c")
	if err := screen.WaitEnd(); err != nil {
		t.Fatal(err)
	}
	if m := screen.Model().(timeless); m.search.shown.from == "the collection" || m.list.SelectedIndex() != 1 {
		t.Fatal("a passage among the results is not selected there")
	}
}

// desk is a clipboard and a folder.
type desk struct {
	mu      sync.Mutex
	copied  string
	files   map[string]string
	failing error
}

func (d *desk) capabilities() Capabilities {
	return Capabilities{
		Copy: func(text string) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.copied = text
			return nil
		},
		Save: func(path string, content []byte, replace bool) (string, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if _, exists := d.files[path]; exists && !replace {
				return "", fmt.Errorf("open %s: %w", path, fs.ErrExist)
			}
			d.files[path] = string(content)
			return "/home/jo/" + path, d.failing
		},
	}
}

func TestCollectionsAreExported(t *testing.T) {
	t.Parallel()
	d := &desk{files: map[string]string{"collection.json": "mine"}}
	options, store := withStore(t)
	options.Target.Command, options.Caps = "quarry collection --profile acme", d.capabilities()
	screen := collect(t, options)
	screen.Press("m", "x")
	screen.WaitText("Export 2 passages")
	screen.WaitText("quarry collection --profile acme --format csv")
	screen.Press("enter")
	screen.WaitText("2 passages copied to the clipboard")
	want, _ := state.Export(store.State().Collection, state.Markdown)
	if d.copied != want {
		t.Errorf("copied %q", d.copied)
	}

	screen.Press("x")
	screen.Type("command csv")
	screen.Press("enter")
	screen.WaitText("command copied to the clipboard")
	if d.copied != "quarry collection --profile acme --format csv" {
		t.Errorf("copied %q", d.copied)
	}

	screen.Press("x")
	screen.Type("file json")
	screen.Press("enter")
	screen.WaitText("Save the collection as")
	screen.Press("enter")
	screen.WaitText("Replace the existing file?")
	if d.files["collection.json"] != "mine" {
		t.Fatal("a file was overwritten without a question")
	}
	screen.Press("esc")
	screen.WaitGone("Replace the existing file?")
	screen.Press("x")
	screen.Type("file json")
	screen.Press("enter", "enter")
	screen.WaitText("Replace the existing file?")
	screen.Press("enter")
	screen.WaitText("saved in /home/jo/collection.json")
	want, _ = state.Export(store.State().Collection, state.JSON)
	if d.files["collection.json"] != want {
		t.Errorf("saved %q", d.files["collection.json"])
	}

	d.mu.Lock()
	d.failing = errors.New("disk full")
	d.mu.Unlock()
	screen.Press("x")
	screen.Type("file csv")
	screen.Press("enter", "enter")
	screen.WaitText("could not save: disk full")
}

// What is too long for the terminal's clipboard is not sent there: a file is offered.
func TestLongExportsAreSaved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		native func(string) error
		says   string
		saved  bool
	}{
		{"no clipboard", nil, "12 passages not copied: 96 kB is too long for the terminal's clipboard", true},
		{"one that fails", func(string) error { return errors.New("no display") }, "12 passages not copied", true},
		{"one that works", func(string) error { return nil }, "12 passages copied to the clipboard", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			options, store := withStore(t)
			d := &desk{files: map[string]string{}}
			options.Caps = d.capabilities()
			options.Caps.Copy = test.native
			if _, err := store.Change(func(s *state.State) error {
				for i := range 12 {
					if err := s.Collect(state.Passage{SearchResult: wire.SearchResult{
						Ref: fmt.Sprint(i, "#0"), Title: "Long", Content: strings.Repeat("x", 8000)}}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			screen := start(t, 120, 40, options)
			screen.WaitText("● 12 marked")
			screen.Press("down", "m", "x", "enter")
			screen.WaitText(test.says)
			if test.saved {
				screen.WaitText("Save the collection as")
				screen.Press("enter")
				screen.WaitText("saved in /home/jo/collection.md")
			}
			if len(screen.Clipboard()) > 0 {
				t.Error("it was sent to the terminal")
			}
		})
	}
}

// Over SSH nothing is written, and what is not stored has no command.
func TestExportsThatAreImpossibleSayWhy(t *testing.T) {
	t.Parallel()
	screen := collect(t, Options{})
	screen.Press("m", "x")
	for filter, reason := range map[string]string{"file json": "files cannot be written over SSH",
		"command json": "this collection is not stored"} {
		screen.Type(filter)
		screen.WaitText("unavailable: " + reason)
		screen.Press("enter", "ctrl+u")
	}
}

// A collection that is full says so and stays as it is.
func TestAFullCollectionRefuses(t *testing.T) {
	t.Parallel()
	target := answersTwo().remote(t)
	target.State = state.InMemory(400)
	screen := start(t, 120, 40, Options{Target: target})
	screen.WaitText("type a question")
	screen.Type("taxi")
	screen.Press("enter")
	screen.WaitText("taxi 1")
	screen.Press("tab")
	screen.WaitText("● 1 marked")
	screen.Press("tab")
	screen.WaitText("No room left: remove saved searches or collected passages first")
}

// A collection says which of its passages changed or are gone, and exports them with a warning.
func TestACollectionSaysWhatChanged(t *testing.T) {
	t.Parallel()
	target := sampleTarget(t)
	target.State = state.InMemory(0)
	if _, err := target.State.Change(func(s *state.State) error {
		s.Collection = []state.Passage{
			{SearchResult: wire.SearchResult{Ref: "linear:HW-119#7", DocumentID: "linear:HW-119", Title: "Other", Content: "Former text."}},
			{SearchResult: wire.SearchResult{Ref: "nowhere#0", DocumentID: "nowhere", Title: "Lost", Content: "Former text."}},
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	screen := start(t, 120, 40, Options{Target: target, Query: "standby drain HW-119"})
	screen.WaitText("Lantern 3")
	screen.WaitText("● 2 marked")
	screen.Press("enter", "tab")
	screen.WaitText("● 3 marked")
	screen.Press("m")
	screen.WaitText("3 passages · 2 changed or gone")
	screen.WaitText("changed since it was marked")
	screen.WaitText("gone since it was marked")
	if text := screen.Text(); strings.Count(text, "since it was marked") != 2 {
		t.Error(text)
	}
	exported, err := state.Export(target.State.State().Collection, state.Markdown)
	if err != nil || strings.Count(exported, "Warning: this passage is") != 2 {
		t.Errorf("%v\n%s", err, exported)
	}
}
