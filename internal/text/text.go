// Package text has the helpers for words and numbers that every part of quarry needs.
package text

import (
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// Clip returns the longest prefix of s that has at most limit bytes and ends between two characters.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit = max(0, limit)
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Shorten returns s, or its first limit characters followed by "…" if it has more.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	at := 0
	for range limit {
		_, width := utf8.DecodeRuneInString(s[at:])
		at += width
	}
	if at >= len(s) {
		return s
	}
	return s[:at] + "…"
}

// OneLine returns s with each run of white space replaced by one space, and none at its ends.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Count returns n and the noun in the form that agrees with it: "1 query", "1,470 queries".
func Count(n int, noun string) string { return Number(n) + " " + Plural(n, noun) }

// Plural returns the regular plural of noun, or noun itself if n is 1.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	for _, ending := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(noun, ending) {
			return noun + "es"
		}
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "o") {
		return stem + "ies"
	}
	return noun + "s"
}

// Number returns n with commas between groups of three digits.
func Number(n int) string { return humanize.Comma(int64(n)) }

// Size returns a number of bytes in units of 1,000: "512 B", "8.3 MB".
func Size(bytes int64) string { return humanize.Bytes(uint64(max(0, bytes))) }
