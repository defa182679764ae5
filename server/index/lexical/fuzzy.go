package lexical

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

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
		to := r.nearest(w.Surface, rights())
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
			if _, ok := r.term(part, term); ok && reader.TermIn(term, rights[part]) {
				return true
			}
		}
	}
	return false
}

// nearest returns the surface nearest to a word: the fewest typos away, then in the most documents that the caller
// may see, then the first by alphabet; empty if there is none.
func (r *run) nearest(word string, rights []segment.Bits) string {
	limit := 1
	if utf8.RuneCountInString(word) >= twoTypos {
		limit = 2
	}
	all := r.near(word, limit, rights)
	if len(all) == 0 {
		return ""
	}
	return slices.MinFunc(all, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(a.typos, b.typos), cmp.Compare(b.documents, a.documents), cmp.Compare(a.surface, b.surface))
	}).surface
}

// neighbour is a surface near a word.
type neighbour struct {
	counted
	typos int
}

// near returns the surfaces of letters alone that are at most limit typos away from a word, as levenshtein counts them, and
// that documents contain which the caller may see. It skips most of the vocabulary: 5 ms over a million passages.
func (r *run) near(word string, limit int, rights []segment.Bits) (all []neighbour) {
	automaton := newLevenshtein(word, limit)
	everything := admitted(rights) == r.s.stats.Documents
	found := make(map[string]*neighbour)
	for part := range r.s.parts {
		delta := r.s.parts[part].Delta
		r.reader(part).Matching(automaton, func(s segment.Surface) {
			at := found[s.Surface]
			if at == nil {
				at = &neighbour{counted{surface: s.Surface, term: s.Term}, automaton.typos()}
				found[s.Surface] = at
			}
			switch {
			case !correctable(s.Surface):
			case !everything:
				at.documents += int64(s.CountIn(rights[part]))
			default:
				at.documents += int64(s.Documents)
				if delta != nil {
					at.documents -= delta.Surfaces[s.Surface]
				}
			}
		})
		automaton.Truncate(0)
	}
	for _, s := range found {
		if s.documents > 0 {
			all = append(all, *s)
		}
	}
	return all
}
