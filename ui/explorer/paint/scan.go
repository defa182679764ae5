package paint

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"quarry/internal/text"
)

// kind is the kind of a piece of a styled line.
type kind uint8

const (
	visible kind = iota // one grapheme cluster; its width may be 0
	style               // a sequence that changes colours or weight
	plain               // a sequence that resets all styles
	link                // the beginning of a hyperlink
	unlink              // its end
	junk                // anything else that must not reach a terminal within a line
)

const escape = 0x1b

// next reads the first piece of a non-empty text: its kind, its length in bytes and its width in columns.
func next(s string) (what kind, size, width int) {
	c := s[0]
	switch {
	case c == escape:
		what, size = sequence(s)
		return what, size, 0
	case c < ' ' || c == 0x7f:
		return junk, 1, 0
	case c < utf8.RuneSelf && isolated(s[1:]):
		return visible, 1, 1
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size == 1, r >= 0x80 && r < 0xa0:
		return junk, size, 0
	case isWide(r) && isolated(s[size:]):
		return visible, size, 2
	case isNarrow(r) && isolated(s[size:]):
		return visible, size, 1
	}
	size, width = character(s)
	return visible, size, width
}

// character measures the first cluster of a text, including what Text separates from it by zero-width spaces.
func character(s string) (size, width int) {
	for {
		cluster, columns := ansi.FirstGraphemeCluster(s[size:], ansi.GraphemeWidth)
		if !utf8.ValidString(cluster) {
			return size + validPrefix(cluster), width + ansi.StringWidth(cluster[:validPrefix(cluster)])
		}
		size += len(cluster)
		width += columns
		if r, held := utf8.DecodeRuneInString(s[size:]); r != zeroSpace || size+held == len(s) || s[size+held] < utf8.RuneSelf {
			return size, width
		}
		size += len(string(rune(zeroSpace)))
	}
}

// validPrefix returns the length of the valid UTF-8 at the start of a text.
func validPrefix(s string) int {
	at := 0
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// sequence reads the escape sequence that a text begins with. Only styles and hyperlinks are of use within a line.
func sequence(s string) (kind, int) {
	size := max(1, text.EscapeWidth(s))
	whole := s[:size]
	parameters, isStyle := strings.CutPrefix(strings.TrimSuffix(whole, "m"), "\x1b[")
	switch isStyle = isStyle && strings.HasSuffix(whole, "m"); {
	case isStyle && (parameters == "" || parameters == "0"):
		return plain, size
	case isStyle && strings.Trim(parameters, "0123456789;:") == "":
		return style, size
	}
	return linkKind(whole), size
}

// linkKind returns what a sequence does to hyperlinks. One with more than ASCII in it is junk: some of its bytes end it
// for some terminals.
func linkKind(sequence string) kind {
	rest, begins := strings.CutPrefix(sequence, "\x1b]8;")
	rest, ends := strings.CutSuffix(rest, "\a")
	if !ends {
		rest, ends = strings.CutSuffix(rest, "\x1b\\")
	}
	_, address, found := strings.Cut(rest, ";")
	switch {
	case !begins || !ends || !found || plainASCII(rest) < len(rest):
		return junk
	case address == "":
		return unlink
	}
	return link
}

// isolated reports whether the following text cannot join the character before it.
func isolated(rest string) bool {
	if rest == "" || rest[0] < utf8.RuneSelf {
		return true
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return isNarrow(r) || isWide(r)
}

// isNarrow reports whether a character takes one column everywhere and never joins others: most letters of Europe and
// the Near East, punctuation, lines and blocks. A false answer only costs time.
func isNarrow(r rune) bool {
	switch {
	case r >= 0xa1 && r < 0x300: // Latin, phonetic letters
		return r != 0xad && r != 0xa9 && r != 0xae
	case r >= 0x370 && r < 0x483, r >= 0x48a && r < 0x530: // Greek, Cyrillic
		return true
	case r >= 0x5d0 && r <= 0x5ea, r >= 0x620 && r <= 0x64a: // Hebrew, Arabic
		return true
	case r >= 0x1e00 && r < 0x2000: // Latin and Greek with accents
		return true
	case r >= 0x2010 && r < 0x2028, r >= 0x2030 && r < 0x203c, r >= 0x20a0 && r < 0x20c0: // dashes, quotes, currencies
		return true
	case r >= 0x2200 && r < 0x2300, r >= 0x2500 && r < 0x25a0: // mathematics, lines and blocks
		return true
	}
	return false
}

// isWide is isNarrow for two columns: Chinese, Japanese and Korean.
func isWide(r rune) bool {
	return r >= 0x4e00 && r < 0xa000 || r >= 0x3041 && r < 0x3097 || r >= 0x30a1 && r < 0x30ff ||
		r >= 0x3001 && r < 0x3021 || r >= 0xac00 && r < 0xd7a4 || r >= 0x3400 && r < 0x4dc0 || r >= 0xff01 && r < 0xff61
}
