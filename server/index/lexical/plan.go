package lexical

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
)

// word is a word of the query as it is scored.
type word struct {
	analysis.QueryWord
	// terms are looked up as if they were one: the word's own, or all that a prefix stands for.
	terms []string
	// forms are what it is an acronym of.
	forms [][]PhraseWord
	// weight multiplies the word's share of the score.
	weight float64
	// idf is over chunks, titleIDF over titles.
	idf, titleIDF float64
	// bits are the word's among those of the query that count when documents are matched; 0: it does not.
	bits uint64
	// bonus is added once where the word is an identifier that occurs.
	bonus float64
}

// plan is a query prepared for the parts.
type plan struct {
	words   []word
	phrases [][]PhraseWord
	exclude [][]PhraseWord
	missing []analysis.QueryWord // that no document contains which the caller may see
	instead []index.Correction   // the parts of missing words that documents contain
	pairs   [][2]int             // neighbours among words
	counted []string             // the words that count, by their bits; no more than fit
	sure    uint64               // of those, the ones that are no corrections of a short word
	// corrected: unknown words were replaced; browses: without words, every document matches.
	corrected, browses bool
	reached            index.Level // of the query, as far as the parts looked at decide it; LevelAny without any
	enough             int         // see suffice
	idf                float64     // sum over the words that count
	lookup             float64     // how much the query is a lookup, from 0 to 1
	prefer             float64     // what the score of a document that matches is multiplied by
	language           string      // of the query, if it has rules
	share              float64     // of documents in it; 0: not known
	average            float64     // weighted length of a chunk
	title              float64     // average length of a title
	// postings is how many are read for the words.
	postings int64
}

// phraseBreak keeps the words of different phrases from being neighbours.
const phraseBreak = 1000

// typed returns the words of a query in a language as they were typed, and the unknown last one that stays a prefix, if
// there is one.
func (r *run) typed(l *analysis.Language, q *index.Query) (content []analysis.QueryWord, kept string) {
	a := r.analyser()
	words := a.Words(q.Text, q.Prefix)
	if n := len(words); q.PrefixIfUnknown && n > 0 {
		kept = r.unfinished(words[n-1])
		words[n-1].Prefix = words[n-1].Prefix || kept != ""
	}
	words = append(words, joined(q.Text, words)...)
	words = append(words, r.acronyms(q.Text)...)
	position := phraseBreak
	for _, phrase := range q.Phrases {
		more := a.Words(phrase, false)
		for i := range more {
			more[i].Position += position
			more[i].Exact = r.spelt(more[i])
			for j := range more[i].Parts {
				more[i].Parts[j].Position += position
				more[i].Parts[j].Exact = r.spelt(more[i].Parts[j])
			}
		}
		words = append(words, more...)
		position += phraseBreak
	}
	words = analysis.Content(words, l)
	a.In(r.languages().all, words)
	r.compounds(l, words)
	return words, kept
}

// unfinished returns the word, or of an unknown identifier its last part, if it stands in no document that the caller
// may see, but is the beginning of others that do.
func (r *run) unfinished(w analysis.QueryWord) string {
	if r.shows(w.Surface) {
		return ""
	}
	begun := analysis.QueryWord{Token: w.Token, Prefix: true}
	if len(r.alternatives(begun)) > 1 { // its own term is one of them
		return w.Surface
	}
	if n := len(w.Parts); n > 0 {
		return r.unfinished(w.Parts[n-1])
	}
	return ""
}

// plan looks the words of a query up.
func (r *run) plan(l *analysis.Language, words []analysis.QueryWord, q *index.Query) *plan {
	p := &plan{}
	if l != nil {
		p.language, p.share = l.Code, float64(r.languages().documents[l.Code])/float64(r.s.stats.Documents)
	}
	stats := &r.s.stats
	params := &r.s.params
	if stats.Chunks > 0 {
		p.average = (float64(stats.BodyTokens) + params.HeadingWeight*float64(stats.HeadingTokens) +
			params.TitleWeight*float64(stats.ChunkTitleTokens)) / float64(stats.Chunks)
		p.title = float64(stats.TitleTokens) / float64(stats.Documents)
	}
	var spellings []analysis.QueryWord
	for _, w := range words {
		switch {
		case len(p.words) >= maxWords:
		case w.Kind == analysis.Compound:
			spellings = append(spellings, w)
		default:
			r.resolve(p, w)
		}
	}
	p.words = p.words[:min(len(p.words), maxWords)]
	for _, w := range spellings[:min(len(spellings), maxWords-len(p.words))] {
		r.spell(p, w)
	}
	p.finish(params)
	p.browses = q.List != nil && q.List.Browse && len(p.words) == 0
	p.phrases, p.exclude = r.phrases(q.Phrases), r.phrases(q.Exclude)
	r.suffice(p, q)
	return p
}

// resolve adds the words that a query word stands for: an identifier that occurs nowhere, as far as the caller may see,
// is looked for by its parts.
func (r *run) resolve(p *plan, w analysis.QueryWord) {
	if len(w.Parts) == 0 {
		weight := 1.0
		if w.Overlaps {
			weight = r.s.params.Pair
		}
		if known := r.add(p, w, weight, true); !known && w.Kind != analysis.Ideograph {
			p.missing = append(p.missing, w)
		}
		return
	}
	whole := w
	whole.Parts = nil
	if !r.visible(whole) {
		var known []string
		for i, part := range w.Parts {
			part.Prefix = w.Prefix && i == len(w.Parts)-1
			if r.add(p, part, 1, true) {
				known = append(known, part.Surface)
			}
		}
		if len(known) < len(w.Parts) {
			p.missing = append(p.missing, w)
			if len(known) > 0 {
				p.instead = append(p.instead, index.Correction{From: w.Surface, To: strings.Join(known, " ")})
			}
		}
		return
	}
	r.add(p, w, 1, true)
	for _, part := range w.Parts {
		if !text.IsStopWord(part.Surface) { // US is not us
			r.add(p, part, r.s.params.Part, false)
		}
	}
}

// expand fills in the terms of a word and returns their summed statistics. A word that only documents contain which the
// caller may not see counts like one that no document contains: neither numbers nor scores differ.
func (r *run) expand(w *word) (n segment.TermCounts) {
	w.terms = r.alternatives(w.QueryWord)
	r.lookUp(w.terms)
	most := int64(0)
	var inLanguages segment.TermCounts
	for _, term := range w.terms {
		counts := r.termCounts(term)
		if most = max(most, counts.Documents); analysis.LanguageOfTerm(term) != nil {
			inLanguages.Add(counts, 1)
		} else {
			n.Add(counts, 1)
		}
	}
	n = n.Max(inLanguages) // most documents that contain the word have both of its terms
	if n.Documents == 0 || most > r.s.stats.Documents-r.admitted() || r.anyIn(w.terms) {
		return n // more documents contain it than are out of sight, or one was looked for and found
	}
	return segment.TermCounts{}
}

// add adds one word, and reports whether a document contains it which the caller may see. A word that the plan has
// already weighs more: BM25 multiplies by the frequency in the query.
func (r *run) add(p *plan, q analysis.QueryWord, weight float64, matched bool) (known bool) {
	w := word{QueryWord: q, weight: weight}
	n := r.expand(&w)
	p.postings += n.Chunks
	stats := &r.s.stats
	had := slices.IndexFunc(p.words, func(had word) bool { return had.Term == q.Term && had.Prefix == q.Prefix })
	if matched && len(p.counted) < maxCounted && (had < 0 || p.words[had].bits == 0) {
		w.bits = 1 << len(p.counted)
		p.counted = append(p.counted, q.Surface)
	}
	if had >= 0 {
		p.words[had].weight += weight
		p.words[had].bits |= w.bits
		if q.Exact == nil {
			p.words[had].Exact = nil
		} else if p.words[had].Exact != nil {
			p.words[had].Exact = append(p.words[had].Exact, q.Exact...)
		}
		return n.Documents > 0
	}
	w.idf = idf(stats.Chunks, n.Chunks)
	w.titleIDF = idf(stats.Documents, n.Titles)
	if in := r.countsIn(p.language, w.terms); p.share > 0 && in.Documents > 0 && n.Documents > 0 {
		part := func(all int64) int64 { return int64(math.Round(p.share * float64(all))) }
		w.idf, w.titleIDF = idf(part(stats.Chunks), in.Chunks), idf(part(stats.Documents), in.Titles)
	}
	if w.Identifier() {
		w.bonus = r.s.params.Identifier * w.idf
	}
	if matched && q.Kind != analysis.Compound {
		w.forms = r.longForms(strings.ToLower(q.Surface))
	}
	p.words = append(p.words, w)
	return n.Documents > 0
}

// finish derives what depends on all words.
func (p *plan) finish(params *Params) {
	last, length := -1, 0
	for i, w := range p.words {
		if w.bits == 0 || w.Kind == analysis.Compound {
			continue
		}
		p.idf += w.idf
		length = max(length, w.Position%phraseBreak+1)
		if last >= 0 && w.Position-p.words[last].Position < phraseBreak/2 {
			p.pairs = append(p.pairs, [2]int{last, i})
		}
		last = i
	}
	p.lookup = max(0, 1-float64(length)/params.LookupWords)
	if len(p.counted) > 0 {
		p.reached = index.LevelAny
	}
	p.prefer = 1 + params.LookupMatch*p.lookup
}

// expansions returns the terms that a prefix stands for: those of the surfaces that most documents contain, and one at
// least that the caller may see, and the term of the prefix itself. What they may not see takes no place among them.
func (r *run) expansions(prefix, own string) []string {
	everything := r.admitted() == r.s.stats.Documents
	shown := func(surface string) bool { return everything || r.shows(surface) }
	var items []Surface
	if r.far != nil {
		items = r.seenExpansions(prefix)
	} else if frequent, ok := r.frequent(prefix, shown); ok {
		items = frequent
	} else {
		items = r.mostUsed(prefix, maxExpansions, shown)
	}
	terms := []string{own}
	for _, c := range items {
		terms = append(terms, c.Term)
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// mostUsed returns the surfaces with a prefix that most documents contain, of those that wanted accepts.
func (r *run) mostUsed(prefix string, limit int, wanted func(surface string) bool) []Surface {
	best := bestSurfaces{limit: limit}
	r.surfaces(prefix, func(at *segment.Cursor, documents int64) {
		if best.accepts(documents) && wanted(string(at.Key())) {
			s := at.Surface()
			best.add(Surface{s.Surface, s.Term, documents})
		}
	})
	return best.items
}

const (
	// shortPrefix is the length in bytes up to which a searcher remembers what a prefix stands for: so many words begin
	// with it that to look at all of them takes milliseconds.
	shortPrefix = 2
	// maxFrequent surfaces are remembered, of which a caller may see some.
	maxFrequent = 256
)

// frequent returns the surfaces with a short prefix that most documents contain, of those that wanted accepts. ok is
// false if another surface could be among them.
func (r *run) frequent(prefix string, wanted func(surface string) bool) (items []Surface, ok bool) {
	if prefix == "" || len(prefix) > shortPrefix {
		return nil, false
	}
	known, cached := r.s.frequents.Load(prefix)
	all, _ := known.([]Surface)
	if !cached {
		all = r.mostUsed(prefix, maxFrequent, func(string) bool { return true })
		r.s.frequents.Store(prefix, all)
	}
	for _, c := range all {
		if !wanted(c.Surface) {
			continue
		}
		if items = append(items, c); len(items) == maxExpansions {
			return items, true
		}
	}
	return items, len(all) < maxFrequent
}

// shows reports whether the caller may see a document with a surface.
func (r *run) shows(surface string) bool {
	if r.far != nil {
		return r.far.SeesSurface([]string{surface})[0]
	}
	for part, rights := range r.rights() {
		if s, ok := r.reader(part).Surface(surface); ok && s.In(rights) {
			return true
		}
	}
	return false
}

// first is the level that a query begins at.
func (p *plan) first() index.Level {
	if len(p.counted) <= strictWords {
		return index.LevelAll
	}
	return index.LevelMost
}

// least is how many of the words that count a document of a level holds at least.
func (p *plan) least(level index.Level) int {
	switch level {
	case index.LevelAll:
		return len(p.counted)
	case index.LevelMost:
		return len(p.counted)/2 + 1
	}
	return 1
}

// suffice sets how many documents of the scope hold the words of a level, for it to be that of the query.
func (r *run) suffice(p *plan, q *index.Query) {
	if p.enough = 1; len(p.counted) <= strictWords {
		return
	}
	documents := int64(0)
	switch {
	case r.far != nil:
		documents = r.far.InScope(q.ScopeFilter())
	case q.Scope == nil:
		documents = r.admitted()
	default:
		for part := range r.s.parts {
			documents += int64(r.scope(part, q, nil).Count())
		}
	}
	p.enough = max(1, min(int(r.s.params.Enough*float64(documents)), maxEnough))
}

// all are the bits of the words that count.
func (p *plan) all() uint64 { return 1<<len(p.counted) - 1 }

// enoughOf is enough of a level: any word of one document is.
func (p *plan) enoughOf(level index.Level) int {
	if level == index.LevelAny {
		return 1
	}
	return p.enough
}

// of is the level of the query where documents of its scope reach levels; 0 without any.
func (t reached) of(p *plan) index.Level {
	for level := p.first(); level > 0; level-- {
		if t[level] >= p.enoughOf(level) {
			return level
		}
	}
	return 0
}

// asTyped notes that words were replaced, which are named as they were typed where a document lacks them.
func (p *plan) asTyped(corrections []index.Correction) {
	p.corrected, p.sure = len(corrections) > 0, p.all()
	for i, word := range p.counted {
		for _, c := range corrections {
			if slices.Contains(strings.Fields(c.To), word) {
				p.counted[i] = c.From
				if utf8.RuneCountInString(c.From) < sureLetters {
					p.sure &^= 1 << i
				}
			}
		}
	}
}

// lacks returns the words that count of which a document with others has none.
func (p *plan) lacks(holds uint64) (words []string) {
	for i, word := range p.counted {
		if holds>>i&1 == 0 {
			words = append(words, word)
		}
	}
	return slices.Compact(words) // the parts of a word that was split are one
}
