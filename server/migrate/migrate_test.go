package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/segments"
)

func open(t *testing.T) *segments.Index {
	t.Helper()
	idx, err := segments.Open(t.Context(), segments.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = idx.Close() })
	return idx
}

func write(t *testing.T, idx index.Index, batch index.Batch) {
	t.Helper()
	if _, err := idx.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// filled returns an index with documents of a random world, some of them hidden, and cursors.
func filled(t *testing.T, documents int) (*segments.Index, *indextest.World) {
	t.Helper()
	idx, w := open(t), indextest.NewWorld(7)
	batch := index.Batch{Cursors: map[string]string{"ingest/root//notes": "{}", "ingest/refill": "due"}}
	for n := range documents {
		batch.Upsert = append(batch.Upsert, w.Document(n))
	}
	write(t, idx, batch)
	return idx, w
}

// all returns everything that an index stores, by id.
func all(t *testing.T, idx Source) (documents map[string]index.Document, cursors map[string]string) {
	t.Helper()
	documents = map[string]index.Document{}
	for after := ""; ; {
		found, err := idx.Export(t.Context(), after, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			break
		}
		for _, d := range found {
			if d.ID <= after {
				t.Fatalf("%q follows %q", d.ID, after)
			}
			after, documents[d.ID] = d.ID, d
		}
	}
	cursors, err := idx.Cursors(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	delete(cursors, stateKey)
	return documents, cursors
}

func checkCopy(t *testing.T, from, to Source) {
	t.Helper()
	documents, cursors := all(t, from)
	copied, copiedCursors := all(t, to)
	if len(documents) == 0 || fmt.Sprintf("%+v", documents) != fmt.Sprintf("%+v", copied) { // empty lists and missing ones are equal
		t.Errorf("copied %d of %d documents, or others", len(copied), len(documents))
	}
	if !maps.Equal(cursors, copiedCursors) {
		t.Errorf("cursors %v, want %v", copiedCursors, cursors)
	}
}

// batchSize is the number of documents of a batch in these tests.
const batchSize = 40

func run(t *testing.T, from Source, to index.Index, options Options) (Result, error) {
	t.Helper()
	options.batch = batchSize
	return Documents(t.Context(), from, to, options, func(done, total int) {
		if done > total || total == 0 {
			t.Errorf("%d of %d", done, total)
		}
	})
}

func must(t *testing.T, from Source, to index.Index) Result {
	t.Helper()
	result, err := run(t, from, to, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestDocuments(t *testing.T) {
	from, w := filled(t, 3*batchSize/2)
	to := open(t)
	dry, err := run(t, from, to, Options{DryRun: true})
	if documents, cursors := all(t, to); err != nil || len(documents)+len(cursors) > 0 || dry.Written.Added != 3*batchSize/2 {
		t.Fatalf("a dry run stored %d documents and %v: %+v (%v)", len(documents), cursors, dry, err)
	}
	result := must(t, from, to)
	checkCopy(t, from, to)
	if want := (index.Written{Added: 3 * batchSize / 2}); result.Written != want || result.Documents != want.Added ||
		result.Resumed || result.Passes != 2 {
		t.Errorf("%+v", result)
	}
	if found := result.Compared; found.Queries < maxSamples/2 || found.SameFirst != found.Queries || found.Source != found.Target ||
		found.Source == 0 || found.SharedResults != 1 {
		t.Errorf("the same engine finds something else: %+v", found)
	}

	// The library changed since: documents at the beginning, in the middle and at the end.
	changed := w.Document(2)
	changed.Title = "another title"
	write(t, from, index.Batch{Upsert: []index.Document{changed, {ID: "zzz", Source: "file"}}, Delete: []string{"doc:0000", "doc:0050", "doc:0059"},
		Cursors: map[string]string{"ingest/refill": ""}})
	result = must(t, from, to)
	checkCopy(t, from, to)
	if want := (index.Written{Added: 1, Updated: 1, Removed: 3}); result.Written != want {
		t.Errorf("%+v, want %+v", result.Written, want)
	}
	if again := must(t, from, to); again.Written != (index.Written{}) || again.Passes != 1 {
		t.Errorf("a copy of what did not change: %+v", again)
	}
	write(t, from, index.Batch{Delete: []string{"zzz", "doc:0058"}})
	must(t, from, to)
	checkCopy(t, from, to)
}

// TestSharedDocuments copies to documents that several processes share, and back.
func TestSharedDocuments(t *testing.T) {
	from, _ := filled(t, 3*batchSize/2)
	dir := t.TempDir()
	store, err := documents.Open(t.Context(), documents.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	to := segments.NewLocal(t.Context(), store, dir, nil)
	defer to.Close()
	if found := must(t, from, to).Compared; found.SameFirst != found.Queries || found.Queries == 0 {
		t.Errorf("the same ranking finds something else: %+v", found)
	}
	checkCopy(t, from, to)
	back := open(t)
	must(t, to, back)
	checkCopy(t, from, back)
}

// hooked is a target whose writes can fail or be watched.
type hooked struct {
	*segments.Index
	before func(write int) error
	writes int
}

func (h *hooked) Write(ctx context.Context, batch index.Batch) (index.Written, error) {
	h.writes++
	if err := h.before(h.writes); err != nil {
		return index.Written{}, err
	}
	return h.Index.Write(ctx, batch)
}

// TestInterrupted stops a copy at each write in turn and runs it again.
func TestInterrupted(t *testing.T) {
	for stopAt := 1; ; stopAt++ {
		from, short := open(t), index.Batch{Cursors: map[string]string{"ingest/refill": "due"}}
		for n := range 3 * batchSize {
			short.Upsert = append(short.Upsert, index.Document{ID: fmt.Sprintf("doc:%04d", n), Source: "file"})
		}
		write(t, from, short)
		to := open(t)
		stopped := errors.New("stopped")
		_, err := run(t, from, &hooked{Index: to, before: func(write int) error {
			if write == stopAt {
				return stopped
			}
			return nil
		}}, Options{})
		if err == nil {
			if stopAt < 9 {
				t.Errorf("only %d writes", stopAt)
			}
			return
		}
		if !errors.Is(err, stopped) {
			t.Fatal(err)
		}
		before, _ := all(t, to)
		write(t, from, index.Batch{Delete: []string{"doc:0001", "doc:0119"}, Upsert: []index.Document{{ID: "doc:0000x", Source: "web"}}})
		result := must(t, from, to)
		checkCopy(t, from, to)
		if missing := 3*batchSize - len(before); result.Written.Added < missing-1 || result.Written.Added > missing+1 {
			t.Errorf("stopped at write %d: added %d documents to %d", stopAt, result.Written.Added, len(before))
		}
	}
}

// TestChangesMeanwhile changes the library while it is copied.
func TestChangesMeanwhile(t *testing.T) {
	from, _ := filled(t, 2*batchSize)
	to := &hooked{Index: open(t)}
	to.before = func(n int) error {
		if n < 4 {
			write(t, from, index.Batch{Upsert: []index.Document{{ID: fmt.Sprintf("a%d", n), Source: "file"}}, Delete: []string{fmt.Sprintf("doc:%04d", n)}})
		}
		return nil
	}
	must(t, from, to)
	checkCopy(t, from, to.Index)

	to.before = func(n int) error {
		write(t, from, index.Batch{Upsert: []index.Document{{ID: "always", Source: "file", Title: fmt.Sprint(n)}}})
		return nil
	}
	if _, err := run(t, from, to, Options{}); !errors.Is(err, fault.ErrChanging) {
		t.Errorf("a library that always changes: %v", err)
	}
	to.before = func(int) error { return nil }
	must(t, from, to)
	checkCopy(t, from, to.Index)
}

func TestTargetInUse(t *testing.T) {
	from, w := filled(t, 3)
	to := open(t)
	write(t, to, index.Batch{Upsert: []index.Document{w.Document(9)}})
	for _, options := range []Options{{}, {DryRun: true}} {
		if _, err := run(t, from, to, options); !errors.Is(err, fault.ErrInUse) {
			t.Errorf("a target with documents of its own: %v", err)
		}
	}
	to = open(t)
	must(t, from, to)
	write(t, to, index.Batch{Upsert: []index.Document{w.Document(9)}})
	if _, err := run(t, from, to, Options{}); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("a target that was changed since: %v", err)
	}
	if documents, _ := all(t, to); len(documents) != 4 {
		t.Errorf("the refused target has %d documents", len(documents))
	}
}

// forgetful is a target that finds nothing.
type forgetful struct{ *segments.Index }

type forgetfulSnapshot struct{ index.Snapshot }

func (f forgetful) Snapshot(ctx context.Context) (index.Snapshot, error) {
	snapshot, err := f.Index.Snapshot(ctx)
	return forgetfulSnapshot{snapshot}, err
}

func (forgetfulSnapshot) Search(context.Context, index.Query) (index.Result, error) {
	return index.Result{}, nil
}

func TestTargetThatFindsNothing(t *testing.T) {
	from, _ := filled(t, 40)
	to := forgetful{open(t)}
	result, err := run(t, from, to, Options{})
	if !errors.Is(err, fault.ErrDiffers) || result.Compared.Source == 0 || result.Compared.Target != 0 {
		t.Errorf("%v: %+v", err, result.Compared)
	}
	if state, err := to.Cursors(t.Context(), stateKey); err != nil || state[stateKey] == "" {
		t.Errorf("the state of the copy %v (%v)", state, err)
	}
	must(t, from, to.Index) // it continues where it was refused
}

func TestEmbedded(t *testing.T) {
	from, _ := filled(t, 5)
	to := open(t)
	model := errors.New("no model")
	embed := func(context.Context, index.Index) error { return model }
	if _, err := run(t, from, to, Options{Embed: embed}); !errors.Is(err, model) {
		t.Errorf("%v", err)
	}
	model = nil
	if _, err := run(t, from, to, Options{Embed: embed}); err != nil {
		t.Error(err)
	}
}
