package lexical

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
	all, err := r.near(word, limit, rights)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return slices.MinFunc(all, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(a.typos, b.typos), cmp.Compare(b.documents, a.documents), cmp.Compare(a.surface, b.surface))
	}).surface, nil
}

// neighbour is a surface near a word.
type neighbour struct {
	counted
	typos int
}

// near returns the surfaces of letters alone that are at most limit typos (1 or 2) away from a word and that documents
// contain which the caller may see. It skips most of the vocabulary: a call takes milliseconds per million words.
func (r *run) near(word string, limit int, rights []segment.Bits) ([]neighbour, error) {
	builder, err := automata()
	if err != nil {
		return nil, fmt.Errorf("prepare typo correction: %w", err)
	}
	automaton, err := builder.BuildDfa(word, uint8(limit))
	if err != nil {
		return nil, fmt.Errorf("correct %q: %w", word, err)
	}
	everything := admitted(rights) == r.s.stats.Documents
	found := make(map[string]*neighbour)
	for part := range r.s.parts {
		delta := r.s.parts[part].Delta
		r.reader(part).Matching(letters{automaton}, func(s segment.Surface) {
			at := found[s.Surface]
			if at == nil {
				at = &neighbour{counted{surface: s.Surface, term: s.Term}, text.EditDistance(word, s.Surface)}
				found[s.Surface] = at
			}
			switch {
			case at.typos > limit || !correctable(s.Surface): // automata let some of these through
			case !everything:
				at.documents += int64(s.CountIn(rights[part]))
			default:
				at.documents += int64(s.Documents)
				if delta != nil {
					at.documents -= delta.Surfaces[s.Surface]
				}
			}
		})
	}
	var all []neighbour
	for _, s := range found {
		if s.documents > 0 {
			all = append(all, *s)
		}
	}
	return all, nil
}

// letters is an automaton without the words that contain other ASCII characters than lower-case letters.
type letters struct{ *levenshtein.DFA }

// Accept implements segment.Automaton.
func (l letters) Accept(state int, b byte) (next int, ok bool) {
	if b < 'a' || b > 'z' && b < utf8.RuneSelf {
		return 0, false
	}
	next = l.DFA.Accept(state, b)
	return next, l.CanMatch(next)
}

// Least implements segment.Automaton.
func (l letters) Least(state int, from byte) (b byte, next int, ok bool) {
	for c := max(int(from), 'a'); c <= math.MaxUint8; c++ {
		if next, ok := l.Accept(state, byte(c)); ok {
			return byte(c), next, true
		}
	}
	return 0, 0, false
}
