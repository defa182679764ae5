// Package tokens estimates how many tokens a language model would make of a text.
package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Estimate is the larger of bytes ÷ 4 and the number of words, where a CJK character counts as one word. It is the one
// measure of chunk sizes, context budgets and num_tokens.
func Estimate(text string) int {
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
