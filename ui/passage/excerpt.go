package passage

import (
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Excerpt is the part of a result's content to show where there is room for some lines of some columns. It starts at
// the line of the best passage, or of the first mark, when the beginning is too far before it to be shown with it, and is
// somewhat longer than what fits. It returns the marks that lie in it, relative to itself.
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

// shownFromTop says whether what follows a beginning still lies in the upper half of the lines that are shown.
func shownFromTop(beginning string, lines, columns int) bool {
	return len(beginning) < columns*lines/2 && strings.Count(beginning, "\n") < lines/2
}

// Heading is what a line of Markdown says when it is a heading; empty for any other line.
func Heading(line string) string {
	text := strings.TrimLeft(line, "#")
	if text == line {
		return ""
	}
	return strings.TrimSpace(text)
}

// IsTableRule tells the line below the head of a table, which says nothing without the head.
func IsTableRule(line string) bool {
	return strings.Contains(line, "|") && strings.Contains(line, "--") && strings.Trim(line, "|-: ") == ""
}
