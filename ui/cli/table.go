package cli

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"quarry/internal/text"
	"quarry/theme"
)

// table lays rows out in columns, as wide as a terminal counts characters. The last column takes the room that is left
// and is cut to it.
type table struct {
	header []string
	rows   [][]string
	right  int // column that is aligned to the right; 0 for none
	style  theme.Palette
	width  int
}

const (
	columnGap  = 2
	widestCell = 40 // columns, of all but the last

	narrowestCell = 8 // columns that a cell keeps when there is too little room
	narrowestLast = 16
)

// String renders the table with a line break at the end.
func (t table) String() string {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = min(widestCell, max(widths[i], ansi.StringWidth(text.OneLine(cell))))
		}
	}
	t.fit(widths)
	var b strings.Builder
	t.line(&b, t.header, widths, func(_ int, cell string) string { return t.style.Muted.Render(cell) })
	for _, row := range t.rows {
		t.line(&b, row, widths, func(column int, cell string) string {
			if column == 0 {
				return t.style.Source.Render(cell)
			}
			return cell
		})
	}
	return b.String()
}

// fit gives the last column what is left of the terminal, and takes from the widest of the others when that is too
// little to read.
func (t table) fit(widths []int) {
	last := len(widths) - 1
	room := t.width - columnGap*last
	for _, width := range widths[:last] {
		room -= width
	}
	for room < min(narrowestLast, widths[last]) {
		widest := 0
		for i, width := range widths[:last] {
			if width > widths[widest] {
				widest = i
			}
		}
		if last == 0 || widths[widest] <= narrowestCell {
			break
		}
		widths[widest]--
		room++
	}
	widths[last] = max(1, room)
}

func (t table) line(b *strings.Builder, cells []string, widths []int, paint func(int, string) string) {
	var line strings.Builder
	for i, cell := range cells {
		cell = ansi.Truncate(text.OneLine(cell), widths[i], "…")
		room := strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(cell)))
		switch {
		case i > 0 && i == t.right:
			line.WriteString(room + paint(i, cell))
		case i == len(cells)-1:
			line.WriteString(paint(i, cell))
		default:
			line.WriteString(paint(i, cell) + room)
		}
		if i < len(cells)-1 {
			line.WriteString(strings.Repeat(" ", columnGap))
		}
	}
	// What is still too long is cut as a whole: a terminal would go on with it in the next line.
	b.WriteString(strings.TrimRight(ansi.Truncate(line.String(), t.width, "…"), " ") + "\n")
}
