package indextest

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/server/index"
)

// Engine is what is compared with the oracle: the part of index.Snapshot that asks questions.
type Engine interface {
	Search(ctx context.Context, query index.Query) (index.Result, error)
	Facets(ctx context.Context, filter index.Filter) (index.Counts, error)
	Suggest(ctx context.Context, prefix string, access index.Access, limit int) (index.Suggestions, error)
}

// tolerance is how far scores may be apart, relative to their size: engines may compute in single precision.
const tolerance = 1e-4

// CompareSearch asks all the same query and describes the first difference. The oracle, which is slow, is asked once.
func CompareSearch(ctx context.Context, o *Oracle, q index.Query, engines ...Engine) error {
	want := o.Search(q)
	return each(engines, func(e Engine) error { return compareAnswer(ctx, e, q, want) })
}

// each returns the first error of an engine, with the engine's number if there are several.
func each(engines []Engine, compare func(Engine) error) error {
	for i, e := range engines {
		if err := compare(e); err != nil && len(engines) > 1 {
			return fmt.Errorf("engine %d: %w", i, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func compareAnswer(ctx context.Context, e Engine, q index.Query, want *Answer) error {
	got, err := e.Search(ctx, q)
	if err != nil {
		return err
	}
	if fmt.Sprint(got.Corrections) != fmt.Sprint(want.Corrections) {
		return fmt.Errorf("corrections %v, want %v", got.Corrections, want.Corrections)
	}
	if fmt.Sprint(got.Missing) != fmt.Sprint(want.Missing) {
		return fmt.Errorf("missing %q, want %q", got.Missing, want.Missing)
	}
	if got.Kept != want.Kept {
		return fmt.Errorf("kept %q, want %q", got.Kept, want.Kept)
	}
	if got.Level != want.Level || got.All != want.All || got.Documents != len(want.Listed) {
		return fmt.Errorf("%d match, %d with all words, at level %v; want %d, %d, %v", got.Documents, got.All, got.Level,
			len(want.Listed), want.All, want.Level)
	}
	if err := compareHits(got.Hits, want.Hits, q.Limit); err != nil {
		return err
	}
	if !q.Count {
		return nil
	}
	if got.Matched == nil {
		return fmt.Errorf("nothing counted")
	}
	counts, err := got.Matched.Count(ctx)
	if err != nil {
		return err
	}
	return compareCounts(counts, want.Counts)
}

// compareHits allows hits whose scores are next to equal to change places.
func compareHits(got, want []index.Hit, limit int) error {
	if len(got) != min(len(want), limit) {
		return fmt.Errorf("%d hits, want %d of at most %d:\n%s\n%s", len(got), len(want), limit, show(got), show(want))
	}
	scores, documents := make(map[string]float64), make(map[string]index.Hit)
	for _, hit := range want {
		scores[fmt.Sprint(hit.DocumentID, "#", hit.Chunk)] = hit.Score
		documents[hit.DocumentID] = hit
	}
	for i, hit := range got {
		score, ok := scores[fmt.Sprint(hit.DocumentID, "#", hit.Chunk)]
		if !ok || !near(score, hit.Score) || !near(want[i].Score, hit.Score) {
			return fmt.Errorf("hit %d is %s#%d with %.6f (it has %.6f), want %s#%d with %.6f:\n%s\n%s", i, hit.DocumentID,
				hit.Chunk, hit.Score, score, want[i].DocumentID, want[i].Chunk, want[i].Score, show(got), show(want))
		}
		if d := documents[hit.DocumentID]; d.Below != hit.Below || !slices.Equal(unordered(hit.Missing), unordered(d.Missing)) {
			return fmt.Errorf("%s is below the level: %v, lacks %q; want %v, %q", hit.DocumentID, hit.Below, hit.Missing, d.Below, d.Missing)
		}
		if i > 0 && got[i-1].Score == hit.Score && !ordered(got[i-1], hit) {
			return fmt.Errorf("equal scores are out of order: %s", show(got))
		}
	}
	return nil
}

func ordered(a, b index.Hit) bool {
	if a.DocumentID != b.DocumentID {
		return a.DocumentID < b.DocumentID
	}
	return a.Chunk < b.Chunk
}

func near(a, b float64) bool { return math.Abs(a-b) <= tolerance*math.Max(1, math.Abs(a)) }

func show(hits []index.Hit) string {
	var out []string
	for _, hit := range hits[:min(len(hits), 20)] {
		out = append(out, fmt.Sprintf("%s#%d %.5f", hit.DocumentID, hit.Chunk, hit.Score))
	}
	return strings.Join(out, ", ")
}

func compareCounts(got, want index.Counts) error {
	g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)
	if g != w {
		return fmt.Errorf("counts\n%s, want\n%s", g, w)
	}
	return nil
}

// CompareFacets asks both for facets.
func CompareFacets(ctx context.Context, o *Oracle, e Engine, f index.Filter) error {
	got, err := e.Facets(ctx, f)
	if err != nil {
		return err
	}
	return compareCounts(got, o.Facets(f))
}

// CompareSuggest asks both for suggestions.
func CompareSuggest(ctx context.Context, o *Oracle, e Engine, prefix string, access index.Access, limit int) error {
	got, err := e.Suggest(ctx, prefix, access, limit)
	if err != nil {
		return err
	}
	want := o.Suggest(prefix, access, limit)
	if len(got.Words)+len(want.Words) > 0 && !reflect.DeepEqual(got.Words, want.Words) {
		return fmt.Errorf("%q: words %q, want %q", prefix, got.Words, want.Words)
	}
	if len(got.Titles)+len(want.Titles) > 0 && !reflect.DeepEqual(got.Titles, want.Titles) {
		return fmt.Errorf("%q: titles %v, want %v", prefix, got.Titles, want.Titles)
	}
	return nil
}

// unordered is a list without the order that it came in.
func unordered(words []string) []string { return slices.Sorted(slices.Values(words)) }

// ask puts n random questions to a snapshot, one after the other: with -short, as for the race detector, a fifth of them.
func ask(t *testing.T, o *Oracle, s index.Snapshot, w *World, n int) {
	t.Helper()
	ctx := context.Background()
	if testing.Short() {
		n = (n + 4) / 5
	}
	for range n {
		q := w.Query()
		if err := CompareSearch(ctx, o, q, s); err != nil {
			t.Fatalf("%+v:\n%v", q, err)
		}
		if err := CheckPromises(ctx, s, q, 1); err != nil {
			t.Fatalf("%+v:\n%v", q, err)
		}
		list, size := w.List()
		if err := CompareList(ctx, o, list, size, s); err != nil {
			t.Fatalf("%+v, %+v, pages of %d:\n%v", list, *list.List, size, err)
		}
		f := w.Filter()
		if err := CompareFacets(ctx, o, s, f); err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		if err := CompareSuggest(ctx, o, s, w.Beginning(), w.Access(), 5); err != nil {
			t.Fatal(err)
		}
	}
}
