package reader

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"quarry/ui/explorer/paint"
)

// typesetter makes lines of what a renderer printed: text with styles and with signals (see signals). Each line stands
// by itself: it begins with the styles that hold and ends them.
type typesetter struct {
	source  string // the unit's text
	signals *signals
	width   int // columns
	lines   []line

	rest   lead // what every line begins with
	first  lead // what the next line begins with in its place
	begun  bool // first is to be used
	gap    bool // a blank line comes before the next one
	gapAt  lead // what that begins with
	wrap   lead // what lines begin with that go on with a line too long, after rest
	goesOn bool // the next line does so

	open   bool
	spaces int    // before the first character of a line that is not open yet
	text   []byte // of the open line
	solid  state  // after the last character that is no space
	state         // now
	pen    string
	link   string
	from   int // the line's place in the source, -1 while unknown
	latest int // the same of the lines before

	span     int // the highlight that is on, -1 for none
	spanFrom int // where it begins on this line, -1 before its first character
	reset    bool
	marks    []mark

	at      int // byte of the source, -1 before the first anchor
	letters int // letters seen since the anchor, less those that at was moved by
}

// state is what the terminal would be in after a part of a line.
type state struct {
	length  int // bytes
	columns int
	pen     string // styles that are on
	link    string // the sequence that began the link that is on
}

// lead is what lines begin with: bars of quotes, indentation, marks of lists.
type lead struct {
	text  string
	width int
}

func (l lead) then(other lead) lead { return lead{l.text + other.text, l.width + other.width} }

func newTypesetter(source string, signals *signals, width int) *typesetter {
	return &typesetter{source: source, signals: signals, width: max(1, width), span: -1, spanFrom: -1, at: -1, from: -1}
}

// indent begins every line with something more, the next one with first. The result undoes it.
func (t *typesetter) indent(first, rest lead) (undo func()) {
	before := t.rest
	if t.begun {
		first = t.first.then(first)
	} else {
		first = t.rest.then(first)
	}
	t.first, t.begun = first, true
	t.rest = t.rest.then(rest)
	return func() {
		if t.begun && first.text != t.rest.text { // nothing was written: the mark stands alone
			t.begin()
			t.solid = t.now()
			t.finish()
		}
		t.rest, t.begun = before, false
	}
}

// room is how many columns a line has after what it begins with.
func (t *typesetter) room() int { return t.width - t.rest.width }

// feed sets running text that a renderer printed, in lines of at most width columns after what they begin with. Blank
// lines are dropped.
func (t *typesetter) feed(s string, width int) {
	lines := paint.WrapSpans(visible(s), max(1, width))
	offset, at := 0, 0 // of the visible text
	t.print(s, func(cluster string) {
		if at+1 < len(lines) && offset >= lines[at+1].Start {
			at++
			t.finish()
		}
		offset += len(cluster)
	})
}

// visible is what of a printed text is shown.
func visible(s string) string {
	var shown strings.Builder
	shown.Grow(len(s))
	scan(s, func(cluster string, width int) {
		if width >= 0 || cluster == "\n" {
			shown.WriteString(cluster)
		}
	}, func(string) {}, func(string) {})
	return shown.String()
}

// feedCode sets code that a renderer printed: lines stay as they are, also blank ones but for those at both ends.
func (t *typesetter) feedCode(s string) {
	ends := 0 // of lines, since the last text
	any := false
	t.print(s, func(cluster string) {
		switch {
		case cluster == "\n":
			ends++
		case cluster != " ":
			for ; any && ends > 1; ends-- {
				t.blankLine(t.rest)
			}
			ends, any = 0, true
		}
	})
}

// print sets what a renderer printed, and calls before for every character, line ends included.
func (t *typesetter) print(s string, before func(cluster string)) {
	t.pen, t.link = "", ""
	scan(s, func(cluster string, width int) {
		switch {
		case cluster == "\n":
			before(cluster)
			t.finish()
			t.goesOn = false
		case width >= 0:
			before(cluster)
			t.write(cluster, width)
		}
	}, t.escape, t.signal)
	t.finish()
}

// scan takes a printed text apart: characters with their width (-1 for those that must not be shown), escape sequences,
// signals.
func scan(s string, character func(cluster string, width int), sequence, signal func(string)) {
	for at := 0; at < len(s); {
		switch {
		case s[at] == escape:
			size := sequenceSize(s[at:])
			sequence(s[at : at+size])
			at += size
		case strings.HasPrefix(s[at:], signalBegin):
			size := signalSize(s[at:])
			signal(s[at : at+size])
			at += size
		default:
			size, width := next(s[at:])
			character(s[at:at+size], width)
			at += size
		}
	}
}

const escape = 0x1b

// next reads the first character of a text: its length and its width; -1 for one that must not be shown.
func next(s string) (size, width int) {
	c := s[0]
	switch {
	case c == '\t':
		return 1, 1
	case c < ' ' || c == 0x7f:
		return 1, -1
	case c < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf):
		return 1, 1
	}
	cluster, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	r, _ := utf8.DecodeRuneInString(s)
	if r >= 0x80 && r < 0xa0 || isSignal(r) {
		return len(cluster), -1
	}
	return len(cluster), width
}

// sequenceSize is the length of the escape sequence that a text begins with.
func sequenceSize(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return min(2, len(s))
	}
	end := 2
	for end < len(s) && s[end] >= ' ' && s[end] <= '?' {
		end++
	}
	return min(end+1, len(s))
}

// escape obeys an escape sequence. Only styles count: links come as signals, and nothing else has a place in a text.
func (t *typesetter) escape(sequence string) {
	parameters, isStyle := strings.CutSuffix(sequence, "m")
	parameters, isControl := strings.CutPrefix(parameters, "\x1b[")
	switch {
	case !isStyle || !isControl:
	case parameters == "" || parameters == "0":
		t.pen = ""
	case len(t.pen) < 256:
		t.pen += sequence
	}
}

// write sets one character.
func (t *typesetter) write(cluster string, width int) {
	space := cluster == " " || cluster == "\t"
	switch {
	case !t.open && space:
		t.spaces++
		return
	case !t.open && t.goesOn:
		t.goOn()
	case !t.open:
		t.begin()
		t.fill(min(t.spaces, t.width-t.columns-1))
	case t.columns+width > t.width && space:
		return
	case t.columns+width > t.width && t.columns > t.rest.width:
		t.finish()
		t.goOn()
	}
	if !space && t.span >= 0 && t.spanFrom < 0 {
		t.spanFrom, t.reset = len(t.text), t.state.pen != ""
	}
	t.sync()
	if space {
		cluster = " "
	}
	t.put(cluster)
	t.columns += width
	if space {
		return
	}
	t.note(cluster)
	t.solid = t.now()
}

// goOn begins a line that goes on with the one before.
func (t *typesetter) goOn() {
	t.begin()
	t.put(t.wrap.text)
	t.columns += t.wrap.width
	t.goesOn = false
}

// fill sets the spaces that a line begins with.
func (t *typesetter) fill(spaces int) {
	for range spaces {
		t.put(" ")
		t.columns++
	}
}

// sync brings the terminal's style and link to those that the text has.
func (t *typesetter) sync() {
	if t.state.link != t.link {
		if t.link == "" {
			t.put(endLink)
		} else {
			t.put(t.link)
		}
		t.state.link = t.link
	}
	if t.state.pen == t.pen {
		return
	}
	if t.state.pen != "" {
		t.put(endStyle)
	}
	t.put(t.pen)
	t.state.pen = t.pen
}

const endLink = "\x1b]8;;\a"

func (t *typesetter) put(s string) { t.text = append(t.text, s...) }

func (t *typesetter) now() state {
	return state{len(t.text), t.columns, t.state.pen, t.state.link}
}

// note keeps track of where in the source the text is.
func (t *typesetter) note(cluster string) {
	if t.at < 0 {
		return
	}
	for _, r := range cluster {
		if !isLetter(r) {
			continue
		}
		if t.from < 0 {
			t.from = t.locate()
		}
		t.letters++
	}
}

// locate finds the next letter in the source that was not seen yet.
func (t *typesetter) locate() int {
	for t.at < len(t.source) {
		r, size := utf8.DecodeRuneInString(t.source[t.at:])
		if isLetter(r) {
			if t.letters == 0 {
				return t.at
			}
			t.letters--
		}
		t.at += size
	}
	return max(0, len(t.source)-1)
}

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// begin opens a line.
func (t *typesetter) begin() {
	if t.gap && len(t.lines) > 0 {
		t.blankLine(t.gapAt)
	}
	t.gap = false
	begin := t.rest
	if t.begun {
		begin = t.first
	}
	t.open, t.begun = true, false
	t.text = append(t.text[:0], begin.text...)
	t.from, t.spanFrom, t.marks = -1, -1, nil
	t.state = state{columns: begin.width}
	t.solid = t.now()
}

// space leaves a blank line before the next one.
func (t *typesetter) space() {
	if !t.gap {
		t.gap, t.gapAt = true, t.rest
	}
}

func (t *typesetter) blankLine(begin lead) {
	text := strings.TrimRight(begin.text, " ")
	t.lines = append(t.lines, line{text: text, width: paint.Width(text), from: -1})
}

// finish closes the open line.
func (t *typesetter) finish() {
	t.spaces = 0
	if !t.open {
		return
	}
	t.endSpan()
	t.open = false
	t.text = t.text[:t.solid.length]
	if t.solid.link != "" {
		t.put(endLink)
	}
	if t.solid.pen != "" {
		t.put(endStyle)
	}
	if t.from >= 0 {
		t.from = max(t.from, t.latest)
		t.latest = t.from
	}
	t.lines = append(t.lines, line{string(t.text), t.solid.columns, t.from, t.marks})
}

// endSpan ends the part of a highlight that stands on this line.
func (t *typesetter) endSpan() {
	if t.open && t.spanFrom >= 0 && t.solid.length > t.spanFrom {
		t.marks = append(t.marks, mark{t.spanFrom, t.solid.length, t.span, t.solid.pen, t.reset})
	}
	t.spanFrom = -1
}
