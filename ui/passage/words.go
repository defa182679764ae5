package passage

import (
	"slices"
	"strings"
	"unicode"

	"quarry/client"
	"quarry/client/wire"
)

// Words are the words of a query that a passage is searched for, in lower case and each once: plain words and the words
// of phrases.
func Words(query client.Query) []string {
	text := strings.ToLower(query.Words + " " + strings.Join(query.Phrases, " "))
	var words []string
	for start, end := range wordsOf(text) {
		if word := text[start:end]; !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// Highlights takes the server's highlights, or finds the query's words (see Words) where there are none. The spans are
// byte offsets into the result's content.
func Highlights(r wire.SearchResult, words []string) []wire.Span {
	if len(r.Highlights) > 0 {
		return r.Highlights
	}
	return FindWords(r.Content, words)
}

// FindWords finds words of a query in a text, whatever their case: where they begin a word, or anywhere in scripts that
// put no spaces between words. Words of one or two letters say too little to be shown, unless there are no others.
func FindWords(content string, words []string) []wire.Span {
	var begin, anywhere []string
	for _, word := range words {
		switch {
		case strings.IndexFunc(word, isIdeograph) >= 0:
			anywhere = append(anywhere, word)
		case len(word) > 2 || len(words) == 1:
			begin = append(begin, word)
		}
	}
	if len(begin)+len(anywhere) == 0 {
		return nil
	}
	var spans []wire.Span
	for start, end := range wordsOf(content) {
		word := content[start:end]
		if at := indexAny(word, anywhere); at[1] > 0 {
			spans = append(spans, wire.Span{start + at[0], start + at[1]})
			continue
		}
		lower := strings.ToLower(word)
		if slices.ContainsFunc(begin, func(wanted string) bool { return strings.HasPrefix(lower, wanted) }) {
			spans = append(spans, wire.Span{start, end})
		}
	}
	return spans
}

// indexAny is where the first of the words is found inside a text; an empty span when none is.
func indexAny(text string, words []string) wire.Span {
	for _, word := range words {
		if at := strings.Index(text, word); at >= 0 {
			return wire.Span{at, at + len(word)}
		}
	}
	return wire.Span{}
}

// isIdeograph tells the letters of scripts without spaces between words.
func isIdeograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// wordsOf yields the byte ranges of the runs of letters and digits.
func wordsOf(text string) func(yield func(start, end int) bool) {
	return func(yield func(int, int) bool) {
		start := -1
		for i, r := range text {
			inside := isWordRune(r)
			switch {
			case inside && start < 0:
				start = i
			case !inside && start >= 0:
				if !yield(start, i) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			yield(start, len(text))
		}
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
