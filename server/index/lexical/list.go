package lexical

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"
)

// list answers a query with a page of the documents that matched. By score, the order is that of a search for passages:
// first the documents of the best candidates, by both stages, then all others by the first one; so it does not depend on
// the page.
func (r *run) list(p *plan, q *index.Query) (*found, error) {
	out := &found{}
	until := max(0, min(q.List.Offset+q.List.Documents, maxListed))
	all := q.List.Browse && len(p.words) == 0
	leaders := best{limit: candidates}
	var first []candidate
	rest := page{r: r, limit: until}
	for part := range r.s.parts {
		s, f, phrases, err := r.scored(part, p, q)
		if err != nil {
			return nil, err
		}
		var matches partMatches
		if all {
			matches = s.everything(f)
		} else {
			matches = s.match(f, true)
		}
		out.documents += matches.passing
		out.matched = append(out.matched, matches)
		passing := r.documents(part)
		for i, d := range matches.documents {
			if matches.fails[i] == 0 {
				passing.Add(int(d))
				rest.add(s.listed(part, int(d), q.List.Order, phrases))
			}
		}
		if q.List.Order == index.ByScore && !all {
			chosen := s.choose(part, &partFilter{pass: passing}, phrases, candidates, leaders.floor(), true)
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
	from := max(0, min(q.List.Offset, len(out.hits)))
	out.hits = out.hits[from:max(from, min(until, len(out.hits)))]
	return out, nil
}

// everything is match for a query without words: every document that has text.
func (s *scoring) everything(f *partFilter) (m partMatches) {
	f.required.Each(func(d int) {
		from, to := s.reader.DocumentChunks(d)
		fails := f.fails(d)
		if from == to || bits.OnesCount8(fails) > 1 {
			return
		}
		if fails == 0 {
			m.passing++
		}
		m.documents, m.fails = append(m.documents, uint32(d)), append(m.fails, fails)
	})
	return m
}

// listed returns a document with its best passage and what it is ordered by.
func (s *scoring) listed(part, document int, order index.Order, phrases segment.Bits) (l listed) {
	from, to := s.reader.DocumentChunks(document)
	l.candidate = candidate{part: part, document: document, chunk: from, first: -1}
	for chunk := from; chunk < to; chunk++ {
		if score := s.r.scores[chunk]; score > l.first && (phrases == nil || phrases.Has(chunk)) {
			l.chunk, l.first = chunk, score
		}
	}
	l.first = max(l.first, 0)
	l.score = float64(l.first)
	updated := s.reader.Seconds().At(document)
	switch {
	case order == index.ByScore:
		l.key = uint64(math.Float32bits(l.first)) // ordered as scores are, which are not negative
	case updated == 0:
	case order == index.Newest:
		l.key, l.fraction = updated, s.reader.Nanoseconds().At(document)
	case order == index.Oldest:
		l.key, l.fraction = ^updated, ^s.reader.Nanoseconds().At(document)
	}
	return l
}

// listed is a document of a list; those with greater keys come first.
type listed struct {
	candidate
	key, fraction uint64
}

// page collects the first documents of a list.
type page struct {
	r     *run
	limit int
	items []listed
	full  bool // items is in order, and what comes behind its last one is out
}

func (p *page) compare(a, b listed) int {
	if a.key != b.key || a.fraction != b.fraction {
		return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(b.fraction, a.fraction))
	}
	return p.r.order(&a.candidate, &b.candidate)
}

func (p *page) add(l listed) {
	const least = 64
	if p.limit == 0 || p.full && p.compare(p.items[p.limit-1], l) < 0 {
		return
	}
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
		all = append(all, l.candidate)
	}
	return all
}
