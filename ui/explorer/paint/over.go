package paint

import "github.com/charmbracelet/x/ansi"

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
