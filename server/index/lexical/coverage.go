package lexical

import (
	"slices"
	"unicode/utf8"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
)

// coverage returns what share of the query the title of candidate i covers, by idf, and for lookups how much of the
// title is covered: all of it where a name of the document has nothing else. It multiplies the rest of the score, so
// that a title alone finds nothing. The formula is our own, chosen by make bench-quality.
func (s *second) coverage(i int) float64 {
	params := &s.r.s.params
	idf, covered, bits := 0.0, 0.0, uint64(0)
	for w := range s.p.words {
		w, titled := &s.p.words[w], s.titles[i*len(s.p.words)+w] > 0
		if titled = titled || len(w.forms) > 0 && s.all[i].holds>>inTitle&w.bits != 0; titled && w.bits > 0 {
			idf += w.idf
			covered++
			bits |= w.bits
		}
	}
	if idf == 0 || s.p.idf == 0 {
		return 0
	}
	exact := min(1, covered/float64(s.reader.TitleLength(s.all[i].document)))
	if s.p.lookup > 0 && bits == s.p.all() && s.isNamed(s.all[i].document) {
		exact = 1
	}
	return (params.Coverage + params.LookupExact*s.p.lookup*exact) * min(1, idf/s.p.idf)
}

// isNamed reports whether a name of a document is made of the words of the query that count, all of them, and of stop
// words.
func (s *second) isNamed(document int) bool {
	analyser := s.r.analyser()
	d := index.Document{ID: s.reader.ID(document), Title: s.reader.Title(document)}
	return slices.ContainsFunc(d.Names(), func(name string) bool {
		has, known, others := uint64(0), 0, false // known: where the words end of an identifier that the query has
		analyser.Scan(name, func(raw analysis.Raw) {
			if others || raw.End <= known {
				return
			}
			written := name[raw.Start:raw.End]
			bits := s.p.bitsOf(analyser, raw, written)
			has |= bits
			switch {
			case raw.Kind == analysis.Whole && bits > 0, raw.Kind == analysis.Compound && bits > 0:
				known = raw.End
			case raw.Kind == analysis.Word, raw.Kind == analysis.Ideograph && utf8.RuneCount(raw.Surface) > 1:
				others = bits == 0 && !text.IsStopWord(string(raw.Surface)) &&
					!analysis.LanguageOf(s.p.language).IsStopWord(written)
			}
		})
		return !others && has == s.p.all()
	})
}

// bitsOf returns the bits of the words of the query that a word of a text is.
func (p *plan) bitsOf(analyser *analysis.Analyser, raw analysis.Raw, written string) (bits uint64) {
	own := analyser.TermOf(raw.Surface)
	for i := range p.words {
		for _, term := range p.words[i].terms {
			if isTerm(analyser, own, written, term) {
				bits |= p.words[i].bits
			}
		}
	}
	return bits
}

// isTerm reports whether a term is one of those of a word of a text, which has own as the first.
func isTerm(analyser *analysis.Analyser, own, written, term string) bool {
	if l := analysis.LanguageOfTerm(term); l != nil {
		return term == analyser.TermIn(l, written)
	}
	return term == own
}
