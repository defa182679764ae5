package documents

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"quarry/internal/testkit/postgrestest"
	"quarry/server/fault"
	"quarry/server/index"
)

// TestRefusals: what a follower could not index is listed until it changes, on both databases.
func TestRefusals(t *testing.T) {
	t.Run("file", func(t *testing.T) { testRefusals(t, Options{Dir: t.TempDir()}) })
	t.Run("server", func(t *testing.T) {
		options := Options{Database: postgrestest.Address(t, t.TempDir()), Tenant: "default"}
		testRefusals(t, options)
		store, err := Open(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		for range 2 { // removed, and created again
			if gone, err := store.Replaced(t.Context()); gone || err != nil {
				t.Errorf("replaced: %v, %v", gone, err)
			}
			if err := Drop(context.Background(), options.Database, options.Tenant); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Snapshot(t.Context()); !errors.Is(err, fault.ErrReplaced) {
				t.Errorf("a snapshot of what was removed: %v", err)
			}
			again, err := Open(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			if gone, err := store.Replaced(t.Context()); !gone || err != nil {
				t.Errorf("replaced: %v, %v", gone, err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = again
		}
	})
}

func testRefusals(t *testing.T, options Options) {
	t.Helper()
	ctx := t.Context()
	store, err := Open(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	put(t, store, page("a", "one"), page("b", "two"), page("c", "three"))
	later := time.Now().Add(time.Hour)
	advance := func(refused ...index.Unindexed) (position int64) {
		t.Helper()
		ok, err := store.Lease(ctx, "f", "me", later)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		shown, err := store.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		followers, err := shown.Followers(ctx, "f")
		if err != nil {
			t.Fatal(err)
		}
		changes, err := shown.Changes(ctx, followers[""], false, 10)
		shown.Close()
		if err == nil {
			ok, err = store.Advance(ctx, "f", "me", &changes, refused, []string{"n1"}, later)
		}
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return changes.Last
	}
	expect := func(position int64, refused []string, unindexed ...string) {
		t.Helper()
		shown, err := store.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		list, total, err := shown.Refused(ctx, "f", 10)
		shown.Close()
		var ids []string
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		if err != nil || total != len(refused) || !slices.Equal(ids, refused) {
			t.Errorf("refused %q of %d (%v), want %q", ids, total, err, refused)
		}
		if got, err := store.Unindexed(ctx, "f", position, 10); err != nil || !slices.Equal(got, unindexed) {
			t.Errorf("not indexed: %q, %v, want %q", got, err, unindexed)
		}
	}
	last := advance(index.Unindexed{ID: "b", Reason: "too long"}, index.Unindexed{ID: "c", Reason: "too wide"})
	expect(last, []string{"b", "c"}, "b", "c")
	put(t, store, page("b", "changed"), page("d", "four"))
	expect(last, []string{"b", "c"}, "b", "c", "b", "d")
	last = advance()
	expect(last, []string{"c"}, "c")
	if err := store.RetryRefused(ctx); err != nil {
		t.Fatal(err)
	}
	expect(last, []string{"c"}, "c", "c")
	advance(index.Unindexed{ID: "c", Reason: "too wide"})
	if _, err := store.Write(ctx, index.Batch{Delete: []string{"c"}}); err != nil {
		t.Fatal(err)
	}
	last = advance()
	expect(last, nil)
	followers := func(prefix string, want map[string]int64) {
		t.Helper()
		shown, err := store.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer shown.Close()
		if got, err := shown.Followers(ctx, prefix); err != nil || !maps.Equal(got, want) {
			t.Errorf("followers %v, %v; want %v", got, err, want)
		}
	}
	followers("f/", map[string]int64{"n1": last})
	if err := store.Forget(ctx, "f"); err != nil {
		t.Fatal(err)
	}
	followers("f", nil)
	if ok, err := store.Lease(ctx, "f", "other", later); !ok || err != nil {
		t.Errorf("the new holder has no lease: %v", err)
	}
	if ok, err := store.Lease(ctx, "f", "me", later); ok || err != nil {
		t.Errorf("the holder keeps its lease: %v", err)
	}
	followers("f", map[string]int64{"": 0})
}

// TestChangesFit: changes of documents with many passages are read in parts, and none is skipped.
func TestChangesFit(t *testing.T) {
	x := open(t, t.TempDir())
	defer func() { _ = x.Close() }()
	long := func(id string) index.Document {
		d := page(id, "walrus")
		d.Chunks = slices.Repeat(d.Chunks, ExportChunks*2/3)
		return d
	}
	put(t, x, page("gone", "walrus"), long("a"))
	put(t, x, long("b"))
	if _, err := x.Write(t.Context(), index.Batch{Delete: []string{"gone"}}); err != nil {
		t.Fatal(err)
	}
	shown, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	var seen []string
	for position, parts := int64(0), 0; position < shown.State.Generation; parts++ {
		changes, err := shown.Changes(t.Context(), position, false, 100)
		if err != nil || parts > 1 || changes.Last <= position {
			t.Fatalf("part %d ends at %d, %v", parts, changes.Last, err)
		}
		if changes.Left != 2-2*parts {
			t.Errorf("part %d: %d left", parts, changes.Left)
		}
		for _, put := range changes.Put {
			seen = append(seen, put.ID)
		}
		seen, position = append(seen, changes.Removed...), changes.Last
	}
	if !slices.Equal(seen, []string{"a", "b", "gone"}) {
		t.Errorf("changes %q", seen)
	}
}
