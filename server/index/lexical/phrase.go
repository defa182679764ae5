package lexical

import (
	"math"
	"slices"

	"quarry/server/index/analysis"
	"quarry/server/index/segment"
)

// phrases looks up phrases of words that occur as they are written: "custom" is not "customer", whose stem it is.
func (r *run) phrases(phrases []string) (found [][]PhraseWord) {
	for _, phrase := range phrases {
		var words []PhraseWord
		for _, w := range r.analyser().Phrase(phrase) {
			t := PhraseWord{offset: uint32(w.Position)}
			if w.Prefix {
				t.Terms = r.expansions(w.Surface, w.Term)
			} else {
				t.Surfaces = r.spelt(w)
			}
			words = append(words, t)
		}
		if len(words) > 0 {
			found = append(found, words)
		}
	}
	return found
}

// spelt returns how a word of a phrase may be written: with a German umlaut or without, where documents are in German.
func (r *run) spelt(w analysis.QueryWord) []string {
	if slices.Contains(r.languages().all, analysis.LanguageOf("de")) {
		if other := analysis.OtherUmlauts(w.Written); other != "" && other != w.Surface {
			return []string{w.Surface, other}
		}
	}
	return []string{w.Surface}
}

// phrase looks up what the words of a long form stand for, in all their forms.
func (r *run) phrase(words []analysis.QueryWord) []PhraseWord {
	phrase := make([]PhraseWord, 0, len(words))
	r.analyser().In(r.languages().all, words)
	for _, w := range words {
		t := PhraseWord{Terms: []string{w.Term}, offset: uint32(w.Position)}
		if w.Prefix {
			t.Terms = r.expansions(w.Surface, w.Term)
		}
		t.Terms = append(t.Terms, w.Stems...)
		phrase = append(phrase, t)
	}
	return phrase
}

// postings walks over the chunks of one word of a phrase, or of a word that the second stage looks at.
type postings []termCursor

// termCursor is the place in the postings of one term.
type termCursor struct {
	term   segment.Term
	form   int // which of the term's surfaces is meant, see segment.Surface; 0: any
	block  segment.Block
	loaded int // the block that is loaded; -1: none
	at     int // in block
}

const noChunk = math.MaxUint32

// postings appends those of the terms that a part has.
func (r *run) postings(p postings, part int, terms []string) postings {
	for _, term := range terms {
		if t, ok := r.term(part, term); ok {
			p = append(p, termCursor{term: t, loaded: -1})
		}
	}
	return p
}

// chunks bounds the number of chunks.
func (p postings) chunks() (n int) {
	for i := range p {
		n += p[i].term.Chunks
	}
	return n
}

// seek moves on to the first chunk not before target and returns it; noChunk at the end. Targets must not descend.
func (p postings) seek(target uint32) uint32 {
	first := uint32(noChunk)
	for i := range p {
		first = min(first, p[i].seek(target))
	}
	return first
}

func (c *termCursor) seek(target uint32) uint32 {
	block := max(c.loaded, 0)
	for block = c.term.BlockOf(target, block); block < c.term.Blocks(); block++ {
		if block != c.loaded {
			c.term.Load(block, &c.block)
			c.loaded, c.at = block, 0
		}
		for ; c.at < c.block.N; c.at++ {
			if chunk := c.block.Chunks[c.at]; chunk >= target {
				return chunk
			}
		}
	}
	return noChunk
}

// on reports whether the cursor is at chunk.
func (c *termCursor) on(chunk uint32) bool {
	return c.loaded >= 0 && c.at < c.block.N && c.block.Chunks[c.at] == chunk
}

// positions appends those of all terms in the chunk that seek returned, ascending.
func (p postings) positions(chunk uint32, dst []uint32) []uint32 {
	from, several := len(dst), 0
	for i := range p {
		if c := &p[i]; c.on(chunk) {
			dst = c.term.PositionsOf(&c.block, c.at, c.form, dst)
			several++
		}
	}
	if several > 1 {
		slices.Sort(dst[from:])
		dst = dst[:from+len(slices.Compact(dst[from:]))] // a word may have two terms at its place
	}
	return dst
}

// titles returns how often the terms occur in the title of the chunk that seek returned.
func (p postings) titles(chunk uint32) (n uint32) {
	for i := range p {
		if c := &p[i]; c.on(chunk) {
			_, _, title := c.block.Frequencies(c.at)
			n += title
		}
	}
	return n
}

// occurrences calls yield with every wanted chunk of a part that contains the phrase, ascending, with how often it does
// (0 for a single word in any form), and whether the title has the words. Comparing positions is what takes the time,
// so that chunks that are not wanted cost little.
func (r *run) occurrences(part int, phrase []PhraseWord, wanted func(chunk uint32) bool,
	yield func(chunk uint32, times int, titled bool)) {
	lists := make([]postings, len(phrase))
	rarest := 0
	for i, term := range phrase {
		lists[i] = r.postings(nil, part, term.Terms)
		for _, surface := range term.Surfaces {
			if s, ok := r.reader(part).Surface(surface); ok {
				lists[i] = r.postings(lists[i], part, []string{s.Term})
				lists[i][len(lists[i])-1].form = s.Form
			}
		}
		if lists[i].chunks() < lists[rarest].chunks() {
			rarest = i
		}
	}
	var found []uint32
	var others []uint32
	target := uint32(0)
	for n := 0; ; n++ {
		if n%4096 == 0 {
			r.check()
		}
		chunk := lists[rarest].seek(target)
		if chunk == noChunk {
			return
		}
		next := chunk
		for i := 0; i < len(lists) && next == chunk; i++ {
			next = lists[i].seek(chunk)
		}
		if next > chunk { // a list is further ahead, or at the end
			if next == noChunk {
				return
			}
			target = next
			continue
		}
		if wanted(chunk) && matches(phrase, lists, chunk, &found, &others) {
			yield(chunk, len(found), !slices.ContainsFunc(lists, func(p postings) bool { return p.titles(chunk) == 0 }))
		}
		target = chunk + 1
	}
}

// matches reports whether the words occur at their distances somewhere in the chunk.
func matches(phrase []PhraseWord, lists []postings, chunk uint32, starts, others *[]uint32) bool {
	if len(phrase) == 1 && !slices.ContainsFunc(lists[0], func(c termCursor) bool { return c.form > 0 }) {
		return true
	}
	*starts = lists[0].positions(chunk, (*starts)[:0])
	for i := 1; i < len(phrase) && len(*starts) > 0; i++ {
		*others = lists[i].positions(chunk, (*others)[:0])
		kept := (*starts)[:0]
		for _, start := range *starts {
			if _, ok := slices.BinarySearch(*others, start+phrase[i].offset); ok {
				kept = append(kept, start)
			}
		}
		*starts = kept
	}
	return len(*starts) > 0
}

// restrict takes what the phrases and exclusions of the plan rule out from the filter and its scope. It returns the
// chunks that contain a phrase; nil if there is no phrase.
func (r *run) restrict(part int, p *plan, f *partFilter) (chunks segment.Bits) {
	if len(p.phrases)+len(p.exclude) == 0 {
		return nil
	}
	reader := r.reader(part)
	owners := reader.Owners()
	if len(p.phrases) > 0 {
		chunks = r.bitmap(reader.Chunks())
	}
	among := slices.Clone(f.required)
	for i, word := range f.scope {
		among[i] |= word
	}
	possible := func(chunk uint32) bool { return among.Has(owners.Of(int(chunk))) }
	documents := r.documents(part)
	for _, phrase := range p.phrases {
		clear(documents)
		r.occurrences(part, phrase, possible, func(chunk uint32, _ int, _ bool) {
			chunks.Add(int(chunk))
			documents.Add(owners.Of(int(chunk)))
		})
		among.And(documents)
	}
	for _, phrase := range p.exclude {
		r.occurrences(part, phrase, possible, func(chunk uint32, _ int, _ bool) {
			among.Remove(owners.Of(int(chunk)))
		})
	}
	f.required.And(among)
	f.scope.And(among)
	f.narrow(r, part)
	return chunks
}
