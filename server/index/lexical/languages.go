package lexical

import (
	"slices"
	"strings"
	"unicode"

	"quarry/client/field"
	"quarry/internal/text"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
	"quarry/server/language"
)

// libraryLanguages are the languages of documents and of their chunks that have rules.
type libraryLanguages struct {
	all []*analysis.Language
	// main is that of more than nine in ten documents; nil: there is none, or it has no rules.
	main *analysis.Language
	// documents counts those in each, by its code; nil: not known.
	documents map[string]int64
	// known: the documents are here, so that others have no languages than these.
	known bool
}

// languages returns those that documents or chunks have. Of documents elsewhere it is not known.
func (r *run) languages() *libraryLanguages {
	if known := r.s.languages.Load(); known != nil {
		return known
	}
	found := &libraryLanguages{all: analysis.Languages(), known: r.far == nil}
	if found.known {
		found.all, found.documents = nil, make(map[string]int64)
		for _, l := range analysis.Languages() {
			n := r.count(segment.FilterOf(field.Lang), l.Code)
			if n > 0 || r.count(segment.FilterSpoken, l.Code) > 0 {
				found.all, found.documents[l.Code] = append(found.all, l), n
			}
			if 10*n > 9*r.s.stats.Documents {
				found.main = l
			}
		}
	}
	r.s.languages.Store(found)
	return found
}

// count returns how many live documents a filter key means.
func (r *run) count(kind segment.FilterKind, value string) (n int64) {
	for part := range r.s.parts {
		reader := r.reader(part)
		if set, ok := reader.Filter(kind, value); ok {
			documents := segment.NewBits(reader.Documents())
			set.Union(documents)
			for d := range documents.Each {
				if r.s.parts[part].live(d) {
					n++
				}
			}
		}
	}
	return n
}

// of returns the language of a query, if documents have it: that of its words, or else that of nearly all documents, or
// that of most of its stop words.
func (l *libraryLanguages) of(query string) *analysis.Language {
	if len(l.all) == 0 {
		return nil
	}
	code := language.Detect(query)
	if code == language.Undetermined && (l.main != nil || !l.known) {
		return l.main
	}
	if code == language.Undetermined {
		return l.byStopWords(query)
	}
	if spoken := analysis.LanguageOf(code); slices.Contains(l.all, spoken) {
		return spoken
	}
	return nil
}

// fewestWords is how many words a query has at least whose language its stop words tell: one of three may be a name.
const fewestWords = 4

// byStopWords returns the language that has more of a query's words as stop words than English and any other one; nil
// if there is none.
func (l *libraryLanguages) byStopWords(query string) (best *analysis.Language) {
	words := strings.FieldsFunc(query, func(r rune) bool { return r != '\'' && !unicode.In(r, unicode.L, unicode.M) })
	if len(words) < fewestWords {
		return nil
	}
	count := func(isStopWord func(string) bool) (n int) {
		for _, word := range words {
			if isStopWord(word) {
				n++
			}
		}
		return n
	}
	most := count(func(word string) bool { return text.IsStopWord(strings.ToLower(word)) })
	for _, spoken := range l.all {
		if n := count(spoken.IsStopWord); n > most {
			best, most = spoken, n
		} else if n == most {
			best = nil
		}
	}
	return best
}
