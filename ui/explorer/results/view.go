package results

import (
	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// From these sizes on there is room for more than one line a row, and for two lines of its passage.
const (
	roomyWidth   = 50
	roomyHeight  = 10
	twoLines     = 20
	aboutWidth   = 70 // for source and age beside the title
	scrollMargin = 1  // rows that stay in sight beside the selected one
)

// View draws the list as height lines of width columns. The selected row is always wholly in sight, where the height
// allows; the first row on the screen stays there for as long as that is so.
func (l *List) View(width, height int, th theme.Theme, focused bool) []string {
	width, height = max(0, width), max(0, height)
	lines := make([]string, 0, height)
	l.placed, l.visible = l.placed[:0], 0
	if width > 0 && height > 0 && len(l.rows) > 0 {
		l.drawn.prepare(look{shapeOf(width, height, numberWidth(l)), th.Name, l.stale, focused}, &th)
		l.scrollToSelected(height)
		for at := l.top; at < len(l.rows) && len(lines) < height; at++ {
			for i, line := range l.rowLines(at) {
				if len(lines) == height {
					break
				}
				lines = append(lines, line)
				if i == 0 && l.rows[at].opens {
					l.placed = append(l.placed, -1)
				} else {
					l.placed = append(l.placed, at)
				}
			}
			l.visible++
		}
	}
	blank := paint.Blank(width)
	for len(lines) < height {
		lines = append(lines, blank)
	}
	return lines
}

// scrollToSelected moves the top row so that the selected one is in sight, with its neighbours where there is room for them, and
// so that no line at the end stays empty that a row could fill. It looks at no more rows than fit on the screen.
func (l *List) scrollToSelected(height int) {
	last := min(len(l.rows)-1, l.selected+scrollMargin)
	l.top = max(0, min(l.top, l.selected-scrollMargin), last-height+1)
	l.top = min(l.top, l.selected)
	used := 0
	for at := l.top; at <= last; at++ {
		used += l.rowHeight(at)
	}
	for used > height && l.top < l.selected {
		used -= l.rowHeight(l.top)
		l.top++
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

// rowLines are the lines of a row, drawn once for each look of the list.
func (l *List) rowLines(at int) []string {
	key := drawnRow{at, at == l.selected}
	lines, drawn := l.drawn.rows[key]
	if !drawn {
		if len(l.drawn.rows) >= mostKept {
			l.drawn.clear()
		}
		lines = l.drawRow(at, key.selected)
		l.drawn.rows[key] = lines
	}
	return lines
}
