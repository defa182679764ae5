package passage

import (
	"strings"

	"quarry/client/wire"
)

// BestQuote returns a result whose content is its best passage as Markdown that stands by itself: see Cut.
func BestQuote(r wire.SearchResult) wire.SearchResult {
	if best, ok := bestPassage(r); ok {
		r.Content = Cut(r.Content, best[0], best[1])
	}
	return r
}

// Cut returns a part of Markdown that begins and ends outside of its marks: emphasis, code and links are included as a
// whole, code blocks have their fences, and rows of a table its header.
func Cut(markdown string, from, to int) string {
	start := strings.LastIndexByte(markdown[:from], '\n') + 1
	opening, header := blockAt(markdown, start)
	first := firstLine(markdown[start:])
	switch {
	case opening != "":
		if fence := fenceAt(opening); closesFence(strings.TrimLeft(first, " \t>"), fence) {
			opening, from = "", min(to, start+len(first)+1)
		} else {
			from = start
		}
	case isRow(first):
		from = start
	default:
		if strings.Trim(markdown[start:from], " \t>") == "" && strings.Contains(markdown[from:to], "\n") {
			from = start // the marks of a quote, which its other lines have
		}
		from, _ = wholeMarks(markdown, from, from)
	}
	last := strings.LastIndexByte(markdown[:to], '\n') + 1
	if line := markdown[last:]; fenceAt(opening+markdown[from:max(from, last)]) != "" || isRow(line) {
		to = max(to, last+len(firstLine(line)))
	} else {
		_, to = wholeMarks(markdown, to, to)
	}
	part := opening + header + markdown[from:max(from, to)]
	if fence := fenceAt(part); fence != "" {
		part = strings.TrimRight(part, "\n") + "\n" + fence
	}
	return part
}

// blockAt returns the line that opens the code block in which a line begins, or the header of the table of which it is
// a row; both are empty elsewhere.
func blockAt(markdown string, start int) (opening, header string) {
	fence, table, at := "", 0, 0
	for line := range strings.Lines(markdown[:start]) {
		before := fence
		fence = FenceAfter(fence, strings.TrimLeft(strings.TrimSuffix(line, "\n"), " \t>"))
		if before == "" {
			opening = line
		}
		if at += len(line); fence != "" || !isRow(line) {
			table = at
		}
	}
	if fence != "" {
		return opening, ""
	}
	if !isRow(firstLine(markdown[start:])) {
		return "", ""
	}
	lines := strings.SplitAfterN(markdown[table:start], "\n", 3)
	if len(lines) < 3 { // the row is the header, or the line below it
		return "", markdown[table:start]
	}
	return "", lines[0] + lines[1]
}

func isRow(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t>"), "|") }

// wholeMarks widens a range to the marks that it begins or ends in.
func wholeMarks(markdown string, from, to int) (wider, end int) {
	start := 0 // of the paragraph
	if at := strings.LastIndex(markdown[:from], "\n\n"); at >= 0 {
		start = at + len("\n\n")
	}
	paragraph, _, _ := strings.Cut(markdown[start:min(len(markdown), max(to, start)+markReach)]+"\n\n", "\n\n")
	wider, end = from, to
	for _, mark := range marks(paragraph) {
		if mark[0]+start < from && mark[1]+start > from {
			wider = min(wider, mark[0]+start)
		}
		if mark[0]+start < to && mark[1]+start > to {
			end = max(end, min(mark[1]+start, len(markdown)))
		}
	}
	return wider, end
}

// marks returns where the emphasis, code and links of a paragraph are, with their marks.
func marks(paragraph string) []wire.Span {
	var found []wire.Span
	p := newPlainer(paragraph, nil)
	for at := 0; at < len(paragraph); {
		_, width := p.mark(at, len(paragraph))
		for _, closer := range p.closers {
			found = append(found, wire.Span{at, closer[1]})
		}
		at += max(1, width)
	}
	return found
}
