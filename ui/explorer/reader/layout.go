package reader

import (
	"strings"
	"unsafe"

	"quarry/client/wire"
	"quarry/ui/explorer/paint"
)

// line is one screen line of a unit.
type line struct {
	text  string // styled; ends its own styles and links
	width int    // columns
	from  int    // byte of the unit's text where its first letter or digit is; -1 for a line without text
	marks []mark // parts that match the query
}

// mark is a highlighted part of a line.
type mark struct {
	from, to int    // bytes of the line's text
	span     int    // index in the unit's spans
	pen      string // sequence that restores the style after it; empty for none
	reset    bool   // a style is on where it begins
}

// layout is a unit's lines for one width.
type layout struct {
	lines    []line
	rendered bool
	size     int // in memory, in bytes
}

func newLayout(lines []line, rendered bool) *layout {
	size := int(unsafe.Sizeof(layout{}))
	for i := range lines {
		size += int(unsafe.Sizeof(line{})) + len(lines[i].text)
		for _, m := range lines[i].marks {
			size += int(unsafe.Sizeof(m)) + len(m.pen)
		}
	}
	return &layout{lines, rendered, size}
}

// plainLayout returns the Markdown source, wrapped.
func plainLayout(u unit, width int) *layout {
	ranges := paint.WrapSpans(u.text, max(1, width))
	lines := make([]line, 0, len(ranges))
	spans, first := u.spans, 0
	for _, r := range ranges {
		for first < len(spans) && spans[first][1] <= r.Start {
			first++
		}
		lines = append(lines, plainLine(u.text, r, spans, first))
	}
	return newLayout(trimBlank(lines), false)
}

// plainLine returns one line of a text. Spans before first do not touch it.
func plainLine(text string, r paint.Range, spans []wire.Span, first int) line {
	l := line{text: strings.TrimRight(text[r.Start:r.End], " "), from: r.Start}
	l.width = paint.Width(l.text)
	if l.text == "" {
		l.from = -1
		return l
	}
	l.from += firstLetter(l.text)
	for i := first; i < len(spans) && spans[i][0] < r.Start+len(l.text); i++ {
		from, to := max(0, spans[i][0]-r.Start), min(len(l.text), spans[i][1]-r.Start)
		if from < to {
			l.marks = append(l.marks, mark{from: from, to: to, span: i})
		}
	}
	return l
}

// firstLetter returns the offset of the first letter or digit in a line of Markdown that its rendering shows too.
func firstLetter(s string) int {
	start := len(s) - len(strings.TrimLeft(s, " >*+-"))
	if number := strings.TrimLeft(s[start:], "0123456789"); strings.HasPrefix(number, ". ") || strings.HasPrefix(number, ") ") {
		start = len(s) - len(number)
	}
	if at := strings.IndexFunc(s[start:], isLetter); at >= 0 {
		return start + at
	}
	return len(s) - len(strings.TrimLeft(s, " "))
}

// trimBlank removes blank lines at both ends; at least one line stays.
func trimBlank(lines []line) []line {
	for len(lines) > 1 && lines[0].text == "" {
		lines = lines[1:]
	}
	for len(lines) > 1 && lines[len(lines)-1].text == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
