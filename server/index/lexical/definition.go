package lexical

import (
	"slices"
	"strings"

	"quarry/internal/text"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
)

// definition says in a document what an acronym stands for.
type definition struct {
	acronym string
	long    []analysis.QueryWord
}

// maxLongForms is how many long forms of an acronym a query is searched by.
const maxLongForms = 8

// definition returns what a term of the index says.
func (r *run) definition(term string) definition {
	acronym, long := analysis.ParseDefinition(term)
	return definition{acronym, r.analyser().Phrase(long)}
}

// definitions returns the terms of those of a part, which are read once: by the acronym and its plural, and by how the
// long form begins.
func (r *run) definitions(part int) map[string][]string {
	type key struct{}
	reader := r.reader(part)
	return segment.Derived(reader, key{}, func() map[string][]string {
		all := make(map[string][]string)
		reader.EachTerm(analysis.Defining, func(term string) {
			d := r.definition(term)
			if len(d.long) < 2 {
				return
			}
			by := []string{d.acronym, d.acronym + "s", beginning(d.long)}
			if text.IsStopWord(d.acronym) { // odds ratios are not or
				by = by[:1]
			}
			for _, key := range by {
				all[key] = append(all[key], term)
			}
		})
		return all
	})
}

// beginning returns the key of definitions whose long form begins as words do, of which there are two at least.
func beginning(words []analysis.QueryWord) string {
	return analysis.Defining + words[0].Term + analysis.Defining + words[1].Term
}

// defined returns the definitions by a key that fit, and that the caller may see.
func (r *run) defined(by string, fits func(d definition) bool) (all []definition) {
	for part := 0; part < len(r.s.parts) && r.far == nil; part++ {
		for _, term := range r.definitions(part)[by] {
			if d := r.definition(term); fits(d) && r.anyIn([]string{term}) {
				all = append(all, d)
			}
		}
	}
	return all
}

// longForms returns what an acronym stands for, as phrases.
func (r *run) longForms(acronym string) (forms [][]PhraseWord) {
	for _, d := range r.defined(acronym, func(definition) bool { return true }) {
		form := r.phrase(d.long)
		same := func(had []PhraseWord) bool {
			return slices.EqualFunc(had, form, func(a, b PhraseWord) bool { return slices.Equal(a.Terms, b.Terms) })
		}
		if len(forms) < maxLongForms && !slices.ContainsFunc(forms, same) {
			forms = append(forms, form)
		}
	}
	return forms
}

// acronyms returns those of long forms in a query, as other spellings of its words.
func (r *run) acronyms(query string) (found []analysis.QueryWord) {
	words := r.analyser().Phrase(query)
	for i := range min(len(words)-1, maxWords) {
		rest := words[i:]
		follows := func(had, w analysis.QueryWord) bool {
			return had.Term == w.Term && had.Position == w.Position-rest[0].Position
		}
		begins := func(d definition) bool {
			return len(rest) >= len(d.long) && slices.EqualFunc(d.long, rest[:len(d.long)], follows)
		}
		for _, d := range r.defined(beginning(rest), begins) {
			found = append(found, analysis.SpeltAs(d.acronym, rest[0], rest[len(d.long)-1]))
			found[len(found)-1].Acronym = true
		}
	}
	return found
}

// addForms adds the chunks with a long form of a word to those of its terms.
func (s *scoring) addForms(w *word) {
	for _, form := range w.forms {
		for _, at := range s.formed(form) {
			f := float32(at.times)
			if at.titled {
				f += s.title
				for words := w.bits; words > 0; words &= words - 1 {
					s.titled(words).Add(s.owners.Of(int(at.chunk)))
				}
			}
			s.addToGroup(at.chunk, f*float32(s.r.s.params.Acronym))
			s.r.pages[at.chunk/pageChunks] = true
		}
	}
}

// formedChunk is a chunk with a long form.
type formedChunk struct {
	chunk, times uint32
	titled       bool // its title has the words
}

// formed returns the chunks with a long form, which are remembered: those of frequent words take as long as the rest of
// a question.
func (s *scoring) formed(form []PhraseWord) (all []formedChunk) {
	var key strings.Builder
	for _, word := range form {
		for _, term := range word.Terms {
			key.WriteString(term + "\x00")
		}
		key.WriteByte(byte(word.offset))
	}
	known := remembered[[]formedChunk](s.reader)
	if all, ok := known.Get(key.String()); ok {
		return all
	}
	every := func(uint32) bool { return true }
	s.r.occurrences(s.part, form, every, func(chunk uint32, times int, titled bool) {
		all = append(all, formedChunk{chunk, uint32(times), titled})
	})
	known.Add(key.String(), all)
	return all
}

// longForm is a phrase of the query, or what a word of it stands for, as a highlighter finds it, word by word: how many
// it has seen, and where the first one is.
type longForm struct {
	phrase                []PhraseWord
	matched               matchedWord
	seen, start, position int
}

// ends reports whether the next word of a text completes the long form; own is its first term.
func (f *longForm) ends(a *analysis.Analyser, raw analysis.Raw, own, written string) bool {
	is := func(word PhraseWord) bool {
		return slices.Contains(word.Surfaces, string(raw.Surface)) ||
			slices.ContainsFunc(word.Terms, func(term string) bool { return isTerm(a, own, written, term) })
	}
	follows := f.seen > 0 && raw.Position-f.position == int(f.phrase[f.seen].offset)
	if !follows || !is(f.phrase[f.seen]) {
		f.seen, f.start, f.position = 0, raw.Start, raw.Position
		if !is(f.phrase[0]) {
			return false
		}
	}
	f.seen = (f.seen + 1) % len(f.phrase)
	return f.seen == 0
}
