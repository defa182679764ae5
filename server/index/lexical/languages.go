package lexical

import (
	"slices"

	"quarry/client/field"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
	"quarry/server/language"
)

// libraryLanguages are the languages of documents that have rules.
type libraryLanguages struct {
	all []*analysis.Language
	// main is that of more than nine in ten documents; nil: there is none, or it has no rules.
	main *analysis.Language
}

// languages returns those that documents have. Of documents elsewhere it is not known.
func (r *run) languages() *libraryLanguages {
	if known := r.s.languages.Load(); known != nil {
		return known
	}
	found := &libraryLanguages{all: analysis.Languages()}
	if r.far == nil {
		found.all = nil
		for _, l := range analysis.Languages() {
			n := r.countLanguage(l)
			if n > 0 {
				found.all = append(found.all, l)
			}
			if 10*n > 9*r.s.stats.Documents {
				found.main = l
			}
		}
	}
	r.s.languages.Store(found)
	return found
}

// countLanguage returns how many live documents are in a language.
func (r *run) countLanguage(l *analysis.Language) (n int64) {
	for part := range r.s.parts {
		reader := r.reader(part)
		if set, ok := reader.FieldFilter(field.Lang, l.Code); ok {
			documents := segment.NewBits(reader.Documents())
			set.Union(documents)
			documents.Each(func(d int) {
				if r.s.parts[part].live(d) {
					n++
				}
			})
		}
	}
	return n
}

// of returns the language of a query, if documents have it: that of its words, or else that of nearly all documents.
func (l *libraryLanguages) of(query string) *analysis.Language {
	if len(l.all) == 0 {
		return nil
	}
	code := language.Detect(query)
	if code == language.Undetermined {
		return l.main
	}
	if spoken := analysis.LanguageOf(code); slices.Contains(l.all, spoken) {
		return spoken
	}
	return nil
}
