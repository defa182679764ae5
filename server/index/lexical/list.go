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
	until, depth := max(0, min(offset+q.List.Documents, maxListed)), 0
	if q.List.Order == index.ByScore && !p.browses {
		depth = candidates
	}
	out, err := r.matchParts(p, q, depth, until)
	if err != nil {
		return nil, err
	}
	best := r.fewEach(r.cut(out.hits, len(out.hits)), 1)
	among := make(map[place]int)
	for _, c := range best {
		among[place{c.part, c.document}]++
	}
	from, at := max(0, offset), min(len(best), until)
	out.hits = best[min(from, at):at]
	rest := page{r: r, limit: until, items: out.listed}
	for _, l := range rest.first() {
		if among[place{int(l.part), int(l.document)}] > 0 {
			continue
		}
		if at++; at > from && at <= until {
			out.hits = append(out.hits, candidate{part: int(l.part), document: int(l.document), chunk: int(l.chunk),
				first: l.score, score: float64(l.score), holds: l.holds})
		}
	}
	return out, nil
}

// everything is match for a query without words: every document that has text.
func (s *scoring) everything(f *partFilter) partMatches {
	documents := segment.NewBits(s.reader.Documents())
	for d := range f.required.Each {
		if from, to := s.reader.DocumentChunks(d); from < to {
			documents.Add(d)
		}
	}
	return f.sort(documents, true)
}

// firstListed returns the first of some documents of a part in the order of a list.
func (s *scoring) firstListed(part int, of, phrases segment.Bits, order index.Order, limit int) []listed {
	if limit == 0 {
		return nil
	}
	first := page{r: s.r, limit: limit}
	for d := range of.Each {
		first.add(s, s.listed(part, d, order, phrases))
	}
	return first.first()
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
	if p.full && p.compare(p.items[p.limit-1], l) < 0 {
		return
	}
	l.holds = s.held.of(int(l.document))
	if p.items = append(p.items, l); len(p.items) >= 2*p.limit+least {
		slices.SortFunc(p.items, p.compare)
		p.items, p.full = p.items[:p.limit], true
	}
}

// first returns the documents in order.
func (p *page) first() []listed {
	slices.SortFunc(p.items, p.compare)
	return p.items[:min(len(p.items), p.limit)]
}
