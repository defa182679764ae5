package lexical

import (
	"cmp"
	"math"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"
)

// candidate is a passage that the first stage chose.
type candidate struct {
	part, document, chunk int
	first                 float32 // score of the first stage, of a match preferred
	score                 float64 // of the stages so far
	holds                 uint64  // the words of the document that count
	below                 bool    // it is below the level
	parts                 map[string]float64
}

// scored is a chunk of one part with its score.
type scored struct {
	score float32
	chunk uint32
}

// worse orders by score, then against the order of chunks.
func (a scored) worse(b scored) bool {
	return a.score < b.score || a.score == b.score && a.chunk > b.chunk
}

// best is a heap of at most limit chunks, the worst of them on top. (container/heap costs half of a short query.)
type best struct {
	limit int
	items []scored
}

// offer takes a chunk if it is among the best and returns the score that the next one must exceed. Chunks must come in
// ascending order.
func (b *best) offer(c scored) float32 {
	if len(b.items) < b.limit {
		b.items = append(b.items, c)
		b.up(len(b.items) - 1)
	} else if c.score > b.items[0].score {
		b.items[0] = c
		b.down()
	}
	if len(b.items) < b.limit {
		return 0
	}
	return b.items[0].score
}

func (b *best) up(i int) {
	for i > 0 && b.items[i].worse(b.items[(i-1)/2]) {
		b.items[i], b.items[(i-1)/2] = b.items[(i-1)/2], b.items[i]
		i = (i - 1) / 2
	}
}

func (b *best) down() {
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < len(b.items) && b.items[child+1].worse(b.items[child]) {
			child++
		}
		if child >= len(b.items) || !b.items[child].worse(b.items[i]) {
			return
		}
		b.items[i], b.items[child] = b.items[child], b.items[i]
		i = child
	}
}

// choose returns the best chunks of some documents of a part, those that match preferred, that score more than floor,
// in order; phrases, where there are any, bounds the chunks. With spread, no document gives more than
// candidatesPerDocument of them.
func (s *scoring) choose(part int, of, matching, phrases segment.Bits, limit int, floor float32, spread bool,
) []candidate {
	if limit == 0 {
		return nil
	}
	b := &best{limit: limit, items: s.r.best[:0]}
	long := longDocument{best: best{limit: candidatesPerDocument}, document: -1}
	spread = spread && s.owners != nil // else no document is long
	chunks, prefer := s.reader.Chunks(), float32(s.plan.prefer)
	least := math.Nextafter32(floor/prefer, 0) // what scores no more is not over floor, even preferred
	raise := func(to float32) {
		if to > floor {
			floor, least = to, math.Nextafter32(to/prefer, 0)
		}
	}
	for page, touched := range s.r.pages {
		if !touched {
			continue
		}
		from := page * pageChunks
		for i, score := range s.r.scores[from:min(from+pageChunks, chunks)] {
			if score <= least {
				continue
			}
			chunk := from + i
			document := s.owners.Of(chunk)
			matches := matching.Has(document)
			if !matches && score <= floor || !of.Has(document) || phrases != nil && !phrases.Has(chunk) {
				continue
			}
			if matches {
				if score *= prefer; score <= floor {
					continue
				}
			}
			if spread && document != long.document {
				raise(long.flush(b))
				long.begin(s, document)
			}
			if long.document == document {
				long.offer(scored{score, uint32(chunk)})
				continue
			}
			raise(b.offer(scored{score, uint32(chunk)}))
		}
	}
	long.flush(b)
	s.r.best = b.items
	slices.SortFunc(b.items, func(a, b scored) int { return cmp.Compare(a.chunk, b.chunk) })
	out := make([]candidate, len(b.items))
	for i, c := range b.items {
		chunk := int(c.chunk)
		document := s.owners.Of(chunk)
		out[i] = candidate{part: part, document: document, chunk: chunk, first: c.score, score: float64(c.score),
			holds: s.held.of(document), below: !matching.Has(document)}
	}
	return out
}

// longDocument collects the best chunks of a document that has more than candidatesPerDocument.
type longDocument struct {
	best
	document int // -1: none is being collected
}

func (l *longDocument) begin(s *scoring, document int) {
	if from, to := s.reader.DocumentChunks(document); to-from > candidatesPerDocument {
		l.document = document
	}
}

// flush passes what was collected on and returns the score that the next chunk must exceed.
func (l *longDocument) flush(to *best) (floor float32) {
	if l.document < 0 {
		return 0
	}
	slices.SortFunc(l.items, func(a, b scored) int { return cmp.Compare(a.chunk, b.chunk) })
	for _, c := range l.items {
		floor = to.offer(c)
	}
	l.items, l.document = l.items[:0], -1
	return floor
}

// floor returns a score just below the worst of a full heap, so that ties with it stay in. What scores less is out,
// whichever part it comes from.
func (b *best) floor() float32 {
	if len(b.items) < b.limit || b.limit == 0 {
		return 0
	}
	return math.Nextafter32(b.items[0].score, 0)
}

// cut sorts the candidates of all parts and keeps the limit best.
func (r *run) cut(all []candidate, limit int) []candidate {
	slices.SortFunc(all, func(a, b candidate) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return r.order(&a, &b)
	})
	return all[:min(len(all), limit)]
}

// place is where a document is.
type place struct{ part, document int }

// fewEach keeps at most perDocument candidates of each document, the first ones. Those of shorter documents are not
// counted, unless it is one of each: a list has some documents twice.
func (r *run) fewEach(all []candidate, perDocument int) []candidate {
	seen := make(map[place]int)
	return slices.DeleteFunc(all, func(c candidate) bool {
		if from, to := r.reader(c.part).DocumentChunks(c.document); to-from <= perDocument && perDocument > 1 {
			return false
		}
		at := place{c.part, c.document}
		seen[at]++
		return seen[at] > perDocument
	})
}

// order is by document id, then chunk.
func (r *run) order(a, b *candidate) int {
	if a.part != b.part {
		return cmp.Compare(r.reader(a.part).ID(a.document), r.reader(b.part).ID(b.document))
	}
	return cmp.Compare(a.chunk, b.chunk)
}

// passages describes candidates.
func (r *run) passages(p *plan, all []candidate) []index.Hit {
	if len(all) == 0 {
		return nil
	}
	hits, lacks := make([]index.Hit, 0, len(all)), make(map[uint64][]string) // few of them lack different words
	for i := range all {
		c := &all[i]
		reader := r.reader(c.part)
		first, _ := reader.DocumentChunks(c.document)
		holds := c.holds & p.all()
		missing, known := lacks[holds]
		if !known {
			missing = p.lacks(holds)
			lacks[holds] = missing
		}
		hits = append(hits, index.Hit{DocumentID: reader.ID(c.document), Chunk: c.chunk - first, Score: c.score,
			Parts: c.parts, Fingerprint: reader.Fingerprint(c.chunk), Below: c.below, Missing: missing})
	}
	return hits
}
