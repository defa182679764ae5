package results

import (
	"strconv"

	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// Density is how much of each row there is room for.
type Density int

const (
	TitlesOnly Density = iota // with their ages
	OneLine                   // and a line of the passage, behind the place of the document
	TwoLines                  // and a second one
)

const (
	numberGap = 2 // columns after the number of a row
)

// View draws the list as height lines of width columns. The selected row is always wholly in sight, where the height
// allows; the first row on the screen stays there for as long as that is so, and returns there with the former size.
func (l *List) View(width, height int, th theme.Theme, focused bool) []string {
	width, height = max(0, width), max(0, height)
	lines := make([]string, 0, height)
	l.placed, l.visible, l.height = l.placed[:0], 0, height
	if width > 0 && height > 0 && len(l.rows) > 0 {
		l.drawn.prepare(look{shape{width, 1 + numberWidth(l) + numberGap, l.Density}, th.Name, l.Stale, focused}, th)
		if !l.moved {
			l.top = l.anchor
		}
		l.scrollToSelected(height)
		if l.moved {
			l.anchor, l.moved = l.top, false
		}
		for at := l.top; at < len(l.rows) && len(lines) < height; at++ {
			for i, line := range l.rowLines(at) {
				if len(lines) == height {
					break
				}
				lines = append(lines, line)
				if i == 0 && l.rows[at].heading != "" {
					l.placed = append(l.placed, -1)
				} else {
					l.placed = append(l.placed, at)
				}
			}
			if !l.isFolded(at) {
				l.visible++
			}
		}
	}
	blank := paint.Blank(width)
	for len(lines) < height {
		lines = append(lines, blank)
	}
	return lines
}

// scrollToSelected moves the top row so that the selected one is in sight, with its neighbours where there is room for
// them, and so that no line at the end stays empty that a row could fill. It looks at no more rows than fit on the
// screen.
func (l *List) scrollToSelected(height int) {
	last, used := l.beside(l.selected, 1), 0
	l.top = min(l.top, l.beside(l.selected, -1))
	for at := last; at >= l.top; at-- {
		lines := l.rowHeight(at)
		if at < l.selected && used+lines > height {
			l.top = at + 1
			break
		}
		used += lines
	}
	for at := last + 1; at < len(l.rows) && used < height; at++ {
		used += l.rowHeight(at)
	}
	for l.top > 0 && used+l.rowHeight(l.top-1) <= height {
		l.top--
		used += l.rowHeight(l.top)
	}
}

func (l *List) rowHeight(at int) int { return len(l.rowLines(at)) }

// rowLines are the lines of a row, drawn once for each look of the list; none of one that is folded.
func (l *List) rowLines(at int) []string {
	if l.isFolded(at) {
		return nil
	}
	key := drawnRow{at, l.folded(at), at == l.selected}
	lines, drawn := l.drawn.rows[key]
	if !drawn {
		if len(l.drawn.rows) >= mostKept {
			l.drawn.clear()
		}
		lines = l.drawRow(key)
		l.drawn.rows[key] = lines
	}
	return lines
}

// shape is how rows are laid out.
type shape struct {
	width   int
	indent  int // columns before the text of a row: bar and number
	density Density
}

// room is how many columns the text of a row has. One stays free on the right.
func (s shape) room() int { return s.width - s.indent - 1 }

// numberWidth is how many columns the widest citation number takes.
func numberWidth(l *List) int {
	widest := len("10")
	for _, item := range l.items {
		if item.CitationID != nil {
			widest = max(widest, len(strconv.Itoa(*item.CitationID)))
		}
	}
	return widest
}

// look is what every row's lines depend on.
type look struct {
	shape
	theme   string
	stale   bool
	focused bool
}

// canvas keeps the lines of the rows that were drawn in the present look.
type canvas struct {
	look look
	th   theme.Theme
	rows map[drawnRow][]string
}

type drawnRow struct {
	at       int
	folded   int // passages below it that are not listed
	selected bool
}

// mostKept is how many rows are kept in all before the canvas starts again.
const mostKept = 400

// prepare makes ready for a look.
func (c *canvas) prepare(wanted look, th theme.Theme) {
	if c.look == wanted {
		return
	}
	if wanted.stale {
		th = th.Faded()
	}
	*c = canvas{wanted, th, map[drawnRow][]string{}}
}

func (c *canvas) clear() { clear(c.rows) }
