package wire

import "strings"

// SpanOfLines returns where lines of the source file are in Content, without the white space around them; an empty span
// if they are not there.
func (c Chunk) SpanOfLines(first, last int) Span {
	if len(c.Lines) != 2 || last < c.Lines[0] || first > c.Lines[1] {
		return Span{}
	}
	from := 0
	for line := c.Lines[0]; line < first; line++ {
		end := strings.IndexByte(c.Content[from:], '\n')
		if end < 0 {
			return Span{}
		}
		from += end + 1
	}
	to := from
	for line := max(first, c.Lines[0]); line <= last && to < len(c.Content); line++ {
		if line > first && line > c.Lines[0] {
			to++ // the line's end
		}
		if end := strings.IndexByte(c.Content[to:], '\n'); end >= 0 {
			to += end
		} else {
			to = len(c.Content)
		}
	}
	text := strings.TrimLeft(c.Content[from:to], " \t\r\n")
	from = to - len(text)
	if text = strings.TrimRight(text, " \t\r\n"); text == "" {
		return Span{}
	}
	return Span{from, from + len(text)}
}
