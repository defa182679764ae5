package lexical

import (
	"cmp"
	"slices"

	"quarry/client/field"
	"quarry/server/index/segment"
)

// rerank adds the second stage to the candidates' scores.
func (r *run) rerank(p *plan, all []candidate, explain bool) {
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(a.part-b.part, a.chunk-b.chunk) })
	starts := make([]int, len(r.s.parts)+1) // found first: while parts are scored, other candidates may not be read
	for part := range starts {
		starts[part], _ = slices.BinarySearchFunc(all, part, func(c candidate, part int) int { return c.part - part })
	}
	const postingsEach = 64 // that finding a word in a candidate costs
	r.eachPart(int64(postingsEach*len(all)*len(p.words)), func(r *run, part int) {
		from, to := starts[part], starts[part+1]
		if from < to {
			stage := &second{r: r, p: p, reader: r.reader(part), all: all[from:to], finds: &r.finds}
			stage.run(explain)
		}
	})
}

// second is the second stage over the candidates of one part, in the order of their chunks.
type second struct {
	r      *run
	p      *plan
	reader *segment.Reader
	all    []candidate
	same   segment.Bits // documents in the language of the query; nil: it is not known
	*finds
}

// finds are, per candidate and word: frequency in the title, the range of positions in the arena, whether it occurs.
type finds struct {
	titles    []uint32
	positions [][2]int
	occurs    []bool
	arena     []uint32
}

func (s *second) run(explain bool) {
	words := len(s.p.words)
	s.titles, s.positions = resize(s.titles, words*len(s.all)), resize(s.positions, words*len(s.all))
	s.occurs, s.arena = resize(s.occurs, words*len(s.all)), s.arena[:0]
	if set, ok := s.reader.FieldFilter(field.Lang, s.p.language); ok && s.p.language != "" {
		s.same = segment.NewBits(s.reader.Documents())
		set.Union(s.same)
	}
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
	s.r.cursors = s.r.postings(s.r.cursors[:0], s.all[0].part, s.p.words[w].terms)
	list := s.r.cursors
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
	bonus := 0.0
	for w := range s.p.words {
		if s.occurs[i*words+w] {
			bonus += s.p.words[w].bonus
		}
	}
	title := (params.Title + params.LookupTitle*s.p.lookup) * s.title(i)
	near := params.Near * s.proximity(i)
	prefer := 1.0
	if !c.below {
		prefer = s.p.prefer
	}
	first := float64(c.first) / prefer
	sum := first + title + near
	coverage := sum * s.coverage(i)
	matched := (sum + coverage) * prefer
	c.score = matched
	if s.same != nil && s.same.Has(c.document) {
		c.score *= 1 + params.Language
	}
	if explain {
		c.parts = map[string]float64{
			"language": c.score - matched, "match": matched - matched/prefer, "body": first - bonus,
			"identifier": bonus, "title": title, "proximity": near, "coverage": coverage,
		}
	}
}
