package documents

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/internal/testkit/postgrestest"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// TestReplacedWords: whatever happened to documents, a follower gets the words of exactly the version that it has, or
// none.
func TestReplacedWords(t *testing.T) {
	for name, options := range map[string]func(*testing.T) Options{
		"SQLite":     func(t *testing.T) Options { return Options{Dir: t.TempDir()} },
		"PostgreSQL": onPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			x, err := Open(t.Context(), options(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = x.Close() }()
			history := changeRandomly(t, x)
			shown, err := x.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer shown.Close()
			now := history[shown.State.Generation]
			for position, then := range history {
				want := map[string]segment.Delta{}
				for id, d := range then {
					if last, ok := now[id]; !ok || textOf(last) != textOf(d) {
						want[id] = segment.DeltaOf(d)
					}
				}
				changes, err := shown.Changes(t.Context(), position, true, 100)
				if err != nil {
					t.Fatal(err)
				}
				for id := range changes.Replaced {
					if _, ok := want[id]; !ok && then[id].ID != "" {
						want[id] = segment.DeltaOf(then[id]) // changed, and changed back
					}
				}
				if !reflect.DeepEqual(changes.Replaced, want) {
					t.Errorf("at %d: words of %q, want %q", position, slices.Sorted(maps.Keys(changes.Replaced)),
						slices.Sorted(maps.Keys(want)))
				}
				if part, err := shown.Changes(t.Context(), position, false, 100); err != nil || len(part.Replaced) > 0 ||
					slices.ContainsFunc(part.Put, func(p Put) bool { return p.AccessAlone }) {
					t.Errorf("at %d, which may have other documents: %v, %v", position, part, err)
				}
			}
		})
	}
}

func onPostgres(t *testing.T) Options {
	return Options{Database: postgrestest.Address(t, t.TempDir()), Tenant: "default"}
}

func textOf(d index.Document) string { return d.Title + "\n" + d.Chunks[0].Text }

// changeRandomly returns what was stored after each change.
func changeRandomly(t *testing.T, x *Store) map[int64]map[string]index.Document {
	random, now := rand.New(rand.NewPCG(33, 1)), map[string]index.Document{}
	history := map[int64]map[string]index.Document{0: {}}
	for range 60 {
		id := string(rune('a' + random.IntN(4)))
		d := page(id, strings.Repeat("walrus ", random.IntN(3))+fmt.Sprint("otter", random.IntN(3)))
		d.Title = fmt.Sprint("title ", random.IntN(2))
		var err error
		switch random.IntN(4) {
		case 0:
			_, err = x.Write(t.Context(), index.Batch{Delete: []string{id}})
			delete(now, id)
		case 1:
			access := []string{fmt.Sprint("group:", random.IntN(9))}
			_, err = x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: id, Access: access}})
		default:
			put(t, x, d)
			now[id] = d
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := x.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		history[m.Generation] = maps.Clone(now)
	}
	return history
}

// TestReplacedBounds: the words of few changes are kept, and none of a long document.
func TestReplacedBounds(t *testing.T) {
	x := open(t, t.TempDir())
	defer func() { _ = x.Close() }()
	long := page("long", "")
	for n := range 20_000 {
		long.Chunks[0].Text += fmt.Sprintf("%x ", n*n*n)
	}
	for range 2 {
		long.Chunks[0].Text += " again"
		put(t, x, long, page("short", long.Chunks[0].Text[len(long.Chunks[0].Text)-9:]))
	}
	count := func(want int) {
		t.Helper()
		n := 0
		if err := x.DB.Pool().QueryRowContext(t.Context(), "SELECT count(*) FROM replaced").Scan(&n); err != nil || n != want {
			t.Errorf("%d rows, want %d (%v)", n, want, err)
		}
	}
	count(1)
	var many []index.Document
	for n := range replacedKept {
		many = append(many, page(fmt.Sprint("many", n), "one"))
	}
	put(t, x, many...)
	put(t, x, page("short", "two"))
	count(1)
	put(t, x, page("more", "one"), page("most", "one"))
	for i := range many {
		many[i] = page(many[i].ID, "two")
	}
	for some := range slices.Chunk(many, replacedAtOnce) {
		put(t, x, some...)
	}
	count(replacedKept)
	for i := range many {
		many[i] = page(many[i].ID, "three")
	}
	put(t, x, many...)
	put(t, x, page("short", "three"))
	count(1)
}
