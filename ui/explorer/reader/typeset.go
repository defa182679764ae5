package reader

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	extast "github.com/yuin/goldmark/extension/ast"

	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// typesetter makes lines of the text that Glamour printed for a unit: it wraps them, and replaces notes by the places
// that they mark. Each line begins with its styles and ends them.
//
// Glamour does not wrap running text. Its own wrapping starts the second line of a list item below the bullet, and
// moves Chinese and Japanese text to the next line in one piece.
type typesetter struct {
	*renderer
	width int // columns
	lines []line

	gap    bool   // a blank line comes before the next one
	indent []cell // continuation of the latest line
	latest int    // highest place in the source of the lines
	grid   *grid  // that is being set

	muted string // pen of marks
}

// cell is a grapheme cluster, or a note.
type cell struct {
	text  string
	width int
	pen   string // the styles that are on
	link  string // the sequence that begins the link that is on
	at    int    // byte of the unit's text; -1 for text that is not in it, below for the number of a link

	isNote bool
	kind   noteKind
	value  int
}

func newTypesetter(r *renderer, width int) *typesetter {
	t := &typesetter{renderer: r, width: width}
	t.muted = t.cells(r.theme.Muted.Render("•"))[0].pen
	return t
}

// read splits printed text into lines of cells.
func (t *typesetter) read(printed string) [][]cell {
	var lines [][]cell
	state := cell{at: -1}
	for rest := range strings.SplitSeq(printed, "\n") {
		line := make([]cell, 0, len(rest)/2)
		for rest != "" {
			c, size := t.next(&state, rest)
			if c.isNote || c.text != "" {
				line = append(line, c)
			}
			rest = rest[size:]
		}
		lines = append(lines, line)
	}
	return lines
}

// next reads the first cell of printed text, if there is one, and its length in bytes. state has the styles, the link
// and the place in the source that it has.
func (t *typesetter) next(state *cell, s string) (c cell, size int) {
	if r, _ := utf8.DecodeRuneInString(s); isNote(r) {
		if c.kind, c.value, size = readNote(s); size == 0 {
			return cell{}, len(noteBegin)
		}
		switch c.isNote = true; c.kind {
		case sourceText:
			state.at = c.value
		case madeUpText:
			state.at = -1
		case linkNumber:
			state.at = -1 - c.value
		}
		return c, size
	}
	what, size, width := paint.Next(s)
	switch what {
	case paint.Visible:
		c = *state
		c.text, c.width = s[:size], width
		if state.at >= 0 {
			state.at += size
		}
	case paint.Style:
		if len(state.pen) < 256 {
			state.pen = unique.Make(state.pen + s[:size]).Value()
		}
	case paint.Reset:
		state.pen = ""
	case paint.Link:
		state.link = s[:size]
	case paint.Unlink:
		state.link = ""
	case paint.Junk:
	}
	return c, size
}

// cells returns a line of styled text that is not in the source.
func (t *typesetter) cells(s string) []cell { return t.read(s)[0] }

// set adds the lines of printed text. The first one begins with first, the others with rest.
func (t *typesetter) set(printed string, first, rest []cell) {
	for _, line := range t.read(printed) {
		start := slices.IndexFunc(line, func(c cell) bool { return c.isNote })
		if start < 0 {
			continue // a blank line of Glamour's
		}
		for i := range start {
			if line[i].text != " " {
				line[i].pen = cmp.Or(line[i].pen, t.muted) // marks of lists
			}
		}
		t.setLine(line[start:], slices.Concat(first, line[:start]), slices.Concat(rest, hanging(line[:start])))
		first = rest
	}
}

// hanging returns the prefix of continuation lines: bars of quotes stay, marks of lists become blanks.
func hanging(prefix []cell) []cell {
	blank := slices.Clone(prefix)
	for i := range blank {
		if blank[i].text != theme.QuoteBar {
			blank[i] = cell{text: paint.Blank(blank[i].width), width: blank[i].width, at: -1}
		}
	}
	return blank
}

const bar = "│" // between the columns of a table

func (t *typesetter) setLine(line, first, rest []cell) {
	var text []cell
	open := true // the line has text, or begins with something to show
	flush := func() {
		if open {
			t.wrap(text, min(t.width-widthOf(rest), maxTextWidth), first, rest)
			first = rest
		}
		text, open = nil, false
	}
	for i, c := range line {
		switch {
		case !c.isNote:
			text, open = append(text, c), true
		case c.kind == placeBlock:
			t.gap = t.gap || open && len(text) > 0
			t.place(c.value, first, rest)
			first, open = rest, false
		case c.kind == underline:
			from := len(t.lines)
			flush()
			t.underline(from, rest)
		case c.kind == newLine && i > 0:
			flush()
			t.gap = t.gap || c.value == 1
		case c.kind == newLine || c.kind == startBlock:
			t.gap = t.gap || c.value == 1
		}
	}
	flush()
}

// underline sets a line as wide as the lines from a number on, below them.
func (t *typesetter) underline(from int, rest []cell) {
	width := 0
	for _, l := range t.lines[min(from, len(t.lines)):] {
		width = max(width, l.width-widthOf(rest))
	}
	t.emit(rest, t.cells(t.theme.Border.Render(strings.Repeat("─", max(0, width)))))
}

// place sets a table or code.
func (t *typesetter) place(number int, first, rest []cell) {
	if table, isTable := t.blocks[number].(*extast.Table); isTable {
		t.table(table, first, rest)
		return
	}
	t.code(t.blocks[number], first, rest)
}

// wrap sets text in lines of at most width columns. The first one begins with first, the others with rest.
func (t *typesetter) wrap(text []cell, width int, first, rest []cell) {
	for _, line := range wrapCells(text, width) {
		t.emit(first, line)
		first = rest
	}
}

// wrapCells breaks text into lines of at most width columns.
func wrapCells(text []cell, width int) [][]cell {
	text = trimRight(text)
	var whole strings.Builder
	for _, c := range text {
		whole.WriteString(c.text)
	}
	var lines [][]cell
	offset, at := 0, 0 // in the text; in the cells
	for _, part := range paint.WrapSpans(whole.String(), max(1, width)) {
		for ; at < len(text) && offset < part.Start; at++ {
			offset += len(text[at].text)
		}
		from := at
		for ; at < len(text) && offset < part.End; at++ {
			offset += len(text[at].text)
		}
		lines = append(lines, text[from:at])
	}
	return lines
}

func trimLeft(text []cell) []cell {
	for len(text) > 0 && text[0].text == " " {
		text = text[1:]
	}
	return text
}

func trimRight(text []cell) []cell {
	for len(text) > 0 && text[len(text)-1].text == " " {
		text = text[:len(text)-1]
	}
	return text
}

func widthOf(cells []cell) int {
	width := 0
	for _, c := range cells {
		width += c.width
	}
	return width
}

// emit adds a line.
func (t *typesetter) emit(prefix, text []cell) {
	if t.gap && len(t.lines) > 0 {
		t.gap = false
		same := 0
		for same < min(len(t.indent), len(prefix)) && t.indent[same].text == prefix[same].text {
			same++
		}
		t.emit(prefix[:same], nil)
	}
	t.gap, t.indent = false, hanging(prefix)
	w := lineWriter{typesetter: t, line: line{from: -1}, span: -1}
	room := t.width
	if t.grid != nil && text != nil {
		w.line.grid, room = t.grid, max(room, t.grid.width)
	}
	for _, c := range trimRight(slices.Concat(prefix, text)) {
		if w.line.width+c.width > room {
			break
		}
		w.write(c)
	}
	l := w.end()
	if l.from >= 0 {
		t.latest = max(t.latest, l.from)
		l.from = t.latest
	}
	t.lines = append(t.lines, l)
}

// lineWriter writes the cells of one line, with the styles and links that they need, and notes its highlights.
type lineWriter struct {
	*typesetter
	line line
	text []byte
	pen  string
	link string
	span int // highlight that the latest cell belongs to; -1 for none
	open bool
}

func (w *lineWriter) write(c cell) {
	if span := w.spanAt(c.at); span != w.span {
		w.span, w.open = span, false
	}
	letter := c.text != " "
	if w.span >= 0 && letter && !w.open {
		begun := mark{from: len(w.text), span: w.span, reset: w.pen != "", back: background(c.pen)}
		w.line.marks = append(w.line.marks, begun)
		w.open = true
	}
	w.change(c.pen, c.link)
	w.text = append(w.text, c.text...)
	w.line.width += c.width
	if w.open && letter {
		last := &w.line.marks[len(w.line.marks)-1]
		last.to, last.pen = len(w.text), w.pen
	}
	if c.at < -1 {
		if link := &w.links[-1-c.at-w.firstLink]; link.line < 0 {
			link.line = len(w.lines)
		}
	}
	if w.line.from < 0 && c.at >= 0 && strings.ContainsFunc(c.text, isLetter) {
		w.line.from = min(c.at, w.length-1)
	}
}

// background returns the sequence of the background that a pen sets; empty for none.
func background(pen string) string {
	if pen == "" {
		return ""
	}
	parser := ansi.GetParser()
	defer ansi.PutParser(parser)
	var style uv.Style
	for pen != "" {
		_, _, size, _ := ansi.DecodeSequence(pen, ansi.NormalState, parser)
		uv.ReadStyle(parser.Params(), &style)
		pen = pen[size:]
	}
	if style.Bg == nil {
		return ""
	}
	return (&uv.Style{Bg: style.Bg}).String()
}

// change switches the terminal to other styles and another link.
func (w *lineWriter) change(pen, link string) {
	if w.link != link {
		w.text = append(w.text, cmp.Or(link, endLink)...)
	}
	if w.pen != pen && w.pen != "" {
		w.text = append(w.text, endStyle...)
	}
	if w.pen != pen {
		w.text = append(w.text, pen...)
	}
	w.pen, w.link = pen, link
}

func (w *lineWriter) end() line {
	w.change("", "")
	w.line.text = string(w.text)
	w.line.marks = slices.Clip(w.line.marks)
	return w.line
}

const endLink = "\x1b]8;;\a"

// spanAt returns the number of the highlight that a byte of the source lies in; -1 for none.
func (r *renderer) spanAt(at int) int {
	spans := r.unit.spans
	i := sort.Search(len(spans), func(i int) bool { return spans[i][1] > at })
	if i == len(spans) || at < spans[i][0] {
		return -1
	}
	return i
}

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// pieces splits Markdown into parts of at most limit bytes: at blank lines outside of fenced code if there are any,
// else at line ends. Longer lines stay whole.
func pieces(text string, limit int) []paint.Range {
	if len(text) <= limit {
		return []paint.Range{{Start: 0, End: len(text)}}
	}
	var parts []paint.Range
	start, blank := 0, -1 // blank is the last place to split at
	fence := ""
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		line := text[at:end]
		if end-start > limit && at > start {
			cut := at
			if blank > start {
				cut = blank
			}
			parts = append(parts, paint.Range{Start: start, End: cut})
			start, blank = cut, -1
			if cut < at {
				at, fence = cut, "" // a blank line stood outside of fences
			}
			continue
		}
		fence = passage.FenceAfter(fence, strings.Trim(line, " \n"))
		if fence == "" && strings.TrimSpace(line) == "" {
			blank = end
		}
		at = end
	}
	return append(parts, paint.Range{Start: start, End: len(text)})
}

// lineEnd returns the end of the line at an offset, after its line feed.
func lineEnd(text string, at int) int {
	if end := strings.IndexByte(text[at:], '\n'); end >= 0 {
		return at + end + 1
	}
	return len(text)
}
