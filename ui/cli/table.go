package cli

import (
	"strings"

	"charm.land/lipgloss/v2"
	grid "charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/x/ansi"

	"quarry/internal/text"
	"quarry/theme"
)

// table lays rows out in columns of a terminal.
type table struct {
	header []string
	rows   [][]string
	right  int // column that is aligned to the right; 0 for none
	style  theme.Palette
	width  int
}

const columnGap = 2

// String renders the table with a line break at the end. Cells that do not fit are cut.
func (t table) String() string {
	g := grid.New().Border(lipgloss.HiddenBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderHeader(false).Wrap(false).Headers(t.header...).StyleFunc(t.cellStyle)
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = text.OneLine(cell)
		}
		g.Row(cells...)
	}
	rendered := g.String()
	if lipgloss.Width(rendered) > t.width {
		rendered = g.Width(t.width).String()
	}
	var b strings.Builder
	for line := range strings.Lines(rendered) {
		b.WriteString(strings.TrimRight(ansi.Truncate(line, t.width, "…"), " \n") + "\n")
	}
	return b.String()
}

func (t table) cellStyle(row, column int) lipgloss.Style {
	style := lipgloss.NewStyle()
	switch {
	case row == grid.HeaderRow:
		style = t.style.Muted
	case column == 0:
		style = t.style.Source
	}
	if column == t.right && column > 0 {
		style = style.Align(lipgloss.Right)
	}
	if column < len(t.header)-1 {
		style = style.PaddingRight(columnGap)
	}
	return style
}
