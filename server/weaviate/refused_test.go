package weaviate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"quarry/server/fault"
	"quarry/server/index"
)

// stats returns what the library says of itself.
func stats(t *testing.T, x *Index) index.Stats {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// put writes documents and waits until all that can be indexed is.
func put(t *testing.T, x *Index, documents ...index.Document) {
	t.Helper()
	if _, err := x.Write(t.Context(), index.Batch{Upsert: documents}); err != nil {
		t.Fatal(err)
	}
	if err := x.Settle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// TestRefusedDocument: a document that Weaviate does not take is listed and found, those behind it are indexed, and it is sent
// again when it changes or by a full check.
func TestRefusedDocument(t *testing.T) {
	for _, failing := range []bool{false, true} {
		f := &faulty{refuses: "bad", failing: failing}
		x, err := openAt(t, f.start(t))
		if err != nil {
			t.Fatal(err)
		}
		set := func(refuses string) {
			f.mutex.Lock()
			defer f.mutex.Unlock()
			f.refuses = refuses
		}
		stored := func() []string {
			f.mutex.Lock()
			defer f.mutex.Unlock()
			var ids []string
			for id := range f.documents {
				ids = append(ids, id)
			}
			return slices.Sorted(slices.Values(ids))
		}
		put(t, x, document("a", "PUBLIC"), document("bad", "PUBLIC"), document("c", "PUBLIC"))
		put(t, x, document("d", "PUBLIC"))
		if got := stored(); !slices.Equal(got, []string{"a", "c", "d"}) {
			t.Errorf("Weaviate has %q", got)
		}
		if got := stats(t, x); got.Unindexed != 1 || len(got.UnindexedFirst) != 1 || got.UnindexedFirst[0].ID != "bad" ||
			!strings.Contains(got.UnindexedFirst[0].Reason, "property too long") || strings.Contains(got.Engine, "not indexed yet") {
			t.Errorf("stats %+v", got)
		}
		if got, err := search(t, x, index.Access{All: true}); err != nil || !slices.Equal(got, []string{"a", "bad", "c", "d"}) {
			t.Errorf("found %q, %v", got, err)
		}
		if _, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "bad", Access: []string{"group:a"}}}); err != nil {
			t.Fatal(err)
		}
		if got, err := search(t, x, index.Access{Terms: []string{"PUBLIC"}}); err != nil || !slices.Equal(got, []string{"a", "c", "d"}) {
			t.Errorf("others find %q, %v", got, err)
		}
		changed := document("bad", "PUBLIC")
		changed.Title = "Changed"
		set("")
		put(t, x, changed)
		if got := stats(t, x); got.Unindexed != 0 || !slices.Contains(stored(), "bad") {
			t.Errorf("after a change: %+v, Weaviate has %q", got, stored())
		}
		set("d")
		other := document("d", "PUBLIC")
		other.Title = "Changed"
		put(t, x, other)
		if got := stats(t, x); got.Unindexed != 1 {
			t.Errorf("stats %+v", got)
		}
		set("")
		if _, err := x.Check(t.Context(), index.CheckOptions{Full: true, Repair: true}, nil); err != nil {
			t.Fatal(err)
		}
		if err := x.Settle(t.Context(), nil); err != nil || stats(t, x).Unindexed != 0 {
			t.Errorf("after a check: %+v, %v", stats(t, x), err)
		}
	}
}

// TestNothingIsRefusedByAFailingCluster: where nothing can be stored, no document is to blame.
func TestNothingIsRefusedByAFailingCluster(t *testing.T) {
	f := &faulty{}
	x, err := openAt(t, f.start(t))
	if err != nil {
		t.Fatal(err)
	}
	x.client.patience = 0
	f.mutex.Lock()
	f.refused = 1 << 30
	f.mutex.Unlock()
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("a", "PUBLIC")}}); err != nil {
		t.Fatal(err)
	}
	if err := x.Settle(t.Context(), nil); !errors.Is(err, fault.ErrEngineUnavailable) || !strings.Contains(err.Error(), "not enough replicas") {
		t.Errorf("settled: %v", err)
	}
	if got := stats(t, x); got.Unindexed != 0 || !strings.Contains(got.Engine, "1 change not indexed yet") {
		t.Errorf("stats %+v", got)
	}
}

// TestLostTenant: what a cluster has lost is sent again, without a restart.
func TestLostTenant(t *testing.T) {
	f := &faulty{}
	x, err := openAt(t, f.start(t))
	if err != nil {
		t.Fatal(err)
	}
	put(t, x, document("a", "PUBLIC"), document("b", "PUBLIC"))
	f.mutex.Lock()
	f.lost = true
	f.mutex.Unlock()
	x.client.patience = 0
	if _, err := x.Write(t.Context(), index.Batch{Upsert: []index.Document{document("c", "PUBLIC")}}); err != nil {
		t.Fatal(err)
	}
	for ctx := t.Context(); ; {
		if err := x.Settle(ctx, nil); err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.documents) != 3 {
		t.Errorf("Weaviate has %v", f.documents)
	}
}

// TestRefusedVectors: a model that gives vectors of another length is a real cause.
func TestRefusedVectors(t *testing.T) {
	cluster(t)
	x := open(t, t.TempDir(), uuid.NewString())
	defer x.Close()
	vectors := func(length int) index.Vectorise {
		return func(_ context.Context, texts []string) ([][]float32, error) {
			made := make([][]float32, len(texts))
			for i := range made {
				made[i] = make([]float32, length)
				made[i][0] = 1
			}
			return made, nil
		}
	}
	first, second := document("first", "PUBLIC"), document("second", "PUBLIC")
	second.Chunks[0].Text += " twice"
	put(t, x, first)
	if err := x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: vectors(2)}); err != nil {
		t.Fatal(err)
	}
	put(t, x, second)
	if err := x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: vectors(3)}); err != nil {
		t.Fatal(err)
	}
	put(t, x, document("third", "PUBLIC"))
	if got := stats(t, x); got.Unindexed != 1 || got.UnindexedFirst[0].ID != "second" || !strings.Contains(got.UnindexedFirst[0].Reason, "length") {
		t.Errorf("stats %+v", got)
	}
	if got, err := search(t, x, index.Access{All: true}); err != nil || !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Errorf("found %q, %v", got, err)
	}
}
