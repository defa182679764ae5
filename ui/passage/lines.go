package passage

import (
	"strings"

	"quarry/client/wire"
	"quarry/internal/pattern"
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

// Lines returns the lines of Markdown that have text, and all of code, without marks and link targets.
func Lines(markdown string) []Line { return linesOf(markdown, nil, "") }

// Plain returns a line of Markdown as plain text.
func Plain(line string) string {
	p := newPlainer(line, nil)
	p.quote = -1
	p.inline(0, len(p.source))
	return string(p.out)
}

// linesOf is Lines with the spans in the lines, for a text that begins in a code block that a fence opened; none if it
// is empty.
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

// FenceAfter returns the fence that is open after a line without indentation: the backticks or tildes that opened a
// code block, or "".
func FenceAfter(open, line string) string {
	switch {
	case open == "":
		return opensFence(line)
	case closesFence(line, open):
		return ""
	}
	return open
}

// opensFence returns the backticks or tildes that open a code block, or "".
func opensFence(line string) string {
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return ""
	}
	fence := line[:runLength(line, 0)]
	if len(fence) < 3 || fence[0] == '`' && strings.Contains(line[len(fence):], "`") {
		return ""
	}
	return fence
}

func closesFence(line, fence string) bool {
	return strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]+" \t\r") == ""
}

// fenceAt returns the fence of the code block that a text ends in, or "".
func fenceAt(text string) string {
	fence := ""
	for line := range strings.Lines(text) {
		fence = FenceAfter(fence, strings.TrimLeft(strings.TrimSuffix(line, "\n"), " \t>"))
	}
	return fence
}

// codeBlocks yields the parts of a text: code between fences, which included, and what is between such blocks.
func codeBlocks(markdown string) func(yield func(text string, code bool) bool) {
	return func(yield func(string, bool) bool) {
		start, at, fence := 0, 0, ""
		for line := range strings.Lines(markdown) {
			before := at
			at += len(line)
			was := fence
			if fence = FenceAfter(was, strings.TrimLeft(strings.TrimRight(line, "\n"), " \t>")); fence == was {
				continue
			}
			end := at
			if was == "" { // the line of the fence is code
				end = before
			}
			if !yield(markdown[start:end], was != "") {
				return
			}
			start = end
		}
		yield(markdown[start:], fence != "")
	}
}

var (
	wikiLink     = pattern.Lazy(`^!?\[\[#*([^\[\]|\n\s][^\[\]|\n]*)(?:\|([^\[\]\n]*))?\]\]`)
	footnoteMark = pattern.Lazy(`^\[\^([^\[\]^\s]+)\]`)
	calloutMark  = pattern.Lazy(`^\[!(\pL[\w-]*)(?:\|[^\[\]\n]*)?\][+-]? *`)
	inlineNote   = pattern.Lazy(`^\^\[[^\[\]\n]+\]`)
	hiddenText   = pattern.Lazy(`^%%[^%\n]+%%\B`)
	highlight    = pattern.Lazy(`^==([^=\s][^=\n]*)==`)
)

// hiddenLines matches what may be a comment of notes over several lines: in a paragraph, or from the beginning of a
// line on. Code has no comments, and is matched to step over it.
var hiddenLines = pattern.Lazy("(?ms)^[ \\t>]*(?:```.*?(?:^[ \\t>]*```|\\z)|~~~.*?(?:^[ \\t>]*~~~|\\z)|%%.*?%%\\B)|" +
	"`[^`\n]+`|\\B%%(?:[^\n]|\n[ \\t>]*\\S)*?%%\\B")

// WithoutComments returns Markdown with spaces for the comments of notes, %%text%%, that end on another line than they
// begin: NoteMark knows those of one line. All else keeps its place.
func WithoutComments(markdown string) string {
	if strings.Count(markdown, "%%") < 2 {
		return markdown
	}
	return hiddenLines().ReplaceAllStringFunc(markdown, func(part string) string {
		if !strings.Contains(part, "\n") || !strings.HasPrefix(strings.TrimLeft(part, " \t>"), "%%") {
			return part
		}
		blank := []byte(part)
		for i, c := range blank {
			if c != '\n' {
				blank[i] = ' '
			}
		}
		return string(blank)
	})
}

// NoteMark returns what is shown of a mark of notes that a text begins with, as a part of the text, and the length of
// the mark; 0 if there is none. Of a link to another note, [[page|label]], it is the label or the page; of a footnote
// its number, as ^1, or in brackets if it is written there, ^[text]; of ==text== the text; of a comment, %%text%%,
// nothing; and at the beginning of a quote, of a callout, [!note] Title, nothing if it has a title, else its kind.
func NoteMark(text string, beginsQuote bool) (from, to, length int) {
	text = text[:min(len(text), markReach)]
	switch {
	case strings.HasPrefix(text, "[[") || strings.HasPrefix(text, "![["):
		at := wikiLink().FindStringSubmatchIndex(text)
		if at == nil || strings.HasPrefix(text[at[1]:], "(") {
			break
		}
		from, to = at[2], at[3]
		label := text[max(0, at[4]):max(0, at[5])]
		if strings.Trim(label, "0123456789x") != "" { // not the width of a picture
			from, to = at[4], at[5]
		}
		return from, len(strings.TrimSuffix(text[:to], `\`)), at[1]
	case strings.HasPrefix(text, "[^"):
		if at := footnoteMark().FindStringSubmatchIndex(text); at != nil {
			return at[2] - 1, at[3], at[1]
		}
	case beginsQuote && strings.HasPrefix(text, "[!"):
		at := calloutMark().FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		if strings.TrimSpace(firstLine(text[at[1]:])) != "" {
			return at[1], at[1], at[1]
		}
		return at[2], at[3], at[1]
	case strings.HasPrefix(text, "^["):
		if inlineNote().MatchString(text) {
			return 1, 1, 1 // what is in the brackets may have marks, too
		}
	case strings.HasPrefix(text, "%%"):
		length = len(hiddenText().FindString(text))
		return length, length, length
	case strings.HasPrefix(text, "=="):
		if at := highlight().FindStringSubmatchIndex(text); at != nil && text[at[3]-1] != ' ' {
			return at[2], at[3], at[1]
		}
	}
	return 0, 0, 0
}
