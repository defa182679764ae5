package paint

import "github.com/charmbracelet/x/ansi"

// Over returns a line of a screen of the given width with another text over it from column x on. A character that is covered
// in part is blank.
func Over(line, text string, x, width int) string {
	end := x + Width(text)
	before, rest := ansi.Truncate(line, x, ""), ansi.TruncateLeft(line, end, "")
	if Width(rest) > width-end {
		rest = ansi.TruncateLeft(line, end+1, "")
	}
	return before + Blank(x-Width(before)) + text + Blank(width-end-Width(rest)) + rest
}
