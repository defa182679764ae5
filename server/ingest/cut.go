package ingest

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"

	"quarry/internal/text"
)

// span is a byte range of a source.
type span struct{ start, end int }

// longestRun bounds runs without letters and digits for the sentence rules, which take quadratic time.
const longestRun = 24

// lineSpans cuts after newlines.
func lineSpans(source string, start, end int) []span {
	var spans []span
	for start < end {
		next := lineEnd(source[:end], start)
		spans = append(spans, span{start, next})
		start = next
	}
	return spans
}

// sentenceSpans cuts at sentences as Unicode defines them. A newline in a paragraph does not end a sentence.
func sentenceSpans(source string, start, end int) []span {
	var spans []span
	masked := sentences.FromBytes(maskForSentences(source[start:end]))
	for masked.Next() {
		spans = append(spans, span{start + masked.Start(), start + masked.End()})
	}
	return spans
}

// maskForSentences returns a text of the same length and with the same sentences: newlines are spaces, and long runs of
// spaces and punctuation are letters.
func maskForSentences(text string) []byte {
	masked := []byte(text)
	run := 0
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			run = 0
		case run >= longestRun:
			for j := range width {
				masked[i+j] = 'x'
			}
		case r == '\n' || r == '\t':
			masked[i] = ' '
			run++
		default:
			run++
		}
		i += width
	}
	return masked
}

// wordSpans cuts into pieces of at most limit tokens, between words where possible.
func wordSpans(source string, start, end, limit int) []span {
	var spans []span
	for start < end {
		next := wordsEnd(source, start, end, max(limit, 4))
		spans = append(spans, span{start, next})
		start = next
	}
	return spans
}

func wordsEnd(source string, start, end, limit int) int {
	words, inWord, afterSpace := 0, false, 0
	for i := start; i < end; {
		r, width := utf8.DecodeRuneInString(source[i:end])
		switch {
		case text.IsCJK(r):
			words++
			inWord = false
		case unicode.IsSpace(r):
			inWord = false
		case !inWord:
			words++
			inWord = true
		}
		if words > limit || (i+width-start+3)/4 > limit {
			if afterSpace > start {
				return afterSpace
			}
			return i
		}
		i += width
		if unicode.IsSpace(r) {
			afterSpace = i
		}
	}
	return end
}

// uniqueSlug returns the anchor of a heading as on GitHub, with a number after repeated ones.
func (c *chunker) uniqueSlug(title string) string {
	slug := slugOf(title)
	if len(c.slugs) >= mostHeadings {
		return slug
	}
	n, taken := c.slugs[slug]
	c.slugs[slug] = n + 1
	if taken {
		slug += "-" + strconv.Itoa(n)
	}
	return slug
}

func slugOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
