package lexical

import (
	"slices"
	"unicode/utf8"

	"quarry/server/index"
	"quarry/server/index/analysis"
)

// joined returns the compounds that neighbouring words of a query can be.
func joined(query string, words []analysis.QueryWord) (found []analysis.QueryWord) {
	for i := 1; i < min(len(words), maxWords); i++ {
		if w, ok := analysis.Joined(query, words[i-1], words[i]); ok {
			found = append(found, w)
		}
	}
	return found
}

// alternatives returns what is looked up for a word as if it were one term: its own term and that of its compounds
// (oncall: on-call), for a prefix those of all words and compounds that begin with it; and its stems in the languages
// of the library.
func (r *run) alternatives(w analysis.QueryWord) []string {
	terms := append([]string{w.Term}, w.Stems...)
	if w.Prefix {
		for _, surface := range r.spelt(w) {
			if len(surface) >= len(w.Surface) { // ü begins words with ue; ue is seldom an umlaut
				terms = append(terms, r.expansions(surface, w.Term)...)
			}
		}
	}
	if w.Kind == analysis.Word || w.Kind == analysis.Ideograph {
		compound := w.Hyphenated()
		if r.anyIn([]string{compound.Term}) {
			terms = append(terms, compound.Term)
		}
		if w.Prefix {
			terms = append(terms, r.expansions(compound.Surface, w.Term)...)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// spell adds a compound of words that the plan has, as others write it (on call: oncall), if a document contains it
// which the caller may see. Such a document counts as if it contained those words, but the query asks for no more than
// before.
func (r *run) spell(p *plan, w analysis.QueryWord) {
	w = w.Solid()
	if !r.anyIn(r.alternatives(w)) {
		return
	}
	covers := func(had analysis.QueryWord) bool {
		return had.Kind != analysis.Compound && had.Position >= w.Position && had.Position < w.Position+phraseBreak/2 &&
			had.Start >= w.Start && had.End <= w.End
	}
	p.missing = slices.DeleteFunc(p.missing, covers)
	covered := uint64(0)
	for _, had := range p.words {
		if had.Term == w.Term && had.Prefix == w.Prefix {
			return
		}
		if covers(had.QueryWord) {
			covered |= had.bits
		}
	}
	weight := r.s.params.Spelling
	if w.Acronym {
		weight = r.s.params.Acronym
	}
	r.add(p, w, weight, false)
	p.words[len(p.words)-1].bits = covered
}

// compounds splits the compounds among the words of a query, in its language, or in those of the library where a short
// query does not show it, if documents that the caller may see have the parts.
func (r *run) compounds(l *analysis.Language, words []analysis.QueryWord) {
	languages := []*analysis.Language{l}
	if l == nil {
		languages = r.languages().all
		if len(words) >= fewestWords {
			return
		}
	}
	proven := func(term string) bool { return r.anyIn([]string{term}) }
	for i := range words {
		for _, l := range languages {
			l.Split(&words[i], proven)
		}
	}
}

// fewestLetters is how many letters a part of a split word has at least.
const fewestLetters = 2

// split divides an unknown word into two that follow each other in a document which the caller may see, the first part
// as short as possible; nil if there are none.
func (r *run) split(w analysis.QueryWord) []analysis.QueryWord {
	runes := 0
	for i := range w.Surface {
		if runes++; runes <= fewestLetters || utf8.RuneCountInString(w.Surface[i:]) < fewestLetters {
			continue
		}
		if !r.shows(w.Surface[:i]) || !r.shows(w.Surface[i:]) {
			continue
		}
		parts := r.respelt(w, w.Surface[:i], w.Surface[i:])
		var phrase []PhraseWord
		for at, part := range parts {
			phrase = append(phrase, PhraseWord{Terms: append([]string{part.Term}, part.Stems...), offset: uint32(at)})
		}
		if r.occurs(phrase) {
			return parts
		}
	}
	return nil
}

// respelt returns the words that were meant by one of a query.
func (r *run) respelt(w analysis.QueryWord, surfaces ...string) (meant []analysis.QueryWord) {
	a := r.analyser()
	for _, surface := range surfaces {
		t := w.Token
		t.Kind, t.Surface, t.Written, t.Term = analysis.Word, surface, surface, a.TermOf([]byte(surface))
		meant = append(meant, analysis.QueryWord{Token: t})
	}
	a.In(r.languages().all, meant)
	return meant
}

// occurs reports whether a document that the caller may see contains a phrase.
func (r *run) occurs(phrase []PhraseWord) (found bool) {
	wanted := Wanted{Filter: index.Filter{Access: r.access}, Phrases: [][]PhraseWord{phrase}, Limit: candidates}
	r.fetched(wanted, func(int) {
		for part, rights := range r.rights() { // of what was fetched, if documents are elsewhere
			reader := r.reader(part)
			among := func(chunk uint32) bool { return !found && rights.Has(reader.Owners().Of(int(chunk))) }
			r.occurrences(part, phrase, among, func(uint32, int, bool) { found = true })
			if found {
				return
			}
		}
	})
	return found
}
