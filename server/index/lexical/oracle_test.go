package lexical

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/semaphore"

	"quarry/internal/testkit/indextest"
	"quarry/internal/testkit/longtest"
	"quarry/server/index"
	"quarry/server/index/segment"
)

func open(t testing.TB, name string, documents []index.Document) *segment.Reader {
	t.Helper()
	b := segment.NewBuilder()
	for _, d := range documents {
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	data, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	r, err := segment.Open(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// spread puts documents, and some that were deleted, into parts.
func spread(t testing.TB, w *indextest.World, random *rand.Rand, live []index.Document, parts int) []Part {
	t.Helper()
	lists := make([][]index.Document, parts)
	dead := make([]map[string]bool, parts)
	for i := range dead {
		dead[i] = make(map[string]bool)
	}
	for i, d := range live {
		home := random.IntN(parts)
		lists[home] = append(lists[home], d)
		if old := random.IntN(parts); old != home && random.IntN(3) == 0 { // an older version elsewhere
			before := w.Document(0)
			before.ID = d.ID
			lists[old] = append(lists[old], before)
			dead[old][d.ID] = true
		}
		if random.IntN(5) == 0 {
			gone := w.Document(5000 + i)
			lists[home] = append(lists[home], gone)
			dead[home][gone.ID] = true
		}
	}
	var out []Part
	for i, list := range lists {
		p := Part{Segment: open(t, fmt.Sprint("part ", i), list)}
		for _, d := range list {
			if !dead[i][d.ID] {
				continue
			}
			if p.Deleted == nil {
				p.Deleted, p.Delta = roaring.New(), &segment.Delta{}
			}
			ordinal, ok, err := p.Segment.Find(d.ID)
			if err != nil || !ok {
				t.Fatalf("%s is lost: %v", d.ID, err)
			}
			p.Deleted.Add(uint32(ordinal))
			p.Delta.Add(segment.DeltaOf(d), 1)
		}
		out = append(out, p)
	}
	return out
}

func newSearcher(t testing.TB, parts []Part) *Searcher {
	t.Helper()
	s := NewSearcher(parts, DefaultParams())
	s.shared, s.helpers = 0, semaphore.NewWeighted(2) // parts are always read at the same time
	return s
}

// merged is the same documents in one part.
func merged(t testing.TB, parts []Part) *Searcher {
	t.Helper()
	var inputs []segment.Input
	for _, p := range parts {
		inputs = append(inputs, segment.Input{Reader: p.Segment, Deleted: p.Deleted})
	}
	data, _, err := segment.Merge(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	r, err := segment.Open("merged", data)
	if err != nil {
		t.Fatal(err)
	}
	return newSearcher(t, []Part{{Segment: r}})
}

func TestSearcherAgreesWithOracle(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(longtest.Rounds(3, 167)) { // 20,000 queries in the long form
		w := indextest.NewWorld(seed)
		random := rand.New(rand.NewPCG(seed, 3))
		var live []index.Document
		for i := range 5 + random.IntN(60) {
			live = append(live, w.Document(i))
		}
		parts := spread(t, w, random, live, 1+random.IntN(4))
		params := DefaultParams()
		params.Enough *= float64(1 + 15*(seed%2)) // the worlds are small
		oracle := indextest.NewOracle(live, indextest.Params(params))
		one, many := merged(t, parts), newSearcher(t, parts)
		one.params, many.params = params, params
		if one.stats != many.stats || many.stats.Documents != int64(len(live)) {
			t.Fatalf("seed %d: %+v and %+v, want %d documents", seed, one.stats, many.stats, len(live))
		}
		for i := range longtest.Rounds(60, 120) {
			q := w.Query()
			if i%8 == 0 { // in the language of a third of the documents
				q.Text = "was wurde über das und für " + q.Text
			}
			if err := indextest.CompareSearch(ctx, oracle, q, one, many); err != nil {
				t.Fatalf("seed %d, query %d: %+v:\n%v", seed, i, q, err)
			}
			list, size := w.List()
			if err := indextest.CompareList(ctx, oracle, list, size, one, many); err != nil {
				t.Fatalf("seed %d, list %d: %+v, %+v, pages of %d:\n%v", seed, i, list, *list.List, size, err)
			}
			q.Limit, q.Explain = 5, true
			a, errA := one.Search(ctx, q)
			b, errB := many.Search(ctx, q)
			if errA != nil || errB != nil || !reflect.DeepEqual(a.Hits, b.Hits) {
				t.Fatalf("seed %d, query %d: segments change the result (%v, %v):\n%v\n%v", seed, i, errA, errB,
					a.Hits, b.Hits)
			}
			checkParts(t, a.Hits)
			f, prefix, access := w.Filter(), w.Beginning(), w.Access()
			for _, s := range []*Searcher{one, many} {
				if err := indextest.CompareFacets(ctx, oracle, s, f); err != nil {
					t.Fatalf("seed %d: %+v: %v", seed, f, err)
				}
				if err := indextest.CompareSuggest(ctx, oracle, s, prefix, access, 4); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
		checkAdmits(t, many, live, w.Access())
	}
}

// checkParts holds that the parts of the formula add up to the score.
func checkParts(t *testing.T, hits []index.Hit) {
	t.Helper()
	for _, hit := range hits {
		sum := 0.0
		for _, part := range hit.Parts {
			sum += part
		}
		if d := sum - hit.Score; d > 1e-6 || d < -1e-6 {
			t.Errorf("the parts of %s add up to %f, not %f: %v", hit.DocumentID, sum, hit.Score, hit.Parts)
		}
	}
}

func checkAdmits(t *testing.T, s *Searcher, live []index.Document, access index.Access) {
	t.Helper()
	for _, d := range live {
		want := !d.Hidden && (access.All || slices.ContainsFunc(d.Access, func(term string) bool {
			return slices.Contains(access.Terms, term)
		}))
		alive, admitted, err := s.Admits(d.ID, access)
		if err != nil || !alive || admitted != want {
			t.Errorf("%s: live %v, admitted %v, want %v (%v)", d.ID, alive, admitted, want, err)
		}
	}
	if alive, admitted, err := s.Admits("doc:nowhere", access); alive || admitted || err != nil {
		t.Errorf("an unknown document is live %v, admitted %v, %v", alive, admitted, err)
	}
}
