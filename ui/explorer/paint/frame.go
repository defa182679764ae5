package paint

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"quarry/theme"
)

// Frame is a border around some lines, with texts in it. The texts are styled.
type Frame struct {
	Width, Height int         // with the border
	Line          theme.Style // of the border
	Pad           int         // columns between the border and the lines, at both sides

	Title, Beside    string // in the upper border, at its left and right
	Foot, FootBeside string // in the lower border

	// The right border is a thumb beside the lines from ThumbFrom to before ThumbTo.
	ThumbFrom, ThumbTo int
}

// Draw returns exactly Height lines of Width columns.
func (f Frame) Draw(inside []string) []string {
	edges := lipgloss.RoundedBorder()
	pad := Blank(f.Pad)
	left, right, thumb := f.Line.Render(edges.Left)+pad, pad+f.Line.Render(edges.Right), pad+f.Line.Render("┃")
	lines := make([]string, 0, f.Height)
	lines = append(lines, f.edge(edges.TopLeft, f.Title, f.Beside, edges.TopRight))
	for i := range f.Height - 2 {
		line, end := "", right
		if i < len(inside) {
			line = inside[i]
		}
		if i >= f.ThumbFrom && i < f.ThumbTo {
			end = thumb
		}
		lines = append(lines, left+Fit(line, f.Width-2-2*f.Pad)+end)
	}
	return append(lines, f.edge(edges.BottomLeft, f.Foot, f.FootBeside, edges.BottomRight))
}

func (f Frame) edge(start, title, beside, end string) string {
	return f.Line.Render(start) + Rule(f.Width-2, f.Line, 0, title, beside) + f.Line.Render(end)
}

// Block returns lines as exactly height lines of width columns.
func Block(lines []string, width, height int) []string {
	filled := make([]string, height)
	copy(filled, lines)
	for i, line := range filled {
		filled[i] = Fit(line, width)
	}
	return filled
}

// leastTitle is how much of a title stays beside another text, in columns.
const leastTitle = 12

// Rule is a line of width columns with a text at its left and one at its right, each that many columns from its end.
// The left one is cut to leave room for the right one, which is left out where too little of the left one would stay.
func Rule(width int, line theme.Style, ends int, title, beside string) string {
	columns, right := Width(title), Width(beside)
	if right > 0 && width-right-2*ends-4 < min(columns, leastTitle) {
		beside, right = "", 0
	}
	end := line.Render(strings.Repeat("─", ends))
	if right > 0 {
		beside, right = " "+beside+" "+end, right+2+ends
	}
	if room := width - right - ends - 2; columns > room {
		title, columns = Fit(title, room), max(0, room)
	}
	if columns > 0 {
		title, columns = end+" "+title+" ", columns+2+ends
	}
	return title + line.Render(strings.Repeat("─", max(0, width-columns-right))) + beside
}

// Row is a line of items that is drawn from left to right, and remembers where each of them is.
type Row struct {
	line  []byte // no strings.Builder, which must not be copied
	X     int    // columns drawn so far
	items []rowItem
}

// rowItem is an item in the columns [from, to).
type rowItem struct{ from, to, item int }

// Put draws a styled text of so many columns.
func (r *Row) Put(styled string, columns int) {
	r.line = append(r.line, styled...)
	r.X += columns
}

// PutItem is Put for an item.
func (r *Row) PutItem(item int, styled string, columns int) {
	r.items = append(r.items, rowItem{r.X, r.X + columns, item})
	r.Put(styled, columns)
}

// String returns what was drawn.
func (r *Row) String() string { return string(r.line) }

// At returns the item in a column, if there is one.
func (r *Row) At(x int) (item int, ok bool) {
	for _, at := range r.items {
		if x >= at.from && x < at.to {
			return at.item, true
		}
	}
	return 0, false
}

// Cut returns width columns of a styled line from a column on, with the styles and the link that are on there. A
// character that is cut in part is blank.
func Cut(line string, from, width int) string {
	part := ansi.Truncate(behind(line, from), max(0, width), "")
	return part + Blank(width-Width(part))
}

// Over returns a line of a screen of the given width with another text over it from column x on. A character that is
// covered in part is blank.
func Over(line, text string, x, width int) string {
	end := x + Width(text)
	before, rest := ansi.Truncate(line, x, ""), behind(line, end)
	return before + Blank(x-Width(before)) + text + Blank(width-end-Width(rest)) + rest
}

// behind returns a line from a column on.
func behind(line string, column int) string {
	if rest := ansi.TruncateLeft(line, column, ""); Width(rest) <= max(0, Width(line)-column) {
		return rest
	}
	return " " + ansi.TruncateLeft(line, column+1, "") // a character begins before it
}
