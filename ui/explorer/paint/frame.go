package paint

import (
	"strings"

	"charm.land/lipgloss/v2"

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
