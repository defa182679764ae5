// Package paint measures, cleans, wraps, cuts and styles text for the terminal.
//
// Terminals disagree about the width of some text: older ones add up characters, newer ones measure grapheme clusters.
// Line and Text convert foreign text to text on which both agree. All other functions expect such text, with or without
// styles.
package paint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Line is Text for one line: line ends, tabs and runs of spaces become one space, and none is left at the ends.
func Line(s string) string {
	line, _ := LineSpans(s, nil)
	return line
}

// Text makes foreign text of several lines safe to draw. Line ends and indentation stay; tabs become spaces up to the
// next multiple of 4 columns. Control and invisible characters are removed, invalid UTF-8 is replaced. So are
// characters whose width differs between terminals: of a joined emoji the first one stays, skin tones are removed,
// joined letters and vowel signs of Indic scripts are separated by invisible characters.
func Text(s string) string {
	text, _ := TextSpans(s, nil)
	return text
}

// LineSpans is Line for text with spans, see TextSpans.
func LineSpans(s string, spans []wire.Span) (string, []wire.Span) { return clean(s, spans, true) }

// TextSpans is Text for text with spans. They keep marking the same text, widened to whole clusters, clamped, sorted,
// and merged where they touch; empty ones are dropped.
func TextSpans(s string, spans []wire.Span) (string, []wire.Span) { return clean(s, spans, false) }

func clean(s string, spans []wire.Span, oneLine bool) (string, []wire.Span) {
	if len(spans) == 0 && plainRun(s, oneLine) == len(s) {
		return s, nil
	}
	first := edit{text: s, oneLine: oneLine, spans: wire.NewSpanMover(s, spans)}
	first.characters()
	s = first.result()
	second := edit{text: s, oneLine: oneLine, spans: wire.NewSpanMover(s, first.spans.Spans())}
	second.clusters()
	return second.result(), second.spans.Spans()
}

const (
	joiner     = 0x200d
	nonJoiner  = 0x200c
	zeroSpace  = 0x200b
	unknownBox = "□"
	markHolder = '◌' // base of a mark that has none
	tabStop    = 4
	// maxCluster is the largest number of characters in a cluster. Writing needs no more.
	maxCluster = 16
)

// plainRun returns the length of the text that needs no change and cannot join what follows it.
func plainRun(s string, oneLine bool) int {
	for at := 0; at < len(s); {
		size := 1
		switch c := s[at]; {
		case c == ' ' && oneLine:
			if at == 0 || at+1 == len(s) || s[at+1] <= ' ' || s[at+1] == 0x7f || !isolated(s[at+1:]) {
				return at
			}
		case c == '\n' && !oneLine:
		case c < ' ' || c == 0x7f:
			return at
		case c < utf8.RuneSelf:
			if !isolated(s[at+1:]) {
				return at
			}
		default:
			var r rune
			r, size = utf8.DecodeRuneInString(s[at:])
			if !isNarrow(r) && !isWide(r) || !isolated(s[at+size:]) {
				return at
			}
		}
		at += size
	}
	return len(s)
}

// edit walks over a text and replaces parts of it.
type edit struct {
	text    string
	oneLine bool
	out     strings.Builder
	copied  int // the text before it is in out, or removed
	spans   *wire.SpanMover
}

// position returns the offset in the edited text.
func (e *edit) position(at int) int { return e.out.Len() + at - e.copied }

// keep keeps a part as it is; whole means that it is one cluster.
func (e *edit) keep(from, to int, whole bool) {
	at := e.position(from)
	if whole {
		e.spans.Replace(from, to, at, at+to-from)
	} else {
		e.spans.Keep(from, to, at)
	}
}

func (e *edit) replace(from, to int, replacement string) {
	if e.text[from:to] == replacement {
		e.keep(from, to, true)
		return
	}
	at := e.position(from)
	e.spans.Replace(from, to, at, at+len(replacement))
	e.out.WriteString(e.text[e.copied:from])
	e.out.WriteString(replacement)
	e.copied = to
}

func (e *edit) result() string {
	if e.copied == 0 {
		return e.text
	}
	e.out.WriteString(e.text[e.copied:])
	return e.out.String()
}

// characters is the first walk: spaces, control characters, and characters that are never shown.
func (e *edit) characters() {
	for at := 0; at < len(e.text); {
		if size := plainRun(e.text[at:], e.oneLine); size > 0 {
			e.keep(at, at+size, false)
			at += size
			continue
		}
		if size, space := gap(e.text[at:], e.oneLine, e.position(at) == 0); size > 0 {
			replacement := ""
			if space && e.position(at) > 0 && at+size < len(e.text) {
				replacement = " "
			}
			e.replace(at, at+size, replacement)
			at += size
			continue
		}
		r, size := utf8.DecodeRuneInString(e.text[at:])
		switch {
		case r == utf8.RuneError || r&0xfffe == 0xfffe:
			e.replace(at, at+size, string(utf8.RuneError))
		case isLineEnd(r):
			e.replace(at, at+size, "\n")
		default:
			e.keep(at, at+size, true)
		}
		at += size
	}
}

// gap returns the length of the text to remove at the start, and whether it has a space if on one line. first means
// that nothing precedes it.
func gap(s string, oneLine, first bool) (size int, space bool) {
	for size < len(s) {
		r, width := utf8.DecodeRuneInString(s[size:])
		switch {
		case oneLine && unicode.IsSpace(r):
			space = true
		case r == '\r' && strings.HasPrefix(s[size+1:], "\n"):
		case r == joiner && !isSymbol(s[size+width:]):
		case r == nonJoiner && (first || space): // no letter before it
		case isLineEnd(r), r == '\t', !isInvisible(r):
			return size, space
		}
		size += width
	}
	return size, space
}

// isSymbol reports whether a text begins with a character that a joiner may make part of an emoji.
func isSymbol(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.So, r) && r != utf8.RuneError || r == 0x2194 || r == 0x2195
}

func isLineEnd(r rune) bool { return r >= '\n' && r <= '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 }

// isInvisible reports whether a character shows nothing by itself: controls, directions, presentation forms, skin
// tones. Joiners are handled elsewhere.
func isInvisible(r rune) bool {
	switch {
	case r == joiner, r == nonJoiner:
		return false
	case r < ' ', r >= 0x7f && r < 0xa0,
		r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, r >= 0x180b && r <= 0x180f, // variation selectors
		r >= 0x1f3fb && r <= 0x1f3ff,                                   // skin tones
		r == 0x34f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0: // fillers
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// clusters is the second walk: clusters, and tabs, which depend on the column.
func (e *edit) clusters() {
	column, tabs := 0, strings.Contains(e.text, "\t")
	for at := 0; at < len(e.text); {
		from := at
		if size := plainRun(e.text[at:], e.oneLine); size > 0 {
			at += size
			e.keep(from, at, false)
			if tabs {
				column = columnAfter(column, e.text[from:at])
			}
			continue
		}
		if c := e.text[at]; c == '\t' {
			at++
			e.replace(from, at, Blank(tabStop-column%tabStop))
			column = 0
			continue
		}
		cluster, width := ansi.FirstGraphemeCluster(e.text[at:], ansi.GraphemeWidth)
		at += len(cluster)
		e.replace(from, at, normalized(cluster, width))
		if tabs {
			column = columnAfter(column, normalized(cluster, width))
		}
	}
}

// columnAfter returns the column after a text that begins in a column.
func columnAfter(column int, s string) int {
	if end := strings.LastIndexByte(s, '\n'); end >= 0 {
		column, s = 0, s[end+1:]
	}
	return column + Width(s)
}

// Width returns the width of a styled string in columns.
func Width(s string) int {
	if text.PlainWidth(s) == len(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// Blank returns w spaces.
func Blank(w int) string { return strings.Repeat(" ", max(0, w)) }

// Cache keeps what was drawn until its key, which is all that it depends on, changes.
type Cache[K comparable, V any] struct {
	key   K
	value V
	full  bool
}

// Get returns what was drawn for a key. It calls draw if the key has changed.
func (c *Cache[K, V]) Get(key K, draw func() V) V {
	if !c.full || c.key != key {
		c.key, c.value, c.full = key, draw(), true
	}
	return c.value
}

// Input is a drawn line in which something is typed.
type Input struct {
	Text    string
	CursorX int // column of the cursor
}

// Kind is the kind of a piece of a styled line.
type Kind uint8

const (
	Visible Kind = iota // one grapheme cluster; its width may be 0
	Style               // a sequence that changes colours or weight
	Reset               // a sequence that resets all styles
	Link                // the beginning of a hyperlink
	Unlink              // its end
	Junk                // anything else that must not reach a terminal within a line
)

const escape = 0x1b

// Next reads the first piece of a non-empty text: its kind, its length in bytes and its width in columns.
func Next(s string) (what Kind, size, width int) {
	c := s[0]
	switch {
	case c == escape:
		what, size = sequence(s)
		return what, size, 0
	case c < ' ' || c == 0x7f:
		return Junk, 1, 0
	case c < utf8.RuneSelf && isolated(s[1:]):
		return Visible, 1, 1
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size == 1, r >= 0x80 && r < 0xa0:
		return Junk, size, 0
	case isWide(r) && isolated(s[size:]):
		return Visible, size, 2
	case isNarrow(r) && isolated(s[size:]):
		return Visible, size, 1
	}
	size, width = character(s)
	return Visible, size, width
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
		if r, held := utf8.DecodeRuneInString(s[size:]); r != zeroSpace || size+held == len(s) ||
			s[size+held] < utf8.RuneSelf {
			return size, width
		}
		size += len(string(rune(zeroSpace)))
	}
}

// validPrefix returns the length of the valid UTF-8 at the start of a text.
func validPrefix(s string) int {
	for at, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[at:], string(utf8.RuneError)) {
			return at
		}
	}
	return len(s)
}

// sequence reads the escape sequence that a text begins with. Only styles and hyperlinks are of use within a line.
func sequence(s string) (Kind, int) {
	size := max(1, text.EscapeWidth(s))
	whole := s[:size]
	parameters, isStyle := strings.CutPrefix(strings.TrimSuffix(whole, "m"), "\x1b[")
	switch isStyle = isStyle && strings.HasSuffix(whole, "m"); {
	case isStyle && (parameters == "" || parameters == "0"):
		return Reset, size
	case isStyle && strings.Trim(parameters, "0123456789;:") == "":
		return Style, size
	}
	return linkKind(whole), size
}

// linkKind returns what a sequence does to hyperlinks. One with more than ASCII in it is Junk: some of its bytes end it
// for some terminals.
func linkKind(sequence string) Kind {
	rest, begins := strings.CutPrefix(sequence, "\x1b]8;")
	rest, ends := strings.CutSuffix(rest, "\a")
	if !ends {
		rest, ends = strings.CutSuffix(rest, "\x1b\\")
	}
	_, address, found := strings.Cut(rest, ";")
	switch {
	case !begins || !ends || !found || text.PlainWidth(rest) < len(rest):
		return Junk
	case address == "":
		return Unlink
	}
	return Link
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
