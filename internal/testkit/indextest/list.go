package indextest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"quarry/server/index"
)

// secondStage is how many passages an engine may rank by a second stage; beyond those the order of a list is its own.
const secondStage = 200

// CompareList asks for all pages of a list: together they must be all documents that match, each once, in order, and
// each page must count them all.
func CompareList(ctx context.Context, o *Oracle, q index.Query, size int, engines ...Engine) error {
	q.PerDocument, q.Count = 0, true
	want := o.Search(q)
	return each(engines, func(e Engine) error { return o.compareList(ctx, e, q, size, want) })
}

func (o *Oracle) compareList(ctx context.Context, e Engine, q index.Query, size int, want *Answer) error {
	var all []index.Hit
	for {
		page := *q.List
		page.Offset, page.Documents = len(all), size
		paged := q
		paged.List = &page
		got, err := e.Search(ctx, paged)
		if err != nil {
			return err
		}
		counts, err := got.Matched.Count(ctx)
		if err == nil {
			err = compareCounts(counts, want.Counts)
		}
		if err != nil {
			return fmt.Errorf("at %d: %w", len(all), err)
		}
		all = append(all, got.Hits...)
		if len(all) > len(want.Listed) || len(got.Hits) != min(size, len(want.Listed)-page.Offset) {
			return fmt.Errorf("%d at %d of %d: %s", len(got.Hits), page.Offset, len(want.Listed), show(got.Hits))
		}
		if len(got.Hits) == 0 {
			break
		}
	}
	var ids []string
	for _, hit := range all {
		ids = append(ids, hit.DocumentID)
	}
	if sorted := slices.Sorted(slices.Values(ids)); !slices.Equal(sorted, want.Listed) {
		return fmt.Errorf("listed %v, want %v", sorted, want.Listed)
	}
	if err := compareFolded(ctx, e, q, ids, size); err != nil {
		return err
	}
	return o.compareOrder(all, ids, want, q)
}

// compareFolded checks the pages of a list that folds documents into groups, made up by the place of each in the whole
// list.
func compareFolded(ctx context.Context, e Engine, q index.Query, whole []string, size int) error {
	folds, members := map[string]string{}, map[string]int{}
	for i, id := range whole {
		if i%3 == 1 {
			folds[id] = []string{"", "a", "b"}[i%5%3]
			members[folds[id]]++
		}
	}
	var want []string // each at its place, copies as empty ones behind it
	for _, id := range whole {
		group, isOne := folds[id]
		if !isOne {
			want = append(want, id)
		} else if group != "" && members[group] > 0 {
			want = append(append(want, id), make([]string, members[group]-1)...)
			members[group] = 0
		}
	}
	for offset := range len(want) + 2 {
		q.List = &index.List{Offset: offset, Documents: size, Order: q.List.Order, Browse: q.List.Browse, Folds: folds}
		got, err := e.Search(ctx, q)
		if err != nil {
			return err
		}
		before := min(offset, len(want))
		for before < len(want) && want[before] == "" {
			before++
		}
		rows := slices.DeleteFunc(slices.Clone(want[before:]), func(id string) bool { return id == "" })
		rows = rows[:min(len(rows), size)]
		isRow := func(hit index.Hit, id string) bool { return hit.DocumentID == id }
		if got.Before != before || !slices.EqualFunc(got.Hits, rows, isRow) {
			return fmt.Errorf("folding %v, at %d of %v: %d: %s, want %v behind %d", folds, offset, want, got.Before, show(got.Hits),
				rows, before)
		}
	}
	return nil
}

// compareOrder checks the order of a whole list, and that its passages may stand for their documents.
func (o *Oracle) compareOrder(all []index.Hit, ids []string, want *Answer, q index.Query) error {
	documents := map[string]*document{}
	for _, d := range o.documents {
		documents[d.ID] = d
	}
	scores := map[string]float64{}
	passages := map[string]bool{}
	for _, hit := range want.Hits {
		scores[hit.DocumentID] = max(scores[hit.DocumentID], hit.Score)
		passages[fmt.Sprint(hit.DocumentID, "#", hit.Chunk)] = true
	}
	for i, hit := range all {
		if scores[hit.DocumentID] > 0 && !passages[fmt.Sprint(hit.DocumentID, "#", hit.Chunk)] {
			return fmt.Errorf("chunk %d of %s is no hit", hit.Chunk, hit.DocumentID)
		}
		byScore := q.List.Order == index.ByScore && len(want.Hits) <= secondStage
		if i > 0 && byScore && scores[ids[i-1]] < hit.Score && !near(scores[ids[i-1]], hit.Score) {
			return fmt.Errorf("%s with %f follows %f: %s", hit.DocumentID, hit.Score, scores[ids[i-1]], show(all))
		}
	}
	if q.List.Order == index.ByScore {
		return nil
	}
	inOrder := slices.SortedFunc(slices.Values(ids), func(a, b string) int {
		x, y := documents[a].UpdatedAt, documents[b].UpdatedAt
		if x.IsZero() != y.IsZero() {
			return map[bool]int{true: 1, false: -1}[x.IsZero()]
		}
		byTime := x.Compare(y)
		if q.List.Order == index.Newest {
			byTime = -byTime
		}
		return cmp.Or(byTime, strings.Compare(a, b))
	})
	if !slices.Equal(ids, inOrder) {
		return fmt.Errorf("order %v, want %v", ids, inOrder)
	}
	return nil
}
