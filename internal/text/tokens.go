package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// EstimateTokens estimates the tokens that a language model makes of text: the larger of bytes ÷ 4 and the number of
// words, where a CJK character counts as one word. It is the one measure of chunk sizes, context budgets and
// num_tokens.
func EstimateTokens(text string) int {
	words, inWord := 0, false
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			space := c == ' ' || c >= '\t' && c <= '\r'
			if !space && !inWord {
				words++
			}
			inWord = !space
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case IsCJK(r):
			words++
			inWord = false
		case unicode.IsSpace(r):
			inWord = false
		case !inWord:
			words++
			inWord = true
		}
	}
	return max((len(text)+3)/4, words)
}

// IsCJK reports whether r belongs to a script that is written without spaces between words.
func IsCJK(r rune) bool {
	if r < 0x1100 || r == utf8.RuneError {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// ClipTokens returns the beginning of s as valid UTF-8, with at most limit estimated tokens.
func ClipTokens(s string, limit int) string {
	s = strings.ToValidUTF8(s, "")
	if len(s) <= 8*limit && EstimateTokens(s) <= limit {
		return s
	}
	s = Clip(s, 4*limit)
	for count := EstimateTokens(s); count > limit; count = EstimateTokens(s) {
		s = Clip(s, min(len(s)*limit/count, len(s)-1))
	}
	return s
}
