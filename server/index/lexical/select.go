package lexical

import (
	"cmp"
	"container/heap"
	"slices"
)

// candidate is a passage that the first stage chose.
type candidate struct {
	part, document, chunk int
	first                 float32 // score of the first stage
	score                 float64 // of the stages so far
	parts                 map[string]float64
}

// best keeps the limit best candidates of one part: the worst of them is on top.
type best struct {
	limit int
	items []candidate
}

func (b *best) Len() int { return len(b.items) }

func (b *best) Less(i, j int) bool {
	if b.items[i].first != b.items[j].first {
		return b.items[i].first < b.items[j].first
	}
	return b.items[i].chunk > b.items[j].chunk
}

func (b *best) Swap(i, j int) { b.items[i], b.items[j] = b.items[j], b.items[i] }

func (b *best) Push(x any) {
	if c, ok := x.(candidate); ok {
		b.items = append(b.items, c)
	}
}

func (b *best) Pop() any {
	last := b.items[len(b.items)-1]
	b.items = b.items[:len(b.items)-1]
	return last
}

// offer takes a candidate if it is among the best; chunks must be offered in ascending order.
func (b *best) offer(c candidate) {
	switch {
	case len(b.items) < b.limit:
		heap.Push(b, c)
	case b.limit > 0 && c.first > b.items[0].first:
		b.items[0] = c
		heap.Fix(b, 0)
	}
}

// floor is the score that a candidate must exceed.
func (b *best) floor() float32 {
	if len(b.items) < b.limit {
		return 0
	}
	return b.items[0].first
}

// choose returns the best chunks of a part that pass the filter; phrases, where there are any, bounds the chunks.
func (s *scoring) choose(part int, f *partFilter, phrases []uint64, limit int) []candidate {
	if limit == 0 {
		return nil
	}
	b := &best{limit: limit}
	floor := float32(0)
	chunks := s.reader.Chunks()
	for page, touched := range s.r.pages {
		if !touched {
			continue
		}
		from := page * pageChunks
		for i, score := range s.r.scores[from:min(from+pageChunks, chunks)] {
			if score <= floor {
				continue
			}
			chunk := from + i
			document := s.owner(chunk)
			if !has(f.pass, document) || phrases != nil && !has(phrases, chunk) {
				continue
			}
			b.offer(candidate{part: part, document: document, chunk: chunk, first: score, score: float64(score)})
			floor = b.floor()
		}
	}
	return b.items
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

// order is by document id, then chunk.
func (r *run) order(a, b *candidate) int {
	if a.part != b.part {
		x, y := r.reader(a.part).ID(a.document), r.reader(b.part).ID(b.document)
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a.chunk, b.chunk)
}
