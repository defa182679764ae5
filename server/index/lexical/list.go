package lexical

import (
	"cmp"
	"math"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"
)

// list answers a query with a page of the documents that matched. By score, the order is that of a search for passages:
// first the documents of the best candidates, by both stages, then all others by the first one; so it does not depend
// on the page.
func (r *run) list(p *plan, q *index.Query, offset int) (*found, error) {
	out, counts := &found{level: p.reached}, reached{}
	until := max(0, min(offset+q.List.Documents, maxListed))
	all := q.List.Browse && len(p.words) == 0
	leaders := best{limit: candidates}
	var first []candidate
	rest := page{r: r, limit: until}
	for part := range r.s.parts {
		s, f, phrases, err := r.scored(part, p, q)
		if err != nil {
			return nil, err
		}
		counts.add(s.reaches(f))
		level := counts.of(p)
		out.reached = out.reached || level > 0
		if level > p.reached {
			p.reached, out.level = level, level
			if part > 0 { // documents of the parts before were held to a lower one
				s.clear()
				return r.list(p, q, offset)
			}
		}
		var matches partMatches
		if all {
			matches = s.everything(f)
		} else {
			matches = s.match(f, p.reached, true)
		}
		out.documents += matches.passing
		out.all += matches.all
		out.matched = append(out.matched, matches)
		if until > 0 {
			matches.pass.Each(func(d int) { rest.add(s, s.listed(part, d, q.List.Order, phrases)) })
		}
		if q.List.Order == index.ByScore && !all {
			chosen := s.choose(part, matches.pass, matches.pass, phrases, candidates, leaders.floor(), true)
			for i := range chosen {
				leaders.offer(scored{score: chosen[i].first})
			}
			first = append(first, chosen...)
		}
		s.clear()
	}
	first = r.cut(first, candidates)
	if err := r.rerank(p, first, q.Explain); err != nil {
		return nil, err
	}
	out.hits = fewEach(slices.Concat(r.cut(first, len(first)), rest.candidates()), 1)
	from := max(0, min(offset, len(out.hits)))
	out.hits = out.hits[from:max(from, min(until, len(out.hits)))]
	return out, nil
}

// everything is match for a query without words: every document that has text.
func (s *scoring) everything(f *partFilter) partMatches {
	documents := segment.NewBits(s.reader.Documents())
	f.required.Each(func(d int) {
		if from, to := s.reader.DocumentChunks(d); from < to {
			documents.Add(d)
		}
	})
	return f.sort(documents, true)
}

// listed returns a document with its best passage and what it is ordered by.
func (s *scoring) listed(part, document int, order index.Order, phrases segment.Bits) listed {
	from, to := s.reader.DocumentChunks(document)
	l := listed{part: int32(part), document: int32(document), chunk: int32(from), score: -1}
	for chunk := from; chunk < to; chunk++ {
		if score := s.r.scores[chunk]; score > l.score && (phrases == nil || phrases.Has(chunk)) {
			l.chunk, l.score = int32(chunk), score
		}
	}
	l.score = max(l.score, 0)
	if order == index.ByScore {
		l.key = uint64(math.Float32bits(l.score)) // ordered as scores are, which are not negative
		return l
	}
	if updated := s.reader.Seconds().At(document); updated > 0 {
		l.key, l.fraction = updated, uint32(s.reader.Nanoseconds().At(document))
		if order == index.Oldest {
			l.key, l.fraction = ^l.key, ^l.fraction
		}
	}
	return l
}

// listed is a document of a list; those with greater keys come first. Parts number their documents in the order of ids.
type listed struct {
	key                   uint64
	fraction              uint32
	part, document, chunk int32
	score                 float32
	holds                 uint64
}

// page collects the first documents of a list.
type page struct {
	r     *run
	limit int
	items []listed
	full  bool // items is in order, and what comes behind its last one is out
}

func (p *page) compare(a, b listed) int {
	switch {
	case a.key != b.key:
		return cmp.Compare(b.key, a.key)
	case a.fraction != b.fraction:
		return cmp.Compare(b.fraction, a.fraction)
	case a.part == b.part:
		return cmp.Compare(a.document, b.document)
	}
	return cmp.Compare(p.r.reader(int(a.part)).ID(int(a.document)), p.r.reader(int(b.part)).ID(int(b.document)))
}

func (p *page) add(s *scoring, l listed) {
	const least = 64
	if p.limit == 0 || p.full && p.compare(p.items[p.limit-1], l) < 0 {
		return
	}
	l.holds = s.held.of(int(l.document))
	if p.items = append(p.items, l); len(p.items) >= 2*p.limit+least {
		slices.SortFunc(p.items, p.compare)
		p.items, p.full = p.items[:p.limit], true
	}
}

// candidates returns the documents in order.
func (p *page) candidates() []candidate {
	slices.SortFunc(p.items, p.compare)
	all := make([]candidate, 0, len(p.items))
	for _, l := range p.items[:min(len(p.items), p.limit)] {
		all = append(all, candidate{part: int(l.part), document: int(l.document), chunk: int(l.chunk), first: l.score,
			score: float64(l.score), holds: l.holds})
	}
	return all
}
