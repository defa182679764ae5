package passage

import (
	"slices"
	"strings"
	"unicode"

	"quarry/client"
	"quarry/client/wire"
)

// Words returns the words of a query to highlight, in lower case and without duplicates: plain words and the words of
// phrases.
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

// Highlights returns the server's highlights, or else those of the query's words (see Words), as byte offsets into the
// content.
func Highlights(r wire.SearchResult, words []string) []wire.Span {
	if len(r.Highlights) > 0 {
		return r.Highlights
	}
	return FindWords(r.Content, words)
}

// FindWords returns where the words of a query occur in a text, ignoring case: at the start of words, or anywhere in
// scripts without spaces. Words of one or two letters are skipped unless there are no others.
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

// indexAny returns the first of the words found in a text, or an empty span.
func indexAny(text string, words []string) wire.Span {
	for _, word := range words {
		if at := strings.Index(text, word); at >= 0 {
			return wire.Span{at, at + len(word)}
		}
	}
	return wire.Span{}
}

// isIdeograph reports whether a letter belongs to a script without spaces between words.
func isIdeograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// wordsOf yields the byte ranges of runs of letters and digits.
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
