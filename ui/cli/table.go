package cli

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

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
)

// String renders the table with a line break at the end.
func (t table) String() string {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = min(widestCell, max(widths[i], ansi.StringWidth(oneLine(cell))))
		}
	}
	last := len(widths) - 1
	used := 0
	for _, width := range widths[:last] {
		used += width + columnGap
	}
	widths[last] = max(10, t.width-used)
	var text strings.Builder
	t.line(&text, t.header, widths, func(_ int, cell string) string { return t.style.Muted.Render(cell) })
	for _, row := range t.rows {
		t.line(&text, row, widths, func(column int, cell string) string {
			if column == 0 {
				return t.style.Source.Render(cell)
			}
			return cell
		})
	}
	return text.String()
}

func (t table) line(text *strings.Builder, cells []string, widths []int, paint func(int, string) string) {
	var line strings.Builder
	for i, cell := range cells {
		cell = ansi.Truncate(oneLine(cell), widths[i], "…")
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
	text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
