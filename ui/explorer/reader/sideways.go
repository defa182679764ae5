package reader

import "quarry/ui/explorer/paint"

// Sideways scrolls the tables that are wider than the pane by a column of the first one in view: 1 to the right, -1 to
// the left. It reports whether anything moved.
func (r *Reader) Sideways(direction int) bool {
	g := r.wideGrid()
	if g == nil {
		return false
	}
	most := g.width - r.shape.width
	left := min(r.left, most)
	begin := max(g.pinned(r.shape.width), betweenColumns-1) // of what scrolls; a sign is before it
	seen := max(2, r.shape.width-begin-1)                   // columns of text, before the sign at the right
	to := left + direction*(seen-1)                         // where a cell is wider than that
	for _, stop := range g.stops {
		stop -= begin
		beyond := (stop - left) * direction
		if beyond > 0 && beyond <= seen+betweenColumns {
			to = stop
			if direction > 0 {
				break
			}
		}
	}
	to = max(0, min(to, most))
	if to == r.left {
		return false
	}
	r.left = to
	r.version++
	return true
}

// HasWideTable reports whether a table in view is wider than the pane.
func (r *Reader) HasWideTable() bool { return r.wideGrid() != nil }

// wideGrid returns the first table in view that is wider than the pane; nil if there is none.
func (r *Reader) wideGrid() *grid {
	r.update()
	for _, p := range r.laidOut() {
		for at := max(0, r.top-p.start); at < len(p.layout.lines) && p.start+at < r.top+r.body; at++ {
			if g := p.layout.lines[at].grid; g != nil && g.width > r.shape.width {
				return g
			}
		}
	}
	return nil
}

// pinned returns how many columns of a wide table stay at its left: those of its first column and the line behind it,
// unless they would take more than half of the pane.
func (g *grid) pinned(width int) int {
	if len(g.stops) < 2 || g.stops[1] > width/2 {
		return 0
	}
	return g.stops[1]
}

// scrolled returns the columns of a line of a wide table that are in view, with signs where there are more at the
// sides.
func (r *Reader) scrolled(text string, g *grid, width int) string {
	most := g.width - width
	left := min(r.left, most)
	before, after, room := "", "", width
	if pinned := g.pinned(width); left > 0 && pinned > 0 {
		before, room = paint.Cut(text, 0, pinned-2)+r.theme.Muted.Render("‹")+paint.Cut(text, pinned-1, 1), room-pinned
	} else if left > 0 && room > 0 {
		before, room = r.theme.Muted.Render("‹"), room-1
	}
	if left < most && room > 0 {
		after, room = r.theme.Muted.Render("›"), room-1
	}
	return before + paint.Cut(text, left+paint.Width(before), room) + after
}

// headAbove returns the index of the first line of the table that the line at an index is a row of, to be shown in its
// place at the top of the view; -1 where that is not needed.
func headAbove(lines []line, at int) int {
	g := lines[at].grid
	if g == nil || at+1 == len(lines) || lines[at+1].grid != g {
		return -1
	}
	first := at
	for first > 0 && lines[first-1].grid == g {
		first--
	}
	if at < first+g.heads {
		return -1
	}
	return first
}

// underHead reports whether a line of the body is not seen because the head of its table is shown in its place.
func (r *Reader) underHead(line int) bool {
	b := r.blocks[r.blockAt(line)]
	return line == r.top && b.piece != nil && line-b.start < len(b.piece.layout.lines) && headAbove(b.piece.layout.lines, line-b.start) >= 0
}
