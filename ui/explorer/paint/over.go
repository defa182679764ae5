package paint

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Cut returns width columns of a styled line from a column on, with the styles and the link that are on there. A
// character that is cut in part is blank.
func Cut(line string, from, width int) string {
	var out strings.Builder
	styles, address := "", "" // that are on
	at, end, begun := 0, from+max(0, width), false
	for line != "" && at < end {
		what, size, columns := next(line)
		piece := line[:size]
		line = line[size:]
		at += columns
		switch what {
		case style:
			styles += piece
		case plain:
			styles = ""
		case link:
			address = piece
		case unlink:
			address = ""
		case junk:
			continue
		case visible:
			if at <= from {
				continue
			}
			if !begun {
				begun = true
				out.WriteString(styles + address)
			}
			if at-columns < from || at > end {
				piece = Blank(min(at, end) - max(at-columns, from))
			}
		}
		if begun {
			out.WriteString(piece)
		}
	}
	if begun && address != "" {
		out.WriteString(endLink)
	}
	if begun && styles != "" {
		out.WriteString(endStyle)
	}
	return out.String() + Blank(end-max(at, from))
}

// Over returns a line of a screen of the given width with another text over it from column x on. A character that is
// covered in part is blank.
func Over(line, text string, x, width int) string {
	end := x + Width(text)
	before, rest := ansi.Truncate(line, x, ""), ansi.TruncateLeft(line, end, "")
	if Width(rest) > width-end {
		rest = ansi.TruncateLeft(line, end+1, "")
	}
	return before + Blank(x-Width(before)) + text + Blank(width-end-Width(rest)) + rest
}
