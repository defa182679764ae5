package passage

import (
	"strings"

	"quarry/client/wire"
)

// Line is a line of Markdown as plain text.
type Line struct {
	Lead  string // its indentation, with the mark of an item of a list and its check box
	Text  string
	Marks []wire.Span // in Text
	Kind  LineKind
}

// LineKind is what a line is part of.
type LineKind int

// The kinds of lines.
const (
	Prose LineKind = iota
	Headline
	Row  // of a table
	Code // as it is stored
)

// Lines returns the lines of Markdown that have text, and all of code, without marks and link targets, and the spans in
// them. The text may begin in a code block.
func Lines(markdown string, spans []wire.Span) []Line { return linesOf(markdown, spans, "") }

// Plain returns a line of Markdown as plain text.
func Plain(line string) string {
	p := newPlainer(line, nil)
	p.quote = -1
	p.inline(0, len(p.source))
	return string(p.out)
}

// linesOf is Lines for a text that begins in a code block that a fence opened; none if it is empty.
func linesOf(markdown string, spans []wire.Span, fence string) []Line {
	p := newPlainer(markdown, spans)
	if p.fence = fence; fence != "" {
		p.source = markdown
	}
	var lines []Line
	for from := 0; from < len(markdown); {
		to := len(markdown)
		if at := strings.IndexByte(markdown[from:], '\n'); at >= 0 {
			to = from + at
		}
		if line := p.oneLine(from, to); line.Text != "" || line.Kind == Code {
			lines = append(lines, line)
		}
		from = to + 1
	}
	return lines
}

// oneLine converts the next line.
func (p *plainer) oneLine(from, to int) Line {
	start := p.skipQuote(min(max(from, p.hidden), to), to)
	source := p.source[start:to]
	if p.fence != "" && !closesFence(source, p.fence) {
		line := Line{Text: strings.TrimRight(p.source[from:to], " \t"), Kind: Code}
		_, line.Marks = within(p.source, p.spans, wire.Span{from, from + len(line.Text)})
		return line
	}
	line := Line{}
	switch {
	case HeadingLevel(source) > 0:
		line.Kind = Headline
	case strings.HasPrefix(source, "|"):
		line.Kind = Row
	default:
		line.Lead = indentation(p.source[from:start]) + source[:listMark(source)]
	}
	first := p.next
	p.line(from, to)
	line.Text = string(p.out)
	for i := first; i < len(p.spans) && p.spans[i][0] < to; i++ {
		if p.moved[i][1] > p.moved[i][0] {
			line.Marks = append(line.Marks, p.moved[i])
		}
		p.moved[i] = wire.Span{}
	}
	p.out, p.gap = p.out[:0], ""
	return line
}

// indentation returns the spaces before a line, behind the marks of quotes.
func indentation(lead string) string {
	if quote := strings.LastIndexByte(lead, '>'); quote >= 0 {
		lead = strings.TrimPrefix(lead[quote+1:], " ")
	}
	return strings.ReplaceAll(lead, "\t", "    ")
}
