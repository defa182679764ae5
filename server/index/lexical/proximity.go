package lexical

import (
	"cmp"
	"slices"

	"quarry/server/index/segment"
)

// rerank adds the second stage to the candidates' scores.
func (r *run) rerank(p *plan, all []candidate, explain bool) error {
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(a.part-b.part, a.chunk-b.chunk) })
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].part == all[from].part {
			to++
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		stage := &second{r: r, p: p, reader: r.reader(all[from].part), all: all[from:to]}
		stage.run(explain)
		from = to
	}
	return nil
}

// second is the second stage over the candidates of one part, in the order of their chunks.
type second struct {
	r      *run
	p      *plan
	reader *segment.Reader
	all    []candidate
	// per candidate and word: frequency in the title, the range of positions in the arena, whether it occurs.
	titles    []uint32
	positions [][2]int
	occurs    []bool
	arena     []uint32
}

func (s *second) run(explain bool) {
	words := len(s.p.words)
	s.titles = make([]uint32, words*len(s.all))
	s.positions = make([][2]int, words*len(s.all))
	s.occurs = make([]bool, words*len(s.all))
	paired := make([]bool, words)
	for _, pair := range s.p.pairs {
		paired[pair[0]], paired[pair[1]] = true, true
	}
	for w := range s.p.words {
		s.look(w, paired[w])
	}
	for i := range s.all {
		s.score(i, explain)
	}
}

// look finds a word in all candidates.
func (s *second) look(w int, positions bool) {
	list := s.r.postings(s.all[0].part, s.p.words[w].terms)
	for i := range s.all {
		chunk := uint32(s.all[i].chunk)
		next := list.seek(chunk)
		if next == noChunk {
			return
		}
		if next != chunk {
			continue
		}
		at := i*len(s.p.words) + w
		s.occurs[at] = true
		s.titles[at] = list.titles(chunk)
		if positions {
			from := len(s.arena)
			s.arena = list.positions(chunk, s.arena)
			s.positions[at] = [2]int{from, len(s.arena)}
		}
	}
}

// score computes the whole formula for candidate i.
func (s *second) score(i int, explain bool) {
	c, words := &s.all[i], len(s.p.words)
	params := &s.r.s.params
	length := float64(s.reader.TitleLength(c.document))
	norm := params.K1 * (1 - params.B)
	if s.p.title > 0 {
		norm += params.K1 * params.B * length / s.p.title
	}
	title, found, bonus := 0.0, 0.0, 0.0
	for w := range s.p.words {
		word := &s.p.words[w]
		if s.occurs[i*words+w] {
			bonus += word.bonus
		}
		if tf := float64(s.titles[i*words+w]); tf > 0 {
			title += word.weight * word.titleIDF * tf * (params.K1 + 1) / (tf + norm)
			if word.mass > 0 {
				found += word.idf
			}
		}
	}
	near := 0.0
	for _, pair := range s.p.pairs {
		a, b := s.positions[i*words+pair[0]], s.positions[i*words+pair[1]]
		if n := nearness(s.arena[a[0]:a[1]], s.arena[b[0]:b[1]], params.NearUnordered); n > 0 {
			near += min(s.p.words[pair[0]].idf, s.p.words[pair[1]].idf) * n / (n + 1)
		}
	}
	title *= params.Title
	near *= params.Near
	sum := float64(c.first) + title + near
	coverage := 0.0
	if s.p.idf > 0 {
		coverage = sum * params.Coverage * found / s.p.idf
	}
	c.score = sum + coverage
	if explain {
		c.parts = map[string]float64{
			"body": float64(c.first) - bonus, "identifier": bonus, "title": title, "proximity": near, "coverage": coverage,
		}
	}
}

// nearness counts how often b occurs near a: one where it follows within orderedWindow, unordered where it is within
// nearWindow on either side.
func nearness(a, b []uint32, unordered float64) (sum float64) {
	low := 0
	for _, p := range a {
		for low < len(b) && b[low]+nearWindow < p {
			low++
		}
		near := 0.0
		for _, q := range b[low:] {
			if q > p+nearWindow {
				break
			}
			if q > p && q <= p+orderedWindow {
				near = 1
				break
			}
			near = unordered
		}
		sum += near
	}
	return sum
}
