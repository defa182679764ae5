package reader

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"quarry/ui/explorer/paint"
)

const (
	betweenColumns = 3 // columns that a line between two cells takes with its margins
	leastColumn    = 8 // columns below which a table that does not fit is shown as a list
)

// table renders a table: as wide as it wants to be, or with its widest columns wrapped, or where that leaves too little
// room as a list of its rows.
func (r *renderer) table(table *extast.Table) {
	wanted := r.wanted(table)
	widths := columnWidths(wanted, r.out.room()-betweenColumns*(len(wanted)-1))
	for i, width := range widths {
		if width < min(wanted[i], leastColumn) {
			r.records(table)
			return
		}
	}
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		cells := make([][]line, len(widths))
		for i, cell := range cellsOf(row, len(widths)) {
			cells[i] = r.cell(cell, widths[i], row.Kind() == extast.KindTableHeader)
		}
		r.row(cells, widths, table.Alignments)
		if row.Kind() == extast.KindTableHeader {
			r.out.feed(r.pens.border.Write(tableRule(widths)), r.out.room())
		}
	}
}

// wanted is how wide the columns of a table would be if there was room without end.
func (r *renderer) wanted(table *extast.Table) []int {
	widths := make([]int, len(table.Alignments))
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		for i, cell := range cellsOf(row, len(widths)) {
			widths[i] = max(widths[i], r.textWidth(cell))
		}
	}
	for i := range widths {
		widths[i] = max(1, widths[i])
	}
	return widths
}

// columnWidths gives every column what it wants, or where that is too much, the same to all that want more than their
// share.
func columnWidths(wanted []int, room int) []int {
	widths := make([]int, len(wanted))
	open := len(wanted) // columns that have no width yet
	for changed := true; changed && open > 0; {
		changed = false
		for i, want := range wanted {
			if widths[i] == 0 && want <= room/open {
				widths[i] = want
				room -= want
				open--
				changed = true
				if open == 0 {
					break
				}
			}
		}
	}
	for i := range widths {
		if widths[i] == 0 {
			widths[i] = max(0, room/open)
			room -= widths[i]
			open--
		}
	}
	return widths
}

// cellsOf are the cells of a row, at most count.
func cellsOf(row ast.Node, count int) []ast.Node {
	cells := make([]ast.Node, 0, count)
	for cell := row.FirstChild(); cell != nil && len(cells) < count; cell = cell.NextSibling() {
		cells = append(cells, cell)
	}
	return cells
}

// cell renders one cell by itself.
func (r *renderer) cell(cell ast.Node, width int, head bool) []line {
	page := r.out
	defer func() { r.out = page }()
	r.out = newTypesetter(page.source, &r.signals, width)
	paragraph := ast.NewParagraph()
	if head {
		strong := ast.NewEmphasis(2)
		moveChildren(strong, cell)
		paragraph.AppendChild(paragraph, strong)
	} else {
		moveChildren(paragraph, cell)
	}
	if !paragraph.HasChildren() || head && !paragraph.FirstChild().HasChildren() {
		return nil
	}
	r.leaf(paragraph, width)
	return r.out.lines
}

// row sets the lines of the cells of a row side by side.
func (r *renderer) row(cells [][]line, widths []int, alignments []extast.Alignment) {
	height := 1
	for _, lines := range cells {
		height = max(height, len(lines))
	}
	between := " " + r.pens.border.Write("│") + " "
	for at := range height {
		var whole line
		whole.from = -1
		for i, lines := range cells {
			if i > 0 {
				whole.add(line{text: between, width: betweenColumns, from: -1})
			}
			part := line{from: -1}
			if at < len(lines) {
				part = lines[at]
			}
			if part.width > widths[i] {
				part = line{text: paint.Fit(part.text, widths[i]), width: widths[i], from: part.from}
			}
			before, after := padding(widths[i]-part.width, alignments[i])
			whole.add(line{text: paint.Blank(before), width: before, from: -1})
			whole.add(part)
			whole.add(line{text: paint.Blank(after), width: after, from: -1})
		}
		r.out.set(whole)
	}
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

// add puts another part at the end of a line.
func (l *line) add(part line) {
	for _, m := range part.marks {
		m.from += len(l.text)
		m.to += len(l.text)
		l.marks = append(l.marks, m)
	}
	l.text += part.text
	l.width += part.width
	if l.from < 0 {
		l.from = part.from
	}
}

// set adds a line that is finished.
func (t *typesetter) set(l line) {
	t.begin()
	l.text = strings.TrimRight(l.text, " ")
	for _, m := range l.marks {
		m.from += len(t.text)
		m.to += len(t.text)
		t.marks = append(t.marks, m)
	}
	t.put(l.text)
	t.columns += paint.Width(l.text)
	t.solid = t.now()
	t.from = l.from
	t.finish()
}

func tableRule(widths []int) string {
	var parts []string
	for _, width := range widths {
		parts = append(parts, strings.Repeat("─", width))
	}
	return strings.Join(parts, "─┼─")
}

// records shows a table as a list: for each row, what stands in its columns under their names.
func (r *renderer) records(table *extast.Table) {
	head := table.FirstChild()
	if head == nil {
		return
	}
	var names []string
	for _, cell := range cellsOf(head, len(table.Alignments)) {
		names = append(names, paint.Line(r.plainText(cell)))
	}
	for row := head.NextSibling(); row != nil; row = row.NextSibling() {
		if row.PreviousSibling() != head {
			r.out.space()
		}
		for i, cell := range cellsOf(row, len(names)) {
			if !cell.HasChildren() {
				continue
			}
			paragraph := ast.NewParagraph()
			moveChildren(paragraph, cell)
			undo := r.out.indent(lead{}, lead{"  ", 2})
			name := r.pens.muted.Write(paint.Line(strings.TrimSpace(names[i])) + ":")
			r.named(name, paragraph)
			undo()
		}
	}
}

// named renders running text behind a name.
func (r *renderer) named(name string, paragraph ast.Node) {
	width := min(paint.Width(name)+1, r.out.room()/2)
	name = strings.TrimRight(paint.Fit(name, width-1), " ") + " "
	undo := r.out.indent(lead{name, paint.Width(name)}, lead{})
	r.leaf(paragraph, max(1, r.measure()-width))
	undo()
}

// plainText is the text of a node without its looks.
func (r *renderer) plainText(node ast.Node) string {
	var text strings.Builder
	_ = ast.Walk(node, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := node.(*ast.Text); ok && entering {
			text.Write(t.Value(r.source))
		}
		return ast.WalkContinue, nil
	})
	return text.String()
}
