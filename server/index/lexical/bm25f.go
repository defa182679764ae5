package lexical

import (
	"quarry/server/index/segment"
)

// pageChunks is the number of chunks in a page; only pages that a posting touched are looked at and cleared again.
const pageChunks = 1024

// scoring is the first stage over one part: every posting of every word, into one score per chunk, and for each
// document the words that it holds. The score is BM25F (Robertson, Zaragoza and Taylor, Simple BM25 extension to
// multiple weighted fields, CIKM 2004): the weighted frequencies of the fields are added before they saturate.
type scoring struct {
	r      *run
	part   int
	reader *segment.Reader
	plan   *plan
	owners segment.Owners
	length []float32 // weighted length of every chunk
	// saturation of a frequency f in a chunk of length l is f / (f + base + slope·l)
	base, slope float32
	heading     float32
	title       float32
	held        held
}

// score runs the first stage over a part. The scores and words are in the run's scratch until the next part.
func (r *run) score(part int, p *plan) *scoring {
	reader := r.reader(part)
	params := &r.s.params
	s := &scoring{
		r: r, part: part, reader: reader, plan: p, owners: reader.Owners(), length: r.lengths(reader),
		base: float32(params.K1 * (1 - params.B)), heading: float32(params.HeadingWeight),
		title: float32(params.TitleWeight), held: r.held(part, p),
	}
	if p.average > 0 {
		s.slope = float32(params.K1 * params.B / p.average)
	}
	r.grow(reader)
	for i := range p.words {
		r.check()
		s.word(&p.words[i])
	}
	return s
}

// grow makes room for a part; what there is, is zero already.
func (r *run) grow(reader *segment.Reader) {
	chunks := reader.Chunks()
	if len(r.scores) < chunks {
		r.scores = make([]float32, chunks)
		r.group = make([]float32, chunks)
		r.pages = make([]bool, chunks/pageChunks+1)
	}
}

// lengths returns the weighted length of every chunk of a segment.
func (r *run) lengths(reader *segment.Reader) []float32 {
	type key struct{ heading, title float64 }
	params := &r.s.params
	return segment.Derived(reader, key{params.HeadingWeight, params.TitleWeight}, func() []float32 {
		lengths := make([]float32, reader.Chunks())
		for d := range reader.Documents() {
			title := params.TitleWeight * float64(reader.TitleLength(d))
			from, to := reader.DocumentChunks(d)
			for chunk := from; chunk < to; chunk++ {
				lengths[chunk] = float32(float64(reader.BodyLength(chunk)) +
					params.HeadingWeight*float64(reader.HeadingLength(chunk)) + title)
			}
		}
		return lengths
	})
}

// word adds one word.
func (s *scoring) word(w *word) {
	factor := float32(w.weight * w.idf * (s.r.s.params.K1 + 1))
	if w.Prefix || len(w.forms) > 0 {
		s.groupOf(w, factor)
		return
	}
	var most segment.Term
	var others []segment.Term // as most words have second terms in a library of several languages
	for _, name := range w.terms {
		if t, ok := s.r.term(s.part, name); ok {
			if t.Chunks > most.Chunks {
				t, most = most, t
			}
			if t.Chunks > 0 {
				others = append(others, t)
			}
		}
	}
	for i := range others {
		s.gather(&others[i], w.bits)
	}
	s.term(&most, len(others) > 0, factor, float32(w.bonus), w.bits)
	if len(others) > 0 {
		s.ungroup(factor, float32(w.bonus), w.bits)
	}
}

// term adds the postings of a term, with those of a group that it belongs to.
func (s *scoring) term(t *segment.Term, grouped bool, factor, bonus float32, words uint64) {
	b := &s.r.block
	for i := range t.Blocks() {
		t.Load(i, b)
		s.mark(b)
		if grouped {
			s.blockOfGroup(b, factor, bonus)
		} else {
			s.block(b, factor, bonus)
		}
		s.hold(b.Chunks[:b.N], words)
		s.entitle(b, words)
	}
}

// mark notes the pages of a block.
func (s *scoring) mark(b *segment.Block) {
	if b.N == 0 {
		return
	}
	first, last := b.Chunks[0]/pageChunks, b.Chunks[b.N-1]/pageChunks
	if last-first < segment.BlockSize {
		for page := first; page <= last; page++ {
			s.r.pages[page] = true
		}
		return
	}
	for _, chunk := range b.Chunks[:b.N] {
		s.r.pages[chunk/pageChunks] = true
	}
}

// block adds the scores of a block.
func (s *scoring) block(b *segment.Block, factor, bonus float32) {
	scores, length := s.r.scores, s.length
	base, slope := s.base, s.slope
	if !b.HasHeadings && !b.HasTitles {
		for i, chunk := range b.Chunks[:b.N] {
			f := float32(b.Body[i])
			scores[chunk] += factor*f/(f+(base+slope*length[chunk])) + bonus
		}
		return
	}
	for i, chunk := range b.Chunks[:b.N] {
		f := s.frequency(b, i)
		scores[chunk] += factor*f/(f+(base+slope*length[chunk])) + bonus
	}
}

// blockOfGroup adds the scores of a block, and takes those of its chunks from the group.
func (s *scoring) blockOfGroup(b *segment.Block, factor, bonus float32) {
	for i, chunk := range b.Chunks[:b.N] {
		f := s.frequency(b, i) + s.r.group[chunk]
		s.r.group[chunk] = 0
		s.r.scores[chunk] += factor*f/(f+(s.base+s.slope*s.length[chunk])) + bonus
	}
}

// frequency weighs the fields of posting i.
func (s *scoring) frequency(b *segment.Block, i int) float32 {
	f := float32(b.Body[i])
	if b.HasHeadings {
		f += s.heading * float32(b.Headings[i])
	}
	if b.HasTitles {
		f += s.title * float32(b.Titles[i])
	}
	return f
}

// clear makes the scratch ready for the next part.
func (s *scoring) clear() {
	chunks := s.reader.Chunks()
	for page, touched := range s.r.pages {
		if !touched {
			continue
		}
		s.r.pages[page] = false
		from := page * pageChunks
		to := min(from+pageChunks, chunks)
		clear(s.r.scores[from:to])
	}
}

// discard is clear after a failure, when the marks cannot be trusted.
func (r *run) discard() {
	clear(r.scores)
	clear(r.group)
	r.grouped = r.grouped[:0]
	clear(r.pages)
}
