package segments

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"quarry/server/fault"
	"quarry/server/index"
)

// What was added is dated once: a new version of a document does not make it new, removing it and adding it again does.
func TestAddedSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	x, err := Open(t.Context(), Options{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	write := func(day int, batch index.Batch) {
		t.Helper()
		now = time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC)
		if _, err := x.Write(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
	}
	document := func(id, text string) index.Document {
		return index.Document{ID: id, Source: "file", Access: []string{"PUBLIC"}, Chunks: []index.Chunk{{Text: text}}}
	}
	write(1, index.Batch{Upsert: []index.Document{document("a", "one"), document("b", "two")}})
	write(3, index.Batch{Upsert: []index.Document{document("c", "three"), document("a", "one changed")}})
	write(5, index.Batch{Delete: []string{"b"}})
	write(6, index.Batch{Upsert: []index.Document{document("b", "two")}})
	if _, err := x.UpdateAccess(context.Background(), []index.AccessPatch{{ID: "c", Access: []string{"PUBLIC", "group:x"}}}); err != nil {
		t.Fatal(err)
	}
	s := snapshotOf(t, x)
	for day, want := range map[int][]string{0: {"a", "b", "c"}, 1: {"b", "c"}, 2: {"b", "c"}, 3: {"b"}, 5: {"b"}, 6: nil, 9: nil} {
		filter := index.Filter{Access: index.Access{All: true}, AddedSince: time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC)}
		result, err := s.Search(context.Background(), index.Query{Filter: filter, Count: true, List: &index.List{Documents: 9, Browse: true}})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, hit := range result.Hits {
			ids = append(ids, hit.DocumentID)
		}
		counts, err := result.Matched.Count(context.Background())
		facets, facetsErr := s.Facets(context.Background(), filter)
		if slices.Sort(ids); !slices.Equal(ids, want) || err != nil || counts.Documents != len(want) || facetsErr != nil ||
			facets.Documents != len(want) {
			t.Errorf("after day %d: %v, counted %d and %d, want %v", day, ids, counts.Documents, facets.Documents, want)
		}
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	x, err := Open(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	batch := index.Batch{}
	for id, text := range map[string]string{"a": "the brass lantern of the boathouse", "b": "a brass lantern", "c": "brass boathouse plans",
		"d": "brass", "hidden": "plans of the lantern"} {
		access := []string{"PUBLIC"}
		if id == "hidden" {
			access = []string{"group:few"}
		}
		batch.Upsert = append(batch.Upsert, index.Document{ID: id, Access: access, Chunks: []index.Chunk{{Text: text}}})
	}
	if _, err := x.Write(context.Background(), batch); err != nil {
		t.Fatal(err)
	}
	s, public := snapshotOf(t, x), index.Access{Terms: []string{"PUBLIC"}}
	for id, want := range map[string][]string{"a": {"boathouse", "lantern", "brass"}, "c": {"boathouse", "brass"}, "d": {"brass"}} {
		found, err := s.Like(context.Background(), id, 0, public)
		if err != nil || !slices.Equal(found.Words, want) {
			t.Errorf("%s: %v (%v), want %v", id, found.Words, err, want)
		}
	}
	for id, chunk := range map[string]int{"hidden": 0, "nowhere": 0, "a": 1, "b": -1} {
		if _, err := s.Like(context.Background(), id, chunk, public); !errors.Is(err, fault.ErrNotFound) {
			t.Errorf("%s#%d: %v", id, chunk, err)
		}
	}
}
