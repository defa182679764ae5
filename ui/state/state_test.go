package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/client/wire"
)

var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func change(t *testing.T, s *Store, f func(*State) error) State {
	t.Helper()
	state, err := s.Change(f)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func searched(query string) func(*State) error {
	return func(s *State) error { s.Searched(Search{Query: query, At: start}); return nil }
}

func queries(s State) (all []string) {
	for _, search := range s.Recent {
		all = append(all, search.Query)
	}
	return all
}

func TestStateSurvives(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := InFolder(folder, "acme")
	change(t, first, searched("roll back"))
	change(t, first, func(s *State) error {
		return s.Save(Saved{Name: "Leave", Query: "parental leave", Seen: []string{"a#1"}})
	})
	leave := Passage{SearchResult: wire.SearchResult{Ref: "a#1", Title: "Leave", Content: "18 weeks"}}
	change(t, first, func(s *State) error { return s.Collect(leave) })
	change(t, first, func(s *State) error { s.Screen.Theme = "light"; return nil })
	if err := first.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := InFolder(folder, "acme").Load()
	if err != nil || !slices.Equal(queries(got), []string{"roll back"}) || got.Collection[0].Content != "18 weeks" || got.Screen.Theme != "light" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if saved, ok := got.SavedNamed("leave"); !ok || saved.Query != "parental leave" {
		t.Fatalf("saved searches: %+v", got.Saved)
	}
	if other, err := InFolder(folder, "acme2").Load(); err != nil || len(other.Recent) > 0 {
		t.Fatalf("another target has %+v, %v", other, err)
	}
	info, err := os.Stat(first.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

// A file of the first version, in which a passage was a type of its own, is read whole and written the same.
func TestStateOfFirstVersion(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/version-1.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(file)
	if err != nil || len(got.Collection) != 2 {
		t.Fatalf("%v: %+v", err, got)
	}
	first, linked := got.Collection[0].Result(1), got.Collection[1].Result(2)
	if first.Ref != "w1#2" || first.ChunkInd != 2 || first.ChunkStart != 1 || first.ChunkEnd != 3 || first.Origin != "acme" ||
		*first.Link != "https://wiki.acme.com/1" || *first.UpdatedAt != "2026-03-12T09:00:00Z" || len(first.Authors) != 2 ||
		got.Collection[0].Note != "ask finance" || got.Collection[0].Query != "taxi" || !got.Collection[0].Marked.Equal(got.Active) {
		t.Errorf("%+v", got.Collection[0])
	}
	if linked.Ref != "" || *linked.Link != "https://a.example/x" || got.Collection[1].Ref != "https://a.example/x" {
		t.Errorf("%+v", got.Collection[1])
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != strings.TrimSpace(string(file)) {
		t.Errorf("%v: written as\n%s", err, again)
	}
}

// Several explorers write at the same time: what each was told to keep is kept.
func TestWritersAtTheSameTime(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var all sync.WaitGroup
	for writer := range 4 {
		all.Go(func() {
			s := InFolder(folder, "acme")
			if _, err := s.Load(); err != nil {
				t.Error(err)
			}
			for i := range 10 {
				if _, err := s.Change(searched(fmt.Sprintf("%d-%d", writer, i))); err != nil {
					t.Error(err)
				}
				if err := s.Save(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, err := InFolder(folder, "acme").Load()
	if err != nil || len(got.Recent) != 40 {
		t.Fatalf("%d searches, %v", len(got.Recent), err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, wantError, wantAside string }{
		{"damaged", `{"recent":[`, "moved to", `{"recent":[`},
		{"newer", `{"version":9}`, "newer version", ""},
		{"too large", strings.Repeat(" ", maxFile+1), "larger than", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := InFolder(t.TempDir(), "acme")
			if err := os.WriteFile(s.path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), test.wantError) {
				t.Fatalf("error %v, want %q", err, test.wantError)
			}
			aside, _ := os.ReadFile(s.path + ".damaged")
			if string(aside) != test.wantAside {
				t.Fatalf("put aside: %q", aside)
			}
			if test.wantAside != "" {
				return
			}
			change(t, s, searched("kept in memory"))
			if err := s.Save(t.Context()); err == nil {
				t.Fatal("the file was overwritten")
			}
		})
	}
}

func TestSearchesAreBounded(t *testing.T) {
	t.Parallel()
	s := InMemory(4000)
	for i := range 100 {
		change(t, s, searched(fmt.Sprintf("query %d", i)))
	}
	if got := s.State(); got.size() > 4000 || got.Recent[0].Query != "query 99" {
		t.Fatalf("%d bytes, %v", got.size(), queries(got))
	}
	long := Passage{SearchResult: wire.SearchResult{Ref: "a", Content: strings.Repeat("x", 5000)}}
	_, err := s.Change(func(s *State) error { return s.Collect(long) })
	if !errors.Is(err, ErrFull) || len(s.State().Collection) > 0 || len(s.State().Recent) == 0 {
		t.Fatalf("error %v, %+v", err, s.State())
	}
}

func TestCollectionOrder(t *testing.T) {
	t.Parallel()
	var s State
	for _, ref := range []string{"a", "b", "c", "b"} {
		if err := s.Collect(Passage{SearchResult: wire.SearchResult{Ref: ref}}); err != nil {
			t.Fatal(err)
		}
	}
	order := func() (refs string) {
		for _, p := range s.Collection {
			refs += p.Ref
		}
		return refs
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { s.Move("c", -1) }, "acb"},
		{func() { s.Move("a", 9) }, "cba"},
		{func() { s.Move("x", 1) }, "cba"},
		{func() { s.Drop("b") }, "ca"},
		{func() { s.Annotate("a", "why") }, "ca"},
	} {
		if step.do(); order() != step.want {
			t.Fatalf("order %q, want %q", order(), step.want)
		}
	}
	if s.Collection[1].Note != "why" {
		t.Fatalf("note %q", s.Collection[1].Note)
	}
}

func TestNewSinceASavedSearchWasOpened(t *testing.T) {
	t.Parallel()
	var s State
	if err := s.Save(Saved{Name: "leave", Query: "leave", Seen: []string{"a", "b"}}); err != nil {
		t.Fatal(err)
	}
	found := []string{"c", "a", "d"}
	if got := s.Saved[0].New(found); !slices.Equal(got, []string{"c", "d"}) {
		t.Fatalf("new: %v", got)
	}
	s.MarkSeen("LEAVE", found, start)
	if got := s.Saved[0]; len(got.New(found)) > 0 || !slices.Equal(got.Seen, []string{"c", "a", "d", "b"}) || got.Opened != start {
		t.Fatalf("%+v", got)
	}
	many := make([]string, MaxSeen)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	s.MarkSeen("leave", many, start)
	if got := s.Saved[0].Seen; len(got) != MaxSeen {
		t.Fatalf("%d references are remembered", len(got))
	}
}

func TestVisits(t *testing.T) {
	t.Parallel()
	var s State
	s.Visit(start)
	if !s.Since.IsZero() {
		t.Fatalf("a first visit is after %v", s.Since)
	}
	s.Searched(Search{Query: "x", At: start.Add(10 * time.Minute)})
	s.Visit(start.Add(20 * time.Minute)) // the same visit
	s.Visit(start.Add(26 * time.Hour))
	if want := start.Add(20 * time.Minute); s.Since != want {
		t.Fatalf("since %v, want %v", s.Since, want)
	}
}

// Changes leave states that were handed out before as they were.
func TestStatesAreValues(t *testing.T) {
	t.Parallel()
	s := InMemory(0)
	change(t, s, searched("one"))
	change(t, s, func(s *State) error { return s.Save(Saved{Name: "n", Seen: []string{"a"}}) })
	change(t, s, func(s *State) error { return s.Collect(Passage{SearchResult: wire.SearchResult{Ref: "r"}}) })
	before := s.State()
	change(t, s, searched("two"))
	change(t, s, func(s *State) error {
		s.MarkSeen("n", []string{"b"}, start)
		s.Annotate("r", "note")
		s.Forget("one")
		return nil
	})
	if before.Recent[0].Query != "one" || before.Saved[0].Seen[0] != "a" || before.Collection[0].Note != "" {
		t.Fatalf("the earlier state became %+v", before)
	}
}

func TestPassageOf(t *testing.T) {
	t.Parallel()
	link := "https://wiki.example/x"
	got := PassageOf(wire.SearchResult{Title: "X", Link: &link, Content: strings.Repeat("é", maxContent)}, "q", start)
	if got.Ref != link || len(got.Content) > maxContent || got.Query != "q" {
		t.Fatalf("%+v", got)
	}
}

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":1,"recent":[{"query":"a\u001b[31m\nb","at":"2026-03-02T09:00:00Z"}],"saved":[{"name":"n","seen":["x"]}]}`))
	f.Add([]byte(`{"collection":[{"ref":"a#1","title":"\u202e","content":"x\u0007y","note":"é","authors":["\u009d"]}]}`))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		s, err := decode(encoded)
		if err != nil {
			return
		}
		for _, search := range s.Recent {
			if strings.ContainsAny(search.Query, "\x1b\n\u202e") {
				t.Fatalf("query %q", search.Query)
			}
		}
		for _, p := range s.Collection {
			if strings.ContainsAny(p.Title+p.Note+p.Content, "\x1b\x07\u202e\u009d") {
				t.Fatalf("passage %+v", p)
			}
		}
		store := InFolder(t.TempDir(), "fuzz")
		if err := store.write(s); err != nil {
			t.Fatal(err)
		}
		if again, err := store.read(); err != nil || len(again.Recent) != len(s.Recent) {
			t.Fatalf("written and read: %+v, %v", again, err)
		}
		if _, err := os.Stat(filepath.Dir(store.path)); err != nil {
			t.Fatal(err)
		}
	})
}
