package lexical

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"
)

// ofBest is the least key of a document of the best candidates, beyond those of scores.
const ofBest = 1 << 32

// list answers a query with a page of the documents that matched. By score, the order is that of a search for passages:
// first the documents of the best candidates, by both stages, then all others by the first one; so it does not depend
// on the page. While a page is found, each document before it takes 48 bytes, twice at most.
func (r *run) list(p *plan, q *index.Query, offset int) *found {
	offset, depth := max(0, offset), 0
	if q.List.Order == index.ByScore && !p.browses {
		depth = candidates
	}
	out := r.matchParts(p, q, depth, q.List.Until())
	best, among := r.fewEach(r.cut(out.hits, len(out.hits)), 1), make(map[place]bool)
	for _, c := range best {
		among[place{c.part, c.document}] = true
	}
	items := slices.DeleteFunc(out.listed, func(l listed) bool { return len(among) > 0 && among[l.place()] })
	for i, c := range best {
		items = append(items,
			listed{key: uint64(ofBest + len(best) - i), part: int32(c.part), document: int32(c.document)})
	}
	all := page{r: r, items: r.fold(items, q.List.Folds)}
	from, before := all.split(offset)
	rest := page{r: r, items: all.items[from:]}
	for i := range rest.items {
		rest.items[i].copies = 0 // on the page each is one
	}
	end, _ := rest.split(q.List.Documents)
	slices.SortFunc(rest.items[:end], rest.compare)
	out.before, out.hits = before, nil
	for _, l := range rest.items[:end] {
		if len(best) > 0 && l.key > ofBest {
			out.hits = append(out.hits, best[len(best)-int(l.key-ofBest)])
			continue
		}
		out.hits = append(out.hits, candidate{part: int(l.part), document: int(l.document), chunk: int(l.chunk),
			first: l.score, score: float64(l.score), holds: l.holds})
	}
	return out
}

// fold leaves the first document of each group.
func (r *run) fold(items []listed, folds map[string]string) []listed {
	if len(folds) == 0 {
		return items
	}
	groups, size, first := make(map[place]string), make(map[string]int32), make(map[string]listed)
	for id, group := range folds {
		size[group]++
		for part := range r.s.parts {
			if document, ok := r.reader(part).Lookup(id); ok {
				groups[place{part, document}] = group
			}
		}
	}
	p := page{r: r}
	items = slices.DeleteFunc(items, func(l listed) bool {
		group, folds := groups[l.place()]
		if before, ok := first[group]; group != "" && (!ok || p.compare(l, before) < 0) {
			l.copies = size[group] - 1
			first[group] = l
		}
		return folds
	})
	return slices.AppendSeq(items, maps.Values(first))
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

// firstListed returns documents of a part, the first ones in the order of a list among them.
func (s *scoring) firstListed(part int, of, phrases segment.Bits, order index.Order, limit int) []listed {
	if limit == 0 {
		return nil
	}
	first := page{r: s.r, limit: limit}
	for d := range of.Each {
		if l := s.listed(part, d, order, phrases); first.fits(l) {
			l.holds = s.held.of(d)
			first.add(l)
		}
	}
	return first.items
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
	copies                int32 // documents that it stands for beside itself
	holds                 uint64
}

func (l *listed) place() place { return place{int(l.part), int(l.document)} }

// page collects the first documents of a list.
type page struct {
	r     *run
	limit int
	items []listed
	last  *listed // what comes behind it is out; nil: nothing is
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

func (p *page) fits(l listed) bool { return p.last == nil || p.compare(l, *p.last) < 0 }

func (p *page) add(l listed) {
	const least = 64
	if p.items = append(p.items, l); len(p.items) >= 2*p.limit+least {
		p.split(p.limit)
		p.items = p.items[:p.limit]
		last := slices.MaxFunc(p.items, p.compare)
		p.last = &last
	}
}

// split moves what comes behind offset documents behind all else, and returns where it begins, and how many documents
// come before it: more than offset, if documents with copies stand there.
func (p *page) split(offset int) (from, before int) {
	for to := len(p.items); from < to && before < offset; {
		middle, at, passed := from+rand.IntN(to-from), from, before
		p.items[from], p.items[middle] = p.items[middle], p.items[from]
		pivot := p.items[from]
		for i := from + 1; i < to; i++ {
			if l := p.items[i]; p.compare(l, pivot) < 0 {
				at++
				p.items[at], p.items[i] = l, p.items[at]
				passed += 1 + int(l.copies)
			}
		}
		p.items[from], p.items[at] = p.items[at], pivot
		if passed >= offset {
			to = at
		} else {
			from, before = at+1, passed+1+int(pivot.copies)
		}
	}
	return from, before
}
