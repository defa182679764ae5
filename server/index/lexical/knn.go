package lexical

import (
	"context"

	"quarry/client/field"
	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/index/vector"
)

// Nearest implements index.Snapshot. Parts without vectors of that model have none.
func (s *Searcher) Nearest(ctx context.Context, vector index.Vector, query index.Query) ([]index.Hit, error) {
	return answer(ctx, s, "search by vector", func(r *run) []index.Hit {
		return r.nearPassages(r.nearestOf(vector, &query))
	})
}

// nearPassages describes candidates by vector.
func (r *run) nearPassages(all []candidate) []index.Hit {
	hits := r.passages(&plan{}, all)
	for i := range hits {
		hits[i].Language = r.language(all[i].part, all[i].document)
	}
	return hits
}

// firstOfEach orders candidates, and leaves at most perDocument of each document; 0: all.
func (r *run) firstOfEach(all []candidate, perDocument int) []candidate {
	if all = r.cut(all, len(all)); perDocument > 0 {
		all = r.fewEach(all, perDocument)
	}
	return all
}

// language returns the language of a document; empty if it is unknown.
func (r *run) language(part, document int) string {
	reader, all := r.reader(part), r.facetValues()
	from, to := reader.Facets(document)
	for ; from < to; from++ {
		if v := &all.values[all.of[part][reader.FacetValues().At(from)]]; v.Field == segment.FacetOf(field.Lang) {
			return v.Value
		}
	}
	return ""
}

// restricting returns a plan with the phrases and exclusions of a query.
func (r *run) restricting(q *index.Query) *plan {
	if len(q.Phrases)+len(q.Exclude) == 0 {
		return &plan{}
	}
	r.reach(q.Filter.Access)
	restricting := *q
	restricting.Text = ""
	words, _ := r.typed(nil, &restricting)
	return r.plan(nil, words, &restricting)
}

func (r *run) nearestOf(wanted index.Vector, q *index.Query) (all []candidate) {
	limit := max(0, min(q.Limit, maxLimit))
	p := r.restricting(q)
	for part := range r.s.parts {
		r.check()
		file := r.s.parts[part].Vectors
		if file == nil || r.s.parts[part].Model != wanted.Model || file.Dimensions() != len(wanted.Values) ||
			limit == 0 {
			continue
		}
		f := r.filter(part, &q.Filter)
		phrases := r.restrict(part, p, f)
		guard.Check(segment.Protect(file.Name, func() {
			all = append(all, r.nearestIn(part, file, wanted.Values, f, phrases, limit, q.PerDocument)...)
		}))
		all = r.cut(all, limit)
	}
	return all
}

// nearestIn returns the best of one part. When few documents fill what was looked at, more is looked at.
func (r *run) nearestIn(part int, file *vector.File, values []float32, f *partFilter, phrases segment.Bits, limit,
	perDocument int) []candidate {
	reader, chunks := r.reader(part), file.Chunks()
	if len(chunks) == 0 {
		return nil
	}
	if int(chunks[len(chunks)-1]) >= reader.Chunks() {
		panic(segment.Damage(file.Name(), "it has chunks that its segment lacks"))
	}
	owners := reader.Owners()
	admitted, count := r.bitmap(len(chunks)), 0
	for i, chunk := range chunks {
		if f.pass.Has(owners.Of(int(chunk))) && (phrases == nil || phrases.Has(int(chunk))) {
			admitted.Add(i)
			count++
		}
	}
	for depth := file.Depth(limit); ; depth *= 4 {
		near := file.Nearest(values, admitted, depth)
		found := make([]candidate, len(near))
		for i, n := range near {
			chunk := int(chunks[n.Index])
			found[i] = candidate{part: part, document: owners.Of(chunk), chunk: chunk, score: float64(n.Score)}
		}
		found = r.firstOfEach(found, perDocument)
		if len(found) >= limit || len(near) >= count {
			return found[:min(len(found), limit)]
		}
	}
}
