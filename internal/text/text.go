// Package text has the helpers for words and numbers that every part of quarry needs.
package text

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
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

// PlainWidth returns the length of the printable ASCII text that s starts with.
func PlainWidth(s string) int {
	for at := range len(s) {
		if s[at] < ' ' || s[at] >= 0x7f {
			return at
		}
	}
	return len(s)
}

// IsWordByte reports whether a byte belongs to a letter or a digit; bytes beyond ASCII count as letters.
func IsWordByte(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
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

// IsAmong reports whether a word is one of those in a text.
func IsAmong(word, words string) bool {
	for one := range strings.FieldsSeq(words) {
		if one == word {
			return true
		}
	}
	return false
}

// Join returns those of some texts that are not empty, with a separator between them.
func Join(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), separator)
}

// CleanLine is OneLine without control and format characters: spaces take their place.
func CleanLine(s string) string {
	return OneLine(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s))
}

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
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") &&
		!strings.HasSuffix(stem, "o") {
		return stem + "ies"
	}
	return noun + "s"
}

// Number returns n with commas between groups of three digits.
func Number(n int) string { return humanize.Comma(int64(n)) }

// Size returns a number of bytes in units of 1,000: "512 B", "8.3 MB".
func Size(bytes int64) string { return humanize.Bytes(uint64(max(0, bytes))) }

// Duration returns how long something took, as precise as it matters: "14 ms".
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(1, d.Milliseconds()))
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}

// Left returns an estimate of the time that work takes, in whole seconds, minutes or hours: "4 min".
func Left(seconds int) string {
	switch {
	case seconds < 90:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 90*60:
		return fmt.Sprintf("%d min", (seconds+30)/60)
	}
	return fmt.Sprintf("%d h", (seconds+30*60)/3600)
}

// Lately describes the last days, weeks, months or years in words: 30d is "last 30 days". "Last year" would be the one
// that ended in December.
func Lately(within string) string {
	number, unit := within[:max(0, len(within)-1)], within[max(0, len(within)-1):]
	word := map[string]string{"d": "day", "w": "week", "m": "month", "y": "year"}[strings.ToLower(unit)]
	number = strings.TrimLeft(number, "0")
	if number == "1" {
		return "past " + word
	}
	return "last " + number + " " + word + "s"
}

// Sentence returns s with a capital letter at its start and a full stop at its end. The name of the program and words
// that have capitals inside keep their case.
func Sentence(s string) string {
	s = strings.TrimSpace(s)
	first, width := utf8.DecodeRuneInString(s)
	next, _ := utf8.DecodeRuneInString(s[width:])
	if s != "" && !strings.HasPrefix(s, "quarry ") && !unicode.IsUpper(next) {
		s = string(unicode.ToUpper(first)) + s[width:]
	}
	return Ended(s)
}

// Ended returns s with a full stop at its end, unless it ends otherwise, or with an address or a command of quarry,
// which can then be copied.
func Ended(s string) string {
	s = strings.TrimSpace(s)
	last := s[strings.LastIndexByte(s, ' ')+1:]
	isOpen := strings.Contains(last, "://") || strings.HasPrefix(last, "/") || strings.Contains(s, "quarry ")
	if s == "" || isOpen || strings.ContainsAny(s[len(s)-1:], ".!?:)") {
		return s
	}
	return s + "."
}

// OrEmpty returns the text that a pointer refers to; "" for nil.
func OrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Letters returns the letters and digits of a text in lower case: by them headings and titles are compared.
func Letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// Slug returns the anchor of a heading, as on GitHub.
func Slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
