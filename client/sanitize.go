package client

import (
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Sanitize makes foreign text safe to show on a terminal: it removes whole escape sequences, control characters except
// line feed and tab, and characters that hide or reorder text, and replaces invalid UTF-8. Joiners and variation
// selectors are kept, for emoji and scripts that need them.
func Sanitize(s string) string {
	clean, _ := sanitize(s, false, new(wire.SpanMover))
	return clean
}

// sanitizeLine is Sanitize for a single line: line feeds and tabs become spaces.
func sanitizeLine(s string) string {
	clean, _ := sanitize(s, true, new(wire.SpanMover))
	return clean
}

// SanitizeSpans is Sanitize for text with marked ranges. The ranges are moved along so that they mark the same visible
// text, clamped to it, widened to whole characters, sorted, and merged where they touch or overlap; empty ones go.
func SanitizeSpans(s string, spans ...wire.Span) (string, []wire.Span) {
	mover := wire.NewSpanMover(s, spans)
	clean, _ := sanitize(s, false, mover)
	return clean, mover.Spans()
}

// sanitize implements Sanitize. It reports whether anything changed, and passes every piece to the mover.
func sanitize(s string, oneLine bool, mover *wire.SpanMover) (clean string, changed bool) {
	var out strings.Builder
	copied := 0 // the text before is in out, or removed
	for at := 0; at < len(s); {
		start := out.Len() + at - copied
		if width := plainWidth(s[at:]); width > 0 {
			mover.Keep(at, at+width, start)
			at += width
			continue
		}
		width, replacement, keep := piece(s[at:], oneLine)
		if keep {
			mover.Replace(at, at+width, start, start+width)
			at += width
			continue
		}
		mover.Replace(at, at+width, start, start+len(replacement))
		out.WriteString(s[copied:at])
		out.WriteString(replacement)
		at += width
		copied = at
	}
	if copied == 0 {
		return s, false
	}
	out.WriteString(s[copied:])
	return out.String(), true
}

// plainWidth returns the length of the printable ASCII text that s starts with.
func plainWidth(s string) int {
	for at := range len(s) {
		if s[at] < ' ' || s[at] >= 0x7f {
			return at
		}
	}
	return len(s)
}

// piece returns the width in bytes of the first character or escape sequence, and its replacement unless it is kept.
func piece(s string, oneLine bool) (width int, replacement string, keep bool) {
	c := s[0]
	switch {
	case c == '\n' || c == '\t':
		if oneLine {
			return 1, " ", false
		}
		return 1, "", true
	case c == 0x1b:
		return text.EscapeWidth(s), "", false
	case c < utf8.RuneSelf:
		return 1, "", false
	}
	r, width := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && width == 1:
		return 1, string(utf8.RuneError), false
	case r >= 0x80 && r < 0xa0:
		return text.EscapeWidth(s), "", false
	case r == 0x2028 || r == 0x2029:
		if oneLine {
			return width, " ", false
		}
		return width, "\n", false
	case hidesText(r):
		return width, "", false
	}
	return width, "", true
}

// hidesText reports whether a character is invisible and reorders or hides text.
func hidesText(r rune) bool {
	switch {
	case r == 0x061c, r == 0x180e, r == 0x200e, r == 0x200f, r == 0xfeff,
		r >= 0x202a && r <= 0x202e,   // embeddings and overrides
		r >= 0x2061 && r <= 0x2064,   // invisible operators
		r >= 0x2066 && r <= 0x206f,   // isolates, deprecated format controls
		r >= 0xfff9 && r <= 0xfffb,   // interlinear annotation
		r >= 0x1d173 && r <= 0x1d17a, // musical format controls
		r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	}
	return false
}
