package lexical

import (
	"math/bits"

	"quarry/server/index"
	"quarry/server/index/segment"
)

// held are the documents of a part that hold the words of a query which count, a set for each word.
type held struct {
	words  []segment.Bits
	titles []segment.Bits // of those that have it in their title; nil without any
}

// held returns room for the words of a plan.
func (r *run) held(part int, p *plan) held {
	h := held{make([]segment.Bits, len(p.counted)), make([]segment.Bits, len(p.counted))}
	for word := range h.words {
		h.words[word] = r.documents(part)
	}
	return h
}

// hold notes words of the documents of chunks.
func (s *scoring) hold(chunks []uint32, words uint64) {
	for ; words > 0; words &= words - 1 {
		documents, at, some := s.held.words[bits.TrailingZeros64(words)], uint32(0), uint64(0)
		for _, document := range chunks {
			if s.owners != nil {
				document = s.owners[document]
			}
			if document/64 != at { // one after the other would wait for each to be written
				documents[at] |= some
				at, some = document/64, 0
			}
			some |= 1 << (document % 64)
		}
		documents[at] |= some
	}
}

// entitle notes words of the titles of a block's documents.
func (s *scoring) entitle(b *segment.Block, words uint64) {
	if !b.HasTitles {
		return
	}
	for ; words > 0; words &= words - 1 {
		titled := s.titled(words)
		for i, n := range b.Titles[:b.N] {
			if n > 0 {
				titled.Add(s.owners.Of(int(b.Chunks[i])))
			}
		}
	}
}

// titled returns the set of documents with the first of words in their title.
func (s *scoring) titled(words uint64) segment.Bits {
	titles := &s.held.titles[bits.TrailingZeros64(words)]
	if *titles == nil {
		*titles = s.r.documents(s.part)
	}
	return *titles
}

// of returns the words that a document holds, a bit for each, and from bit inTitle on those that its title has.
func (h *held) of(document int) (words uint64) {
	for word, documents := range h.words {
		if !documents.Has(document) {
			continue
		}
		words |= 1 << word
		if titled := h.titles[word]; titled != nil && titled.Has(document) {
			words |= 1 << (word + inTitle)
		}
	}
	return words
}

// numbers are those of 64 documents: bit i of the first one is the lowest bit of the number of document i.
type numbers [7]uint64

// count returns how many words each of 64 documents holds, those of titles as two in the title.
func (h *held) count(at int, titles uint64) (n numbers) {
	most := 0
	add := func(some uint64) {
		most++
		for i := range bits.Len(uint(most)) {
			n[i], some = n[i]^some, n[i]&some
		}
	}
	for word, documents := range h.words {
		add(documents[at])
		if titled := h.titles[word]; titles>>word&1 == 1 && titled != nil {
			add(titled[at])
		}
	}
	return n
}

// any returns which of 64 documents hold a word.
func (h *held) any(at int) (some uint64) {
	for _, documents := range h.words {
		some |= documents[at]
	}
	return some
}

// atLeast returns which of 64 documents have at least a number.
func (n *numbers) atLeast(least int) uint64 {
	more, same := uint64(0), ^uint64(0)
	for i := len(n) - 1; i >= 0; i-- {
		if least>>i&1 == 0 {
			more, same = more|same&n[i], same&^n[i]
		} else {
			same &= n[i]
		}
	}
	return more | same
}

// reached is how many documents hold the words of a level, by level.
type reached [index.LevelAll + 1]int

// add counts others, too.
func (t *reached) add(other reached) {
	for level, n := range other {
		t[level] += n
	}
}

// reaches counts the documents of the scope, as many as can matter for the level.
func (s *scoring) reaches(f *partFilter) (t reached) {
	for at, among := range f.scope {
		if among &= s.held.any(at); among == 0 {
			continue
		}
		n := s.held.count(at, 0)
		for level := s.plan.first(); level > 0 && t[level] < s.plan.enoughOf(level); level-- {
			t[level] += bits.OnesCount64(among & n.atLeast(s.plan.least(level)))
		}
		if first := s.plan.first(); t[first] >= s.plan.enoughOf(first) {
			break
		}
	}
	return t
}

// match finds the documents of a part that reach a level, to which a word of the title counts twice, unless it may be
// another one than was meant. Without keep they are only counted.
func (s *scoring) match(f *partFilter, level index.Level, keep bool) partMatches {
	if s.plan.browses {
		return s.everything(f)
	}
	matching := segment.NewBits(s.reader.Documents())
	if level == 0 {
		return partMatches{pass: matching}
	}
	least := s.plan.least(level)
	for at, among := range f.required {
		if among &= s.held.any(at); among != 0 && least > 1 {
			n := s.held.count(at, s.plan.sure)
			among &= n.atLeast(least)
		}
		matching[at] = among
	}
	m := f.sort(matching, keep)
	for at, all := range m.pass {
		for _, documents := range s.held.words {
			all &= documents[at]
		}
		m.all += bits.OnesCount64(all)
	}
	return m
}
