package passage

import (
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Excerpt returns the part of a result to show in some lines of some columns, and the marks in it. It starts at the
// beginning if the best passage, or the first mark, is near, else at the line of that. It is somewhat longer than what
// fits.
func Excerpt(r wire.SearchResult, marks []wire.Span, lines, columns int) (string, []wire.Span) {
	start := 0
	switch {
	case r.BestPassage[1] > r.BestPassage[0]:
		start = r.BestPassage[0]
	case len(marks) > 0:
		start = marks[0][0]
	}
	content := r.Content
	if start < 0 || start > len(content) || shownFromTop(content[:start], lines, columns) {
		start = 0
	}
	start = strings.LastIndexByte(content[:start], '\n') + 1
	for start > 0 && strings.Count(content[start:], "\n") < lines-1 {
		start = strings.LastIndexByte(content[:start-1], '\n') + 1
	}
	for start < len(content) && !utf8.RuneStart(content[start]) {
		start++
	}
	content = text.Clip(content[start:], 8*columns*lines)
	content = strings.ReplaceAll(content, "\t", " ")
	var moved []wire.Span
	for _, mark := range marks {
		if mark[0] >= start && mark[1] <= start+len(content) && mark[0] < mark[1] {
			moved = append(moved, wire.Span{mark[0] - start, mark[1] - start})
		}
	}
	return content, moved
}

// shownFromTop reports whether the text after a beginning is in the upper half of the lines.
func shownFromTop(beginning string, lines, columns int) bool {
	return len(beginning) < columns*lines/2 && strings.Count(beginning, "\n") < lines/2
}

// Heading returns the text of a line of Markdown that is a heading, and "" for any other line.
func Heading(line string) string {
	text := strings.TrimLeft(line, "#")
	if text == line {
		return ""
	}
	return strings.TrimSpace(text)
}

// IsTableRule reports whether a line is the one below the head of a table.
func IsTableRule(line string) bool {
	return strings.Contains(line, "|") && strings.Contains(line, "--") && strings.Trim(line, "|-: ") == ""
}
