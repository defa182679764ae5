package lexical

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
)

// Suggest implements index.Snapshot. Titles contain every word typed, the last one as the beginning of a word, shortest
// first. After a space there is no word to complete, and titles contain all words.
func (s *Searcher) Suggest(ctx context.Context, prefix string, access index.Access, limit int) (
	index.Suggestions, error) {
	return answer(ctx, s, "suggest", func(r *run) index.Suggestions {
		return r.suggest(prefix, access, min(limit, maxLimit))
	})
}

func (r *run) suggest(prefix string, access index.Access, limit int) (out index.Suggestions) {
	r.reach(access)
	analyser := r.analyser()
	tokens := analyser.Tokens(prefix)
	words := slices.DeleteFunc(analyser.Words(prefix, false), analysis.QueryWord.Spelling)
	if len(words) == 0 || limit <= 0 {
		return out
	}
	t := typedTitle{analyser: analyser}
	last := words[len(words)-1]
	if open := tokens[len(tokens)-1].End == len(prefix); open {
		words = words[:len(words)-1]
		t.open = last.Surface
		if last.Kind == analysis.Ideograph {
			t.open = tokens[len(tokens)-1].Surface
		}
	}
	t.complete = words[:min(len(words), maxWords)]
	if t.open != "" {
		out.Words = r.completions(t.open, limit)
	}
	terms := r.titleTerms(&t)
	wanted := Wanted{Filter: index.Filter{Access: access}, Titled: terms, Limit: candidates}
	r.fetched(wanted, func(int) { out.Titles = r.titles(&t, terms, limit) })
	return out
}

// completions returns the surfaces that begin with prefix, by the number of documents that the caller may see.
func (r *run) completions(prefix string, limit int) (words []string) {
	best := bestSurfaces{limit: limit}
	add := func(surface string) {
		if documents := r.countIn(surface); documents > 0 {
			best.add(Surface{Surface: surface, Documents: documents})
		}
	}
	if r.far != nil {
		for found := range r.mostFrequent(prefix, 4*limit) {
			isEnough := slices.ContainsFunc(found, func(s Surface) bool {
				if len(best.items) == limit && s.Documents < best.items[limit-1].Documents {
					return true
				}
				add(s.Surface)
				return false
			})
			if isEnough {
				break
			}
		}
	} else {
		n := 0
		r.surfaces(prefix, func(at *segment.Cursor, documents int64) {
			if n++; n%256 == 0 {
				r.check()
			}
			if best.accepts(documents) { // it cannot be more than all documents
				add(string(at.Key()))
			}
		})
	}
	for _, c := range best.items {
		words = append(words, c.Surface)
	}
	return words
}

// countIn returns how many documents contain a surface that the caller may see.
func (r *run) countIn(surface string) (documents int64) {
	if r.far != nil {
		return r.far.CountSurface(surface)
	}
	for part, rights := range r.rights() {
		if s, ok := r.reader(part).Surface(surface); ok {
			documents += int64(s.CountIn(rights))
		}
	}
	return documents
}

// typedTitle is what a title must contain.
type typedTitle struct {
	analyser *analysis.Analyser
	complete []analysis.QueryWord
	open     string // the beginning of a surface
}

// fits reports whether a title contains it.
func (t *typedTitle) fits(title string) bool {
	tokens := t.analyser.Tokens(title)
	for _, w := range t.complete {
		if !slices.ContainsFunc(tokens, func(token analysis.Token) bool {
			return token.Term == w.Term || w.Prefix && strings.HasPrefix(token.Surface, w.Surface)
		}) {
			return false
		}
	}
	return t.open == "" || slices.ContainsFunc(tokens, func(token analysis.Token) bool {
		return strings.HasPrefix(token.Surface, t.open)
	})
}

// title is a title with its place in the order of suggestions.
type title struct {
	size int
	index.Title
}

func compareTitles(a, b title) int {
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.Title.Title, b.Title.Title),
		cmp.Compare(a.DocumentID, b.DocumentID))
}

// titleTerms returns terms of which a title that fits contains one.
func (r *run) titleTerms(t *typedTitle) []string {
	switch {
	case len(t.complete) == 0:
		return r.expansions(t.open, analysis.Stem(t.open))
	case t.complete[0].Prefix:
		return r.expansions(t.complete[0].Surface, t.complete[0].Term)
	}
	return []string{t.complete[0].Term}
}

// titles returns the shortest titles that fit.
func (r *run) titles(t *typedTitle, terms []string, limit int) (out []index.Title) {
	var best []title
	for part, rights := range r.rights() {
		reader := r.reader(part)
		titled := r.documents(part)
		for _, term := range terms {
			r.check()
			reader.AddTitled(term, titled)
		}
		titled.And(rights)
		for d := range titled.Each {
			size := reader.TitleSize(d)
			if len(best) == limit && size > best[limit-1].size {
				continue
			}
			text := reader.Title(d)
			if !t.fits(text) {
				continue
			}
			c := title{size, index.Title{Title: text, DocumentID: reader.ID(d)}}
			at, _ := slices.BinarySearchFunc(best, c, compareTitles)
			best = slices.Insert(best, at, c)
			best = best[:min(len(best), limit)]
		}
	}
	for _, c := range best {
		out = append(out, c.Title)
	}
	return out
}

// surfaces calls yield for each surface that begins with prefix and that a live document contains, in order, with the
// number of those documents. The cursor is valid during the call.
func (r *run) surfaces(prefix string, yield func(at *segment.Cursor, documents int64)) {
	readers := make([]*segment.Reader, len(r.s.parts))
	for part := range readers {
		readers[part] = r.s.parts[part].Segment
	}
	segment.EachSurface(readers, prefix, func(part int) { r.reading = part }, func(at []*segment.Cursor) {
		documents := int64(0)
		for _, c := range at {
			r.reading = c.Input
			documents += c.Documents()
			if delta := r.s.parts[c.Input].Delta; delta != nil {
				documents -= delta.Surfaces[string(c.Key())]
			}
		}
		if documents > 0 {
			yield(at[0], documents)
		}
	})
}

// bestSurfaces keeps the surfaces of most documents, equal ones in the order of the alphabet.
type bestSurfaces struct {
	limit int
	items []Surface // best first
}

// accepts reports whether a surface would be among the best; surfaces must come in the order of the alphabet.
func (b *bestSurfaces) accepts(documents int64) bool {
	return len(b.items) < b.limit || b.limit > 0 && documents > b.items[len(b.items)-1].Documents
}

// add adds a surface if it is among the best.
func (b *bestSurfaces) add(c Surface) {
	at, _ := slices.BinarySearchFunc(b.items, c, func(a, b Surface) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), cmp.Compare(a.Surface, b.Surface))
	})
	b.items = slices.Insert(b.items, at, c)
	b.items = b.items[:min(len(b.items), b.limit)]
}

// rareWords bounds the words that stand for a passage.
const rareWords = 12

func fewestFirst(a, b Surface) int {
	return cmp.Or(cmp.Compare(a.Documents, b.Documents), cmp.Compare(a.Surface, b.Surface))
}

// RareWords returns the words of a passage that the fewest documents contain which access admits, at least two.
func (s *Searcher) RareWords(ctx context.Context, passage string, access index.Access) ([]string, error) {
	return answer(ctx, s, "look for rare words", func(r *run) (words []string) {
		r.reach(access)
		var rare []Surface
		seen := map[string]bool{}
		for _, token := range r.analyser().Tokens(passage) {
			r.check()
			if seen[token.Term] || token.Kind == analysis.Compound || text.IsStopWord(token.Surface) {
				continue
			}
			seen[token.Term] = true
			var documents int64
			if r.far != nil { // counted below for the rarest
				documents = r.far.Documents(token.Surface)
			} else {
				documents = r.countIn(token.Surface)
			}
			if documents >= 2 {
				rare = append(rare, Surface{Surface: token.Surface, Documents: documents})
			}
		}
		slices.SortFunc(rare, fewestFirst)
		if r.far != nil {
			rare = r.rarest(rare)
		}
		for _, c := range rare[:min(len(rare), rareWords)] {
			words = append(words, c.Surface)
		}
		return words
	})
}
