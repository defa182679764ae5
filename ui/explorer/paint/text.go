package paint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
)

// Line makes foreign text paintable on one line: line ends, tabs and runs of spaces become one space, none is left at
// the ends, and what Text does to characters is done.
func Line(s string) string {
	line, _ := LineSpans(s, nil)
	return line
}

// Text makes foreign text of many lines paintable. Line ends and indentation stay, tabs become spaces up to the next
// multiple of 4 columns. Controls and invisible characters go, what is not UTF-8 is replaced, and so are characters
// whose width terminals disagree about: an emoji of several becomes its first one, a skin tone goes, joined letters and
// vowel signs of Indic scripts are held apart by invisible characters.
func Text(s string) string {
	text, _ := TextSpans(s, nil)
	return text
}

// LineSpans is Line for text with marked ranges, see TextSpans.
func LineSpans(s string, spans []wire.Span) (string, []wire.Span) { return paintable(s, spans, true) }

// TextSpans is Text for text with marked ranges. They are moved along so that they mark the same text, widened to whole
// characters as a reader counts them, clamped, sorted, and merged where they touch; empty ones go.
func TextSpans(s string, spans []wire.Span) (string, []wire.Span) { return paintable(s, spans, false) }

func paintable(s string, spans []wire.Span, oneLine bool) (string, []wire.Span) {
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
	markHolder = '◌' // what a mark stands on that has nothing to stand on
	tabStop    = 4
	// maxCluster is how many characters one on the screen may consist of. Writing needs no more.
	maxCluster = 16
)

// plainRun is the length of the text that needs no change and no closer look, and cannot grow together with what
// follows it.
func plainRun(s string, oneLine bool) int {
	for at := 0; at < len(s); {
		size := 1
		switch c := s[at]; {
		case c == ' ' && oneLine:
			if at == 0 || at+1 == len(s) || s[at+1] <= ' ' || s[at+1] == 0x7f || !alone(s[at+1:]) {
				return at
			}
		case c == '\n' && !oneLine:
		case c < ' ' || c == 0x7f:
			return at
		case c < utf8.RuneSelf:
			if !alone(s[at+1:]) {
				return at
			}
		default:
			var r rune
			r, size = utf8.DecodeRuneInString(s[at:])
			if !width1(r) && !width2(r) || !alone(s[at+size:]) {
				return at
			}
		}
		at += size
	}
	return len(s)
}

// edit is one walk over a text that replaces parts of it.
type edit struct {
	text    string
	oneLine bool
	out     strings.Builder
	copied  int // what precedes it in the text is in out, or dropped
	spans   *wire.SpanMover
}

// position is where the text at an offset comes to stand.
func (e *edit) position(at int) int { return e.out.Len() + at - e.copied }

// keep leaves a part as it is; whole tells that it is one character.
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

// characters is the first walk: spaces, controls, and characters that are never shown.
func (e *edit) characters() {
	for at := 0; at < len(e.text); {
		if size := plainRun(e.text[at:], e.oneLine); size > 0 {
			e.keep(at, at+size, false)
			at += size
			continue
		}
		if size, space := gap(e.text[at:], e.oneLine); size > 0 {
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
		case lineEnd(r):
			e.replace(at, at+size, "\n")
		default:
			e.keep(at, at+size, true)
		}
		at += size
	}
}

// gap is the length of what goes at the beginning of a text, and on one line whether there is a space among it.
func gap(s string, oneLine bool) (size int, space bool) {
	for size < len(s) {
		r, width := utf8.DecodeRuneInString(s[size:])
		switch {
		case oneLine && unicode.IsSpace(r):
			space = true
		case r == '\r' && strings.HasPrefix(s[size+1:], "\n"):
		case r == joiner && !symbol(s[size+width:]):
		case lineEnd(r), r == '\t', !unseen(r):
			return size, space
		}
		size += width
	}
	return size, space
}

// symbol tells whether a text begins with what a joiner may make part of an emoji.
func symbol(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.So, r) || r == 0x2194 || r == 0x2195
}

// lineEnd tells of the characters that end a line, one way or another.
func lineEnd(r rune) bool { return r >= '\n' && r <= '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 }

// unseen tells of characters that show nothing by themselves: controls, directions, presentation forms, skin tones. The
// joiners are left to others.
func unseen(r rune) bool {
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

// clusters is the second walk: what a reader takes for one character, and tabs, which need to know their column.
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
		e.replace(from, at, settled(cluster, width))
		if tabs {
			column = columnAfter(column, settled(cluster, width))
		}
	}
}

// columnAfter is the column after a text that begins in one.
func columnAfter(column int, s string) int {
	if end := strings.LastIndexByte(s, '\n'); end >= 0 {
		column, s = 0, s[end+1:]
	}
	return column + Width(s)
}
