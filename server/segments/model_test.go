package segments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/server/documents"
	"quarry/server/index"
)

// model is a library as a map, to compare with.
type model map[string]index.Document

func (m model) apply(batch index.Batch) {
	for _, id := range batch.Delete {
		delete(m, id)
	}
	for _, d := range batch.Upsert {
		m[d.ID] = d
	}
}

func (m model) documents() []index.Document {
	return slices.Collect(maps.Values(m))
}

// words are common and rare ones, so that scores depend on the statistics.
func words(random *rand.Rand, count int) string {
	var text strings.Builder
	for range count {
		fmt.Fprintf(&text, "word%d ", int(random.ExpFloat64()*8))
	}
	return text.String()
}

// randomBatch changes a library of at most size documents.
func randomBatch(random *rand.Rand, size int) index.Batch {
	var batch index.Batch
	for range 1 + random.IntN(6) {
		id := "doc" + strconv.Itoa(random.IntN(size))
		if random.IntN(4) == 0 {
			batch.Delete = append(batch.Delete, id)
			continue
		}
		d := document(id)
		for range random.IntN(4) {
			d.Chunks = append(d.Chunks, index.Chunk{Text: words(random, 1+random.IntN(30))})
		}
		d.Title = words(random, 2)
		d.Source = []string{"file", "slack", "github"}[random.IntN(3)]
		batch.Upsert = append(batch.Upsert, d)
	}
	// Later changes of one document win, and stores win over deletes: keep one of each, so that the order is no matter.
	batch.Delete = slices.DeleteFunc(batch.Delete, func(id string) bool {
		return slices.ContainsFunc(batch.Upsert, func(d index.Document) bool { return d.ID == id })
	})
	return batch
}

// compare fails unless a snapshot holds exactly what the model says, and finds and counts it like a library that was
// just made of the same documents.
func (m model) compare(t testing.TB, x *Index) {
	t.Helper()
	fresh, err := Open(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := fresh.Close(); err != nil {
			t.Error(err)
		}
	}()
	put(t, fresh, m.documents()...)
	m.compareWith(t, x, fresh)
}

// compareWith is compare with a library that was made of the same documents before, for tests that compare often.
func (m model) compareWith(t testing.TB, x, fresh *Index) {
	t.Helper()
	s, err := x.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m.compareStored(t, s)
	want, err := fresh.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	compareSearch(t, s, want)
}

func (m model) compareStored(t testing.TB, s index.Snapshot) {
	t.Helper()
	ctx := context.Background()
	chunks := 0
	for id, want := range m {
		found, err := s.Documents(ctx, []string{id}, everything)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 {
			t.Fatalf("%s is not there", id)
		}
		got := found[0].Document
		if got.Chunks, err = indextest.Chunks(s, id, 0, documents.MaxChunks, everything); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, documents.Canonical(want)) {
			t.Fatalf("%s\n got %+v\nwant %+v", id, got, want)
		}
		chunks += len(want.Chunks)
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Documents != len(m) || stats.Chunks != chunks {
		t.Fatalf("%d documents and %d chunks, want %d and %d", stats.Documents, stats.Chunks, len(m), chunks)
	}
}

// compareSearch asks both the same: equal hits with equal scores mean equal statistics, too.
func compareSearch(t testing.TB, s, want index.Snapshot) {
	t.Helper()
	ctx := context.Background()
	for _, text := range []string{"word0", "word1 word2", "word3 word9 word17", "word5 absent", "title"} {
		query := index.Query{Text: text, Limit: 1000, Filter: index.Filter{Access: everything}}
		a, errA := s.Search(ctx, query)
		b, errB := want.Search(ctx, query)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		if len(a.Hits) != len(b.Hits) {
			t.Fatalf("%s: %d hits, a fresh library has %d", text, len(a.Hits), len(b.Hits))
		}
		for i := range a.Hits {
			if !reflect.DeepEqual(a.Hits[i], b.Hits[i]) {
				t.Fatalf("%s: hit %d is %+v, in a fresh library %+v", text, i, a.Hits[i], b.Hits[i])
			}
		}
	}
	a, errA := s.Facets(ctx, index.Filter{Access: everything})
	b, errB := want.Facets(ctx, index.Filter{Access: everything})
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("counts are %+v, in a fresh library %+v", a, b)
	}
}
