package reader

import (
	"slices"
	"sort"
	"strings"
	"unsafe"

	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// line is one screen line of a unit.
type line struct {
	text  string // styled; ends its own styles and links
	width int    // columns
	from  int    // byte of the unit's text where its first letter or digit is; -1 for a line without text
	marks []mark // parts that match the query
	grid  *grid  // that it is a line of; nil for other lines
}

// mark is a highlighted part of a line.
type mark struct {
	from, to int    // bytes of the line's text
	span     int    // index in the unit's spans
	pen      string // sequence that restores the style after it; empty for none
	reset    bool   // a style is on where it begins
	back     string // sequence of the background that it stands on, as code has one; empty for none
}

// layout is a unit's lines for one width.
type layout struct {
	lines    []line
	links    []Link
	rendered bool
	size     int // in memory, in bytes
}

func newLayout(lines []line, links []Link, rendered bool) *layout {
	size := int(unsafe.Sizeof(layout{}))
	for _, link := range links {
		size += int(unsafe.Sizeof(link)) + len(link.Text) + len(link.Address)
	}
	for i := range lines {
		size += int(unsafe.Sizeof(line{})) + len(lines[i].text)
		if g := lines[i].grid; g != nil && (i == 0 || lines[i-1].grid != g) {
			size += int(unsafe.Sizeof(*g)) + cap(g.stops)*int(unsafe.Sizeof(0))
		}
		for _, m := range lines[i].marks {
			size += int(unsafe.Sizeof(m)) + len(m.pen) + len(m.back)
		}
	}
	return &layout{lines, links, rendered, size}
}

// plainLayout returns the Markdown source, wrapped.
func plainLayout(u unit, width int) *layout {
	ranges := paint.WrapSpans(u.text, max(1, width))
	lines := make([]line, 0, len(ranges))
	spans, first := u.spans, 0
	for _, r := range ranges {
		for first < len(spans) && spans[first][1] <= r.Start {
			first++
		}
		lines = append(lines, plainLine(u.text, r, spans, first))
	}
	return newLayout(trimBlank(lines), nil, false)
}

// plainLine returns one line of a text. Spans before first do not touch it.
func plainLine(text string, r paint.Range, spans []wire.Span, first int) line {
	l := line{text: strings.TrimRight(text[r.Start:r.End], " "), from: r.Start}
	l.width = paint.Width(l.text)
	if l.text == "" {
		l.from = -1
		return l
	}
	l.from += firstLetter(l.text)
	for i := first; i < len(spans) && spans[i][0] < r.Start+len(l.text); i++ {
		from, to := max(0, spans[i][0]-r.Start), min(len(l.text), spans[i][1]-r.Start)
		if from < to {
			l.marks = append(l.marks, mark{from: from, to: to, span: i})
		}
	}
	return l
}

// firstLetter returns the offset of the first letter or digit in a line of Markdown that its rendering shows too.
func firstLetter(s string) int {
	start := len(s) - len(strings.TrimLeft(s, " >*+-"))
	if number := strings.TrimLeft(s[start:], "0123456789"); strings.HasPrefix(number, ". ") ||
		strings.HasPrefix(number, ") ") {
		start = len(s) - len(number)
	}
	if at := strings.IndexFunc(s[start:], isLetter); at >= 0 {
		return start + at
	}
	return len(s) - len(strings.TrimLeft(s, " "))
}

// trimBlank removes blank lines at both ends; at least one line stays.
func trimBlank(lines []line) []line {
	for len(lines) > 1 && lines[0].text == "" {
		lines = lines[1:]
	}
	for len(lines) > 1 && lines[len(lines)-1].text == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Lines renders a whole text for a panel. It takes milliseconds per kilobyte: call it outside of the event loop.
func Lines(markdown string, width int, th theme.Theme) []string {
	if width <= 0 {
		return nil
	}
	var lines []string
	for _, u := range unitsOf(markdown, nil, nil, unit{}) {
		rendered, _ := renderUnit(u, shapeWidth(width), th, 1)
		for _, l := range rendered.lines {
			lines = append(lines, paint.Fit(l.text, width))
		}
	}
	return lines
}

// place is a position in the text. It stays valid when the layout changes.
type place struct {
	piece *piece
	from  int // byte of the piece's text
	row   int // lines below the top of the view
}

// Down scrolls by lines, up for negative ones.
func (r *Reader) Down(lines int) { r.scrollTo(r.top + lines) }

// HalfPage scrolls by half pages.
func (r *Reader) HalfPage(halves int) { r.Down(halves * max(1, r.body/2)) }

// Page scrolls by pages; one line stays visible.
func (r *Reader) Page(pages int) { r.Down(pages * max(1, r.body-1)) }

// Top scrolls to the beginning.
func (r *Reader) Top() { r.Down(-r.lines) }

// Bottom scrolls to the end.
func (r *Reader) Bottom() {
	r.update()
	r.Down(r.lines)
}

// Visible returns the Markdown of the paragraphs that are in sight; "" before the first View.
func (r *Reader) Visible() string {
	r.update()
	var seen []string
	for _, p := range r.laidOut() {
		if p.start >= r.top+r.body || p.start+len(p.layout.lines) <= r.top {
			continue
		}
		lines := p.layout.lines
		from, to := 0, len(p.text)
		for at := range lines {
			switch start := lines[at].from; {
			case start < 0:
			case p.start+at <= r.top:
				from = start
			case p.start+at >= r.top+r.body:
				to = min(to, start-1)
			}
		}
		if r.top <= p.start {
			from = 0
		}
		seen = append(seen, passage.Around(p.text, from, max(to, from+1)))
	}
	return strings.Join(seen, "\n\n")
}

// Percent returns the scroll position from 0 to 100; 100 if all text is visible.
func (r *Reader) percent() int {
	if r.maxTop() == 0 {
		return 100
	}
	return r.top * 100 / r.maxTop()
}

func (r *Reader) maxTop() int { return max(0, r.lines-r.body) }

// scrollTo moves a line to the top, or as near as the text allows.
func (r *Reader) scrollTo(top int) {
	r.update()
	before := r.top
	r.top = max(0, top)
	if r.shape.width > 0 {
		r.top = min(r.top, r.maxTop())
	}
	if r.top != before {
		r.place, r.moved = r.placeAtTop(), true
		r.version++
	}
}

// savePlace saves the place at the top before the body changes, unless one is saved already.
func (r *Reader) savePlace() {
	r.update()
	if r.place.piece == nil {
		r.place = r.placeAtTop()
	}
}

// restorePlace scrolls to the saved place.
func (r *Reader) restorePlace() {
	if p := r.place.piece; p != nil && r.contains(p) {
		r.top = p.start + lineOf(p.layout.lines, r.place.from) - r.place.row
	}
	r.top = max(0, min(r.top, r.maxTop()))
}

func (r *Reader) contains(p *piece) bool {
	return slices.Contains(r.shownPieces(), p)
}

// placeAtTop returns the first text at or below the top of the view, or the last one above it.
func (r *Reader) placeAtTop() place {
	last := place{}
	for _, p := range r.laidOut() {
		lines := p.layout.lines
		for at := max(0, r.top-p.start); at < len(lines); at++ {
			if from := lines[at].from; from >= 0 {
				return place{p, from, p.start + at - r.top}
			}
		}
		for at := min(len(lines), r.top-p.start) - 1; at >= 0; at-- {
			if from := lines[at].from; from >= 0 {
				last = place{p, from, p.start + at - r.top}
				break
			}
		}
	}
	return last
}

// lineOf returns the line that shows a byte of the text.
func lineOf(lines []line, from int) int {
	at, seen := 0, false
	for i := range lines {
		if lines[i].from < 0 {
			continue
		}
		if lines[i].from > from && seen {
			break
		}
		at, seen = i, true
	}
	return at
}

// blockAt returns the index of the block at a line of the body.
func (r *Reader) blockAt(at int) int {
	return max(0, sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].start > at })-1)
}

// topPiece returns the piece at the top of the view.
func (r *Reader) topPiece() *piece {
	if r.shape.width == 0 {
		return nil
	}
	return r.placeAtTop().piece
}
