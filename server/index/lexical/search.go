package lexical

import (
	"context"
	"slices"

	"quarry/server/index"
)

// Search implements index.Snapshot.
func (s *Searcher) Search(ctx context.Context, query index.Query) (index.Result, error) {
	return answer(ctx, s, "search", func(r *run) (index.Result, error) { return r.search(&query) })
}

// search answers a query; if nothing matches as typed, it answers the corrected query.
func (r *run) search(q *index.Query) (index.Result, error) {
	analyser := r.s.analysers.get()
	defer r.s.analysers.put(analyser)
	words := typed(analyser, q)
	p := r.plan(analyser, words, q)
	found, err := r.execute(p, q)
	if err != nil {
		return index.Result{}, err
	}
	var corrections []index.Correction
	if found.documents == 0 {
		corrected, changes, err := r.correct(analyser, words, q)
		if err != nil {
			return index.Result{}, err
		}
		if len(changes) > 0 {
			second := r.plan(analyser, corrected, q)
			again, err := r.execute(second, q)
			if err != nil {
				return index.Result{}, err
			}
			if len(again.hits) > 0 || again.documents > 0 {
				p, found, corrections = second, again, changes
			}
		}
	}
	result := index.Result{Hits: r.passages(found.hits), Corrections: corrections,
		Highlighter: newHighlighter(p, &r.s.analysers)}
	if q.Count {
		result.Matched = &matched{s: r.s, filter: q.Filter, parts: found.matched}
	}
	return result, nil
}

// found is what a plan led to.
type found struct {
	hits      []candidate
	documents int // that match and pass the whole filter
	matched   []partMatches
}

// execute runs a plan over all parts.
func (r *run) execute(p *plan, q *index.Query) (*found, error) {
	out := &found{}
	limit := max(0, min(q.Limit, maxLimit))
	depth := max(limit, candidates)
	if limit == 0 {
		depth = 0
	}
	lead := leaders{best{limit: depth}}
	for part := range r.s.parts {
		if err := r.stopped(); err != nil {
			return nil, err
		}
		f := r.filter(part, &q.Filter)
		phrases, err := r.restrict(part, p, f)
		if err != nil {
			return nil, err
		}
		s, err := r.score(part, p)
		if err != nil {
			return nil, err
		}
		chosen := s.choose(part, f, phrases, depth, lead.floor(), q.PerDocument > 0)
		lead.add(chosen)
		out.hits = append(out.hits, chosen...)
		matches := s.match(f, q.Count)
		out.documents += matches.passing
		out.matched = append(out.matched, matches)
		s.clear()
	}
	if len(out.hits) > depth {
		floor := lead.floor()
		out.hits = slices.DeleteFunc(out.hits, func(c candidate) bool { return c.first <= floor })
		out.hits = r.cut(out.hits, depth)
	}
	if err := r.rerank(p, out.hits, q.Explain); err != nil {
		return nil, err
	}
	if q.PerDocument > 0 {
		out.hits = fewEach(r.cut(out.hits, len(out.hits)), q.PerDocument)
	}
	out.hits = r.cut(out.hits, limit)
	return out, nil
}

// passages describes candidates.
func (r *run) passages(all []candidate) []index.Hit {
	var hits []index.Hit
	for i := range all {
		c := &all[i]
		reader := r.reader(c.part)
		first, _ := reader.DocumentChunks(c.document)
		hits = append(hits, index.Hit{DocumentID: reader.ID(c.document), Chunk: c.chunk - first, Score: c.score, Parts: c.parts})
	}
	return hits
}
