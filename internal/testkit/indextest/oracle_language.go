package indextest

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/language"
)

// stems are the terms that a word has in languages, beside its own.
func stems(languages []*analysis.Language, token analysis.Token) (terms []string) {
	for _, l := range languages {
		if term := l.Term(token.Written); term != "" && token.Kind == analysis.Word {
			terms = append(terms, term)
		}
	}
	return terms
}

// inLanguages adds to the terms of a word those that it has in the languages of documents. A part of a compound has
// only the one by which it was found.
func (o *Oracle) inLanguages(terms []string, token analysis.Token) []string {
	if analysis.LanguageOfTerm(token.Term) != nil {
		return terms
	}
	for _, term := range stems(o.languages, token) {
		if !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	}
	return terms
}

// compounds splits the compounds of a query, in its language, or of fewer than four words in any.
func (o *Oracle) compounds(l *analysis.Language, typed []analysis.QueryWord, access index.Access) {
	languages := []*analysis.Language{l}
	if l == nil {
		languages = o.languages
		if len(typed) >= 4 {
			return
		}
	}
	for i := range typed {
		for _, l := range languages {
			l.Split(&typed[i], func(term string) bool {
				return slices.ContainsFunc(o.documents, func(d *document) bool { return d.terms[term] && admitted(d, access) })
			})
		}
	}
}

// languageOf is the language of a query if documents or chunks have it, else that of more than nine in ten
// of them, else the one with more stop words in a query of four words or more than English and any other language of documents.
func (o *Oracle) languageOf(query string) *analysis.Language {
	documents, spoken := map[string]int{}, map[string]bool{}
	for _, d := range o.documents {
		documents[languageOf(d)]++
		maps.Copy(spoken, d.languages)
	}
	if code := language.Detect(query); code != language.Undetermined {
		if !spoken[code] {
			return nil
		}
		return analysis.LanguageOf(code)
	}
	for code, n := range documents {
		if 10*n > 9*len(o.documents) {
			return analysis.LanguageOf(code)
		}
	}
	words := strings.FieldsFunc(query, func(r rune) bool { return r != '\'' && !unicode.In(r, unicode.L, unicode.M) })
	stops := map[string]int{"en": 0}
	for _, word := range words {
		for code := range spoken {
			if analysis.LanguageOf(code).IsStopWord(word) {
				stops[code]++
			}
		}
		if text.IsStopWord(strings.ToLower(word)) {
			stops["en"]++
		}
	}
	for code, n := range stops {
		beaten := func(other string) bool { return other == code || stops[other] < n }
		if len(words) >= 4 && !slices.ContainsFunc(slices.Collect(maps.Keys(stops)), func(c string) bool { return !beaten(c) }) {
			return analysis.LanguageOf(code)
		}
	}
	return nil
}
