package indextest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
)

// correct replaces words that the caller cannot see by near ones that they can.
func (o *Oracle) correct(typed []analysis.QueryWord, q *index.Query) (
	corrected []analysis.QueryWord, changes []index.Correction) {
	seen := func(d *document) bool { return admitted(d, q.Filter.Access) }
	for _, w := range typed {
		runes := []rune(w.Surface)
		ordinary := w.Kind != analysis.Ideograph && w.Kind != analysis.Compound
		if w.Position >= 1000 || !ordinary || !plain(runes) || len(runes) < 4 || o.visible(w, seen) {
			corrected = append(corrected, w)
			continue
		}
		if parts := o.split(w, q.Filter.Access); parts != nil {
			changes = append(changes, index.Correction{From: w.Surface, To: parts[0].Surface + " " + parts[1].Surface})
			corrected = append(corrected, parts...)
			continue
		}
		if to := o.nearest(w, seen); to != "" {
			changes = append(changes, index.Correction{From: w.Surface, To: to})
			w = analysis.QueryWord{Token: analysis.Token{Term: analysis.Stem(to), Surface: to, Written: to, Start: w.Start, End: w.End, Position: w.Position}}
		}
		corrected = append(corrected, w)
	}
	return corrected, changes
}

// split is an unknown word as two that follow each other where the caller can see it.
func (o *Oracle) split(w analysis.QueryWord, access index.Access) []analysis.QueryWord {
	runes := []rune(w.Surface)
	for i := 2; i <= len(runes)-2; i++ {
		var parts []analysis.QueryWord
		for at, surface := range []string{string(runes[:i]), string(runes[i:])} {
			part := analysis.QueryWord{Token: w.Token}
			part.Surface, part.Written, part.Term, part.Position = surface, surface, analysis.Stem(surface), at
			parts = append(parts, part)
		}
		known := func(surface string) bool {
			return slices.ContainsFunc(o.documents, func(d *document) bool {
				_, has := d.surfaces[surface]
				return has && admitted(d, access)
			})
		}
		if !known(parts[0].Surface) || !known(parts[1].Surface) {
			continue
		}
		for _, d := range o.documents {
			follow := func(c chunk) bool { return o.holds(&c, parts, access) }
			if admitted(d, access) && slices.ContainsFunc(d.chunks, follow) {
				parts[0].Position, parts[1].Position = w.Position, w.Position
				return parts
			}
		}
	}
	return nil
}

// missing are the words that the caller cannot see, in any spelling, nor all of their parts.
func (o *Oracle) missing(words []analysis.QueryWord, access index.Access) (list []string) {
	seen := func(d *document) bool { return admitted(d, access) }
	visible := func(w analysis.QueryWord) bool { return o.visible(w, seen) }
	for _, w := range words {
		whole := analysis.QueryWord{Token: w.Token, Prefix: w.Prefix}
		partsSeen := len(w.Parts) > 0
		for i, part := range w.Parts {
			part.Prefix = w.Prefix && i == len(w.Parts)-1
			partsSeen = partsSeen && visible(part)
		}
		if w.Kind == analysis.Compound || w.Kind == analysis.Ideograph || visible(whole) || partsSeen {
			continue
		}
		spelt := slices.ContainsFunc(words, func(c analysis.QueryWord) bool {
			return c.Kind == analysis.Compound && c.Start <= w.Start && c.End >= w.End && c.Position <= w.Position &&
				w.Position < c.Position+500 && visible(c.Solid())
		})
		if !spelt && !slices.Contains(list, w.Surface) {
			list = append(list, w.Surface)
		}
	}
	return list
}

// plain reports whether a word has letters alone, of a script with spaces.
func plain(word []rune) bool {
	return !slices.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) || analysis.Unspaced(r) })
}

func (o *Oracle) visible(w analysis.QueryWord, seen func(*document) bool) bool {
	for _, part := range append([]analysis.QueryWord{w}, w.Parts...) {
		terms := o.inLanguages(o.terms(part, seen), part.Token)
		for _, d := range o.documents {
			if seen(d) && slices.ContainsFunc(terms, func(term string) bool { return d.terms[term] }) {
				return true
			}
		}
	}
	return false
}

// nearest is the word of most documents; a wrong first letter counts for a tenth, two typos for a fiftieth.
func (o *Oracle) nearest(w analysis.QueryWord, seen func(*document) bool) string {
	word := []rune(w.Surface)
	best, most := "", 0.0
	for _, c := range o.surfacesWith("", seen, 1<<30) { // most documents first, then by alphabet
		runes := []rune(c.surface)
		if !plain(runes) || len(runes) < 4 || text.IsStopWord(c.surface) {
			continue
		}
		weight, typos, sameStart := float64(c.documents), distance(word, runes, 2), runes[0] == word[0]
		sameStem := distance([]rune(w.Term), []rune(c.term), 1) <= 1
		switch {
		case typos > 2, typos == 2 && !sameStart, typos == 2 && len(word) < 10 && !sameStem:
			continue
		case typos == 2:
			weight *= 0.02
		case !sameStart:
			weight *= 0.1
		}
		if weight > most || weight == most && c.surface < best {
			best, most = c.surface, weight
		}
	}
	return best
}

// distance counts inserted, deleted, replaced and swapped neighbouring characters; limit+1 stands for all that is more.
func distance(a, b []rune, limit int) int {
	switch {
	case limit < 0:
		return 0
	case len(a) == 0:
		return min(len(b), limit+1)
	case len(b) == 0:
		return min(len(a), limit+1)
	case a[0] == b[0]:
		return distance(a[1:], b[1:], limit)
	}
	d := min(distance(a[1:], b[1:], limit-1), distance(a[1:], b, limit-1), distance(a, b[1:], limit-1))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		d = min(d, distance(a[2:], b[2:], limit-1))
	}
	return min(1+d, limit+1)
}

// Suggest completes the last word of prefix.
func (o *Oracle) Suggest(prefix string, access index.Access, limit int) (out index.Suggestions) {
	a := analysis.New()
	tokens, words := a.Tokens(prefix), slices.DeleteFunc(a.Words(prefix, false), analysis.QueryWord.Spelling)
	if len(words) == 0 || limit <= 0 {
		return out
	}
	open := ""
	if last := tokens[len(tokens)-1]; last.End == len(prefix) {
		open = words[len(words)-1].Surface
		if last.Kind == analysis.Ideograph {
			open = last.Surface
		}
		words = words[:len(words)-1]
	}
	seen := func(d *document) bool { return admitted(d, access) }
	if open != "" {
		for _, c := range o.surfacesWith(open, seen, limit) {
			out.Words = append(out.Words, c.surface)
		}
	}
	for _, d := range o.documents {
		if seen(d) && len(d.chunks) > 0 && fits(d.title, words, open) {
			out.Titles = append(out.Titles, index.Title{Title: d.Title, DocumentID: d.ID})
		}
	}
	slices.SortFunc(out.Titles, func(a, b index.Title) int {
		return cmp.Or(len(a.Title)-len(b.Title), strings.Compare(a.Title, b.Title),
			strings.Compare(a.DocumentID, b.DocumentID))
	})
	out.Titles = out.Titles[:min(len(out.Titles), limit)]
	return out
}

// fits reports whether a title holds all words, and one that begins with open.
func fits(title []analysis.Token, words []analysis.QueryWord, open string) bool {
	for _, w := range words {
		if !slices.ContainsFunc(title, func(token analysis.Token) bool {
			return token.Term == w.Term || w.Prefix && strings.HasPrefix(token.Surface, w.Surface)
		}) {
			return false
		}
	}
	return open == "" || slices.ContainsFunc(title, func(token analysis.Token) bool {
		return strings.HasPrefix(token.Surface, open)
	})
}
