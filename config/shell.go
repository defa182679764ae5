package config

import (
	"strings"
	"unicode"
)

// ShellQuote writes a word of a command that a person is told to run, so that a shell takes it as one.
func ShellQuote(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-:@%+=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
