package lexical

import (
	"cmp"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
)

const (
	// oneTypo and twoTypos are the lengths from which a word may be one or two typos away.
	oneTypo  = 4
	twoTypos = 10
	maxTypos = 2
	// sureLetters is the length from which a word that was corrected is trusted as if it was typed: “wifi” is no
	// “wiki”.
	sureLetters = 6
	// firstLetter and secondTypo are how probable it is that the first letter is wrong, and that a second one is.
	firstLetter = 0.1
	secondTypo  = 0.02
	// maxCorrected bounds the words of a query that are corrected: each is compared with the whole vocabulary.
	maxCorrected = 16
)

// correct replaces each word that no document contains which the caller may see by a near one that some do. Phrases are
// meant as they are written.
func (r *run) correct(words []analysis.QueryWord) (
	corrected []analysis.QueryWord, changes []index.Correction) {
	corrected = make([]analysis.QueryWord, 0, len(words))
	tried := 0
	for _, w := range words[:min(len(words), maxWords)] {
		corrected = append(corrected, w)
		if w.Position >= phraseBreak || w.Kind == analysis.Ideograph || w.Kind == analysis.Compound ||
			!correctable(w.Surface) {
			continue
		}
		if r.visible(w) {
			continue
		}
		r.check()
		if tried++; tried > maxCorrected {
			break
		}
		if parts := r.split(w); parts != nil {
			changes = append(changes, index.Correction{From: w.Surface, To: parts[0].Surface + " " + parts[1].Surface})
			corrected = append(corrected[:len(corrected)-1], parts...)
			continue
		}
		if to := r.nearest(w); to != "" {
			changes = append(changes, index.Correction{From: w.Surface, To: to})
			corrected[len(corrected)-1] = r.respelt(w, to)[0]
		}
	}
	return corrected, changes
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
func (r *run) visible(w analysis.QueryWord) bool {
	for _, w := range append([]analysis.QueryWord{w}, w.Parts...) {
		if r.anyIn(r.alternatives(w)) {
			return true
		}
	}
	return false
}

// anyIn reports whether a document that the caller may see contains one of the terms.
func (r *run) anyIn(terms []string) bool {
	if r.far != nil {
		return r.far.SeesTerm(terms)
	}
	for part, rights := range r.rights() {
		for _, term := range terms {
			if t, ok := r.term(part, term); ok && t.In(rights) {
				return true
			}
		}
	}
	return false
}

// nearest returns the surface that was most probably meant by a word; empty if there is none. As in a noisy channel
// (Kernighan, Church and Gale, A spelling correction program based on a noisy channel model, COLING 1990), it has the
// highest frequency times probability of its typos. Stop words are never meant: they add nothing to a query. The
// documents that the caller may see are counted only for what may be likelier than those before.
func (r *run) nearest(w analysis.QueryWord) (best string) {
	type candidate struct {
		neighbour
		typing, likelihood float64 // as if the caller saw all documents
	}
	var all []candidate
	for _, n := range r.near(w.Surface, maxTypos) {
		if p := typing(w, n); p > 0 {
			all = append(all, candidate{n, p, float64(n.of.Documents) * p})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(b.likelihood, a.likelihood) })
	most := 0.0
	for _, c := range all {
		if c.likelihood < most {
			break
		}
		likelihood := float64(r.countIn(c.of.Surface)) * c.typing
		if likelihood > most || likelihood == most && likelihood > 0 && c.of.Surface < best {
			best, most = c.of.Surface, likelihood
		}
	}
	return best
}

// typing returns the probability that n was typed as w, relative to other words; 0 if it is not considered. A word may
// have more typos than its length allows if it is another form of a word that has one.
func typing(w analysis.QueryWord, n neighbour) float64 {
	if text.IsStopWord(n.of.Surface) {
		return 0
	}
	first, _ := utf8.DecodeRuneInString(w.Surface)
	probability := 1.0
	if begins, _ := utf8.DecodeRuneInString(n.of.Surface); begins != first {
		probability = firstLetter
	}
	if n.typos > 1 {
		probability = secondTypo
		if utf8.RuneCountInString(w.Surface) < twoTypos && text.EditDistance(w.Term, n.of.Term) > 1 {
			return 0
		}
	}
	return probability
}

// neighbour is a surface near a word.
type neighbour struct {
	of    Surface
	typos int
}

// near returns the surfaces of letters alone that are at most limit typos away from a word, as levenshtein counts them,
// with all of their documents. It skips most of the vocabulary: 5 ms over a million passages.
func (r *run) near(word string, limit int) (all []neighbour) {
	if r.far != nil {
		automaton := newLevenshtein(word, limit)
		r.far.Near(automaton, func(s Surface) {
			if correctable(s.Surface) {
				all = append(all, neighbour{s, automaton.typos()})
			}
		})
		return all
	}
	found := make(map[string]*neighbour)
	var mutex sync.Mutex
	r.eachPart(sharedPostings, func(r *run, part int) {
		automaton := newLevenshtein(word, limit)
		delta := r.s.parts[part].Delta
		r.reader(part).Matching(automaton, func(s segment.Surface) {
			if !correctable(s.Surface) {
				return
			}
			mutex.Lock()
			defer mutex.Unlock()
			at := found[s.Surface]
			if at == nil {
				at = &neighbour{Surface{Surface: s.Surface, Term: s.Term}, automaton.typos()}
				found[s.Surface] = at
			}
			at.of.Documents += int64(s.Documents)
			if delta != nil {
				at.of.Documents -= delta.Surfaces[s.Surface]
			}
		})
	})
	for _, s := range found {
		if s.of.Documents > 0 {
			all = append(all, *s)
		}
	}
	return all
}
