package lexical

import (
	"cmp"
	"fmt"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/vellum/levenshtein"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
)

const (
	// oneTypo and twoTypos are the lengths from which a word may be one or two typos away.
	oneTypo  = 4
	twoTypos = 8
	// maxCorrected bounds the words of a query that are corrected: each is compared with the whole vocabulary.
	maxCorrected = 16
)

// automata builds automata for words; it never changes once it is made.
var automata = sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
	return levenshtein.NewLevenshteinAutomatonBuilder(2, true)
})

// correct replaces the words that no document contains which the caller may see by near ones that some do.
func (r *run) correct(a *analysis.Analyser, words []analysis.QueryWord, q *index.Query) (
	[]analysis.QueryWord, []index.Correction, error) {
	var changes []index.Correction
	rights := r.laterRights(q.Filter.Access)
	corrected := append([]analysis.QueryWord(nil), words...)
	tried := 0
	for i, w := range words[:min(len(words), maxWords)] {
		if w.Kind == analysis.Ideograph || !correctable(w.Surface) {
			continue
		}
		if r.visible(w, rights()) {
			continue
		}
		if err := r.ctx.Err(); err != nil {
			return nil, nil, err
		}
		if tried++; tried > maxCorrected {
			break
		}
		to, err := r.nearest(w.Surface, rights())
		if err != nil {
			return nil, nil, err
		}
		if to == "" {
			continue
		}
		changes = append(changes, index.Correction{From: w.Surface, To: to})
		corrected[i] = analysis.QueryWord{Token: analysis.Token{Term: a.TermOf([]byte(to)), Surface: to, Position: w.Position}}
	}
	return corrected, changes, nil
}

// correctable reports whether a word is long enough and made of letters alone.
func correctable(surface string) bool {
	for _, c := range surface {
		if !unicode.IsLetter(c) || analysis.Unspaced(c) {
			return false
		}
	}
	return utf8.RuneCountInString(surface) >= oneTypo
}

// visible reports whether a document that the caller may see contains the word.
func (r *run) visible(w analysis.QueryWord, rights []segment.Bits) bool {
	for _, w := range append([]analysis.QueryWord{w}, w.Parts...) {
		terms := []string{w.Term}
		if w.Prefix {
			terms = r.expansions(w.Surface, w.Term, rights)
		}
		if r.anyIn(terms, rights) {
			return true
		}
	}
	return false
}

// anyIn reports whether a document that the caller may see contains one of the terms.
func (r *run) anyIn(terms []string, rights []segment.Bits) bool {
	for part := range r.s.parts {
		reader := r.reader(part)
		for _, term := range terms {
			if _, ok := reader.Term(term); ok && reader.TermIn(term, rights[part]) {
				return true
			}
		}
	}
	return false
}

// nearest returns the surface nearest to a word: the fewest typos away, then in the most documents that the caller
// may see, then the first by alphabet; empty if there is none.
func (r *run) nearest(word string, rights []segment.Bits) (string, error) {
	limit := 1
	if utf8.RuneCountInString(word) >= twoTypos {
		limit = 2
	}
	builder, err := automata()
	if err != nil {
		return "", fmt.Errorf("prepare typo correction: %w", err)
	}
	automaton, err := builder.BuildDfa(word, uint8(limit))
	if err != nil {
		return "", fmt.Errorf("correct %q: %w", word, err)
	}
	counts := make(map[string]int)
	for part := range r.s.parts {
		r.reader(part).Matching(automaton, func(s segment.Surface) {
			if correctable(s.Surface) {
				counts[s.Surface] += s.CountIn(rights[part])
			}
		})
	}
	best, bestDistance := "", limit+1
	for surface, n := range counts {
		if n == 0 {
			continue
		}
		distance := text.EditDistance(word, surface)
		if distance > limit { // automata let some of these through
			continue
		}
		if cmp.Or(cmp.Compare(distance, bestDistance), cmp.Compare(counts[best], n), cmp.Compare(surface, best)) < 0 {
			best, bestDistance = surface, distance
		}
	}
	return best, nil
}
