package line

import (
	"cmp"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"quarry/internal/text"
)

const (
	unlimited = math.MaxInt
	// maxScanned is how much of a text is read, in bytes, so that a paste of any size is handled at once.
	maxScanned = 128 << 10
)

// Clean returns a text as an editor stores it, one line of at most limit runes: valid UTF-8 without escape sequences,
// control characters and characters that hide or reorder text. A run of white space with a tab or line end becomes one
// space.
func Clean(s string, limit int) string {
	if limit <= 0 || s == "" {
		return ""
	}
	s = text.Clip(s, maxScanned)
	if strings.Contains(s, "\x1b") {
		s = ansi.Strip(s)
	}
	return clip(flatten(strings.ToValidUTF8(s, string(utf8.RuneError))), limit)
}

// flatten removes hidden characters, and replaces white space with a tab or line end by one space.
func flatten(s string) string {
	if text.PlainWidth(s) == len(s) {
		return s
	}
	var out strings.Builder
	for s != "" {
		rest := strings.TrimLeftFunc(s, unicode.IsSpace)
		if space := s[:len(s)-len(rest)]; strings.ContainsFunc(space, breaksLine) {
			out.WriteByte(' ')
		} else {
			out.WriteString(space)
		}
		r, width := utf8.DecodeRuneInString(rest)
		if !isHidden(r) {
			out.WriteString(rest[:width])
		}
		s = rest[width:]
	}
	return out.String()
}

func breaksLine(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// isHidden reports whether a character is invisible or changes how others are read. Joiners are part of emoji and
// scripts.
func isHidden(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	if r == joiner || r == nonJoiner {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// clip cuts a text to a number of runes, between clusters unless the first one alone is longer.
func clip(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	cut := 0
	for range limit {
		_, width := utf8.DecodeRuneInString(s[cut:])
		cut += width
	}
	whole := 0
	for clusters := graphemes.FromString(s); clusters.Next() && clusters.End() <= cut; {
		whole = clusters.End()
	}
	return s[:cmp.Or(whole, cut)]
}
