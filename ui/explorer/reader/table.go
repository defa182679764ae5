package reader

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"go.mau.fi/util/exslices"

	"quarry/ui/explorer/paint"
)

const (
	betweenColumns = 3  // columns that a line between two cells takes with its margins
	minColumn      = 8  // columns below which a table that does not fit is shown as a list
	minGrid        = 32 // columns of the pane below which tables do not scroll sideways
	minScrolled    = 16 // columns below which a table scrolls sideways rather than being squeezed
	maxColumn      = 32 // columns, at most, of a column of a table that scrolls sideways
)

// grid is a table that is set in columns.
type grid struct {
	width int   // columns
	heads int   // lines above the rule below the head
	stops []int // columns where the cells begin
}

// table sets a table: as Glamour lays it out if it fits, else with its widest columns wrapped. Where that leaves too
// little room, the table scrolls sideways, or is shown as a list of its rows. Glamour itself cuts the heads of columns
// that do not fit, and makes narrow columns narrower before wide ones: a number ends up with one digit a line.
func (t *typesetter) table(table *extast.Table, first, rest []cell) {
	lines := t.tableLines(table)
	wanted := columnsOf(lines[0])
	widths := columnWidths(wanted, t.width-widthOf(rest)-betweenColumns*(len(wanted)-1))
	scrolls := t.unit.interactive && t.width >= minGrid
	// Text that looks like a line between columns must not count.
	torn := slices.ContainsFunc(lines, func(line []cell) bool { return len(columnsOf(line)) != len(widths) })
	switch {
	case torn || !scrolls && !fits(wanted, widths, minColumn):
		t.records(table, first, rest)
		return
	case scrolls && !fits(wanted, widths, minScrolled):
		widths[0] = min(widthOf(wanted[0]), maxColumn, t.width*2/5) // it stays in view
		for i, column := range wanted[1:] {
			widths[i+1] = min(widthOf(column), maxColumn)
		}
	}
	t.grid = gridOf(widths, widthOf(rest))
	above := 0 // lines of the row above; none below the head
	for _, line := range lines {
		if isRule(line) {
			t.grid.heads = t.gridLines()
			t.rule(widths, rest)
			above = 0
			continue
		}
		wrapped, height := wrapRow(line, widths)
		if above > 0 && max(above, height) > 1 {
			t.row(make([][][]cell, len(widths)), 1, widths, table.Alignments, rest, rest)
		}
		t.row(wrapped, height, widths, table.Alignments, first, rest)
		first, above = rest, height
	}
	t.grid = nil
}

// rule sets the line below the head of a table.
func (t *typesetter) rule(widths []int, rest []cell) {
	parts := exslices.CastFunc(widths, func(width int) string { return strings.Repeat("─", width) })
	t.emit(rest, t.cells(t.theme.Border.Render(strings.Join(parts, "─┼─"))))
}

// prepareCells prepares the text in the cells of a table.
func (r *renderer) prepareCells(table *extast.Table) {
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		for td := row.FirstChild(); td != nil; td = td.NextSibling() {
			inline{renderer: r, cell: true}.children(td)
			if row.Kind() == extast.KindTableHeader && td.HasChildren() {
				td.AppendChild(td, strong(td))
			}
		}
	}
}

// gridOf returns the grid of columns of these widths, behind an indentation.
func gridOf(widths []int, indent int) *grid {
	g := &grid{width: indent}
	for i, width := range widths {
		if i > 0 {
			g.width += betweenColumns
		}
		g.stops = append(g.stops, g.width)
		g.width += width
	}
	return g
}

// fits reports whether columns of these widths can be read: none is below least unless it has no more to show.
func fits(wanted [][]cell, widths []int, least int) bool {
	for i, width := range widths {
		if width < min(widthOf(wanted[i]), least) {
			return false
		}
	}
	return true
}

// tableLines returns the lines of a table that is as wide as it wants to be.
func (t *typesetter) tableLines(table ast.Node) (lines [][]cell) {
	for _, line := range t.read(t.print(documentOf(table))) {
		line = slices.DeleteFunc(line, func(c cell) bool { return c.isNote })
		if len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// columnsOf returns the cells of a line of a table, without the margins at their sides.
func columnsOf(line []cell) [][]cell {
	var columns [][]cell
	start := 0
	for i, c := range line {
		if c.at < 0 && (c.text == bar || c.text == "┼") {
			columns, start = append(columns, line[start+1:i-1]), i+1
		}
	}
	return append(columns, line[start+1:len(line)-1])
}

// columnWidths gives every column the width that it has, or where that is too much in all, the same to all that are
// wider than their share.
func columnWidths(columns [][]cell, room int) []int {
	const none = -1 // no width yet; 0 is that of an empty column
	widths := slices.Repeat([]int{none}, len(columns))
	open := len(columns) // columns without a width
	for changed := true; changed && open > 0; {
		changed = false
		for i, column := range columns {
			if wanted := widthOf(column); widths[i] == none && wanted <= room/open {
				widths[i], room, open, changed = wanted, room-wanted, open-1, true
			}
		}
	}
	for i := range widths {
		if widths[i] == none {
			widths[i] = max(0, room/open)
			room -= widths[i]
			open--
		}
	}
	return widths
}

// wrapRow wraps the cells of a line of a table for columns of other widths, and returns the lines of the highest.
func wrapRow(line []cell, widths []int) (wrapped [][][]cell, height int) {
	wrapped, height = make([][][]cell, len(widths)), 1
	for i, column := range columnsOf(line) {
		wrapped[i] = wrapCells(trimLeft(column), widths[i])
		height = max(height, len(wrapped[i]))
	}
	return wrapped, height
}

// row sets a row of a table.
func (t *typesetter) row(wrapped [][][]cell, height int, widths []int, alignments []extast.Alignment, first,
	rest []cell) {
	between := t.cells(" " + t.theme.Border.Render(bar) + " ")
	for at := range height {
		var line []cell
		for i, width := range widths {
			if i > 0 {
				line = append(line, between...)
			}
			var part []cell
			if at < len(wrapped[i]) {
				part = wrapped[i][at]
			}
			before, after := padding(width-widthOf(part), alignments[i])
			line = slices.Concat(line, t.cells(paint.Blank(before)), part, t.cells(paint.Blank(after)))
		}
		t.emit(first, line)
		first = rest
	}
}

// gridLines counts the lines of the grid so far.
func (t *typesetter) gridLines() int {
	count := 0
	for count < len(t.lines) && t.lines[len(t.lines)-1-count].grid == t.grid {
		count++
	}
	return count
}

// isRule reports whether a line is the one below the head of a table.
func isRule(line []cell) bool {
	return !slices.ContainsFunc(line, func(c cell) bool { return c.at >= 0 || c.text != "─" && c.text != "┼" })
}

func padding(room int, alignment extast.Alignment) (before, after int) {
	switch alignment {
	case extast.AlignRight:
		return room, 0
	case extast.AlignCenter:
		return room / 2, room - room/2
	}
	return 0, room
}

// records sets a table as a list: for each row the cells below the names of their columns.
func (t *typesetter) records(table *extast.Table, first, rest []cell) {
	indent := t.cells("  ")
	var names [][]cell
	head := table.FirstChild()
	for td := head.FirstChild(); td != nil; td = td.NextSibling() {
		name := slices.Concat(t.read(t.printCell(td))...)
		name = append(slices.DeleteFunc(name, func(c cell) bool { return c.isNote }), t.cells(":")...)
		for i := range name {
			name[i].pen = t.muted
		}
		names = append(names, name)
	}
	for row := head.NextSibling(); row != nil; row = row.NextSibling() {
		t.gap = t.gap || row.PreviousSibling() != head
		at := 0
		for td := row.FirstChild(); td != nil && at < len(names); td = td.NextSibling() {
			if td.HasChildren() {
				t.set(t.printCell(td), slices.Concat(first, names[at], t.cells(" ")), slices.Concat(rest, indent))
				first = rest
			}
			at++
		}
	}
}

// printCell prints a cell of a table as a paragraph.
func (t *typesetter) printCell(td ast.Node) string {
	paragraph := ast.NewParagraph()
	paragraph.AppendChild(paragraph, t.made(note(startBlock, 0)))
	moveChildren(paragraph, td)
	return t.print(documentOf(paragraph))
}

// Sideways scrolls the tables that are wider than the pane by a column of the first one in view: 1 to the right, -1 to
// the left.
func (r *Reader) Sideways(direction int) {
	g := r.wideGrid()
	if g == nil {
		return
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
	r.left = max(0, min(to, most))
	r.version++
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
	return line == r.top && b.piece != nil && line-b.start < len(b.piece.layout.lines) &&
		headAbove(b.piece.layout.lines, line-b.start) >= 0
}
