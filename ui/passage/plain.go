package passage

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
)

// Separators of blocks on one line of plain text, the weakest first.
const (
	betweenWords = " "
	betweenItems = " · " // items of a list, rows and cells of a table, lines of code
	belowHeading = " › "
)

// plainer converts Markdown to one line of plain text: without the marks of headings, emphasis, code, quotes, lists,
// tables and links, and without link targets. Names with underscores and code stay as they are. Spans move along with
// their words. It looks ahead a bounded distance, so its cost is linear. Parsing with goldmark instead takes eight
// times as long, and leaves the marks in text that was cut.
type plainer struct {
	source  string
	out     []byte
	gap     string      // separator before the next piece
	spans   []wire.Span // ordered, of the source
	moved   []wire.Span // in out; empty until a part of it was copied
	next    int         // first span that does not end before the next piece
	fence   string      // that opened the current code block
	closers []wire.Span // ends of marks whose beginning was left out
	literal int         // end of the current code or address
	limit   int         // stop after a line when out has so many bytes; 0: never
}

func newPlainer(source string, spans []wire.Span) *plainer {
	return &plainer{source: source, out: make([]byte, 0, min(len(source), 1<<12)), spans: spans,
		moved: make([]wire.Span, len(spans))}
}

// done returns the text and the spans in it.
func (p *plainer) done() (string, []wire.Span) {
	kept := p.moved[:0]
	for _, span := range p.moved {
		if span[1] > span[0] {
			kept = append(kept, span)
		}
	}
	return string(p.out), kept
}

// separate puts a separator before the next piece, unless a stronger one is pending.
func (p *plainer) separate(gap string) {
	if p.gap == "" || gap == belowHeading || gap == betweenItems && p.gap == betweenWords {
		p.gap = gap
	}
}

// keep copies a part of the source, with white space folded.
func (p *plainer) keep(from, to int) {
	start := from
	for at := from; at < to; {
		width, space := 1, false
		if c := p.source[at]; c < utf8.RuneSelf {
			space = c == ' ' || c >= '\t' && c <= '\r'
		} else {
			var r rune
			r, width = utf8.DecodeRuneInString(p.source[at:])
			space = unicode.IsSpace(r)
		}
		if space {
			p.copy(start, at)
			p.separate(betweenWords)
			start = at + width
		}
		at += width
	}
	p.copy(start, to)
}

// copy copies a part of the source without white space, and moves the spans in it.
func (p *plainer) copy(from, to int) {
	if from >= to {
		return
	}
	if len(p.out) > 0 && p.gap != "" {
		if p.out[len(p.out)-1] == ':' {
			p.gap = betweenWords // the colon separates enough
		}
		p.out = append(p.out, p.gap...)
	}
	p.gap = ""
	shift := len(p.out) - from
	p.out = append(p.out, p.source[from:to]...)
	for p.next < len(p.spans) && p.spans[p.next][1] <= from {
		p.next++
	}
	for i := p.next; i < len(p.spans) && p.spans[i][0] < to; i++ {
		if p.moved[i][1] == 0 {
			p.moved[i][0] = max(from, p.spans[i][0]) + shift
		}
		p.moved[i][1] = min(to, p.spans[i][1]) + shift
	}
}

func (p *plainer) lines(from, to int) {
	for from < to && (p.limit == 0 || len(p.out) < p.limit) {
		end := to
		if at := strings.IndexByte(p.source[from:to], '\n'); at >= 0 {
			end = from + at
		}
		p.line(from, end)
		from = end + 1
	}
}

func (p *plainer) line(from, to int) {
	p.separate(betweenWords)
	from = p.skipQuote(from, to)
	text := p.source[from:to]
	if p.fence != "" {
		if closesFence(text, p.fence) {
			p.fence = ""
		} else {
			p.keep(from, to)
		}
		p.separate(betweenItems)
		return
	}
	if fence := opensFence(text); fence != "" {
		p.fence = fence
		p.separate(betweenItems)
		return
	}
	switch {
	case text == "" || isRule(text) || isDefinition(text):
	case text[0] == '|':
		p.row(from, to)
	case headingMark(text) > 0:
		p.separate(betweenItems)
		p.inline(from+headingMark(text), from+len(strings.TrimRight(text, "# \t")))
		p.separate(belowHeading)
	case listMark(text) > 0:
		p.separate(betweenItems)
		p.inline(from+listMark(text), to)
	default:
		p.inline(from, to)
	}
}

// skipQuote returns the offset after the indentation and quote marks of a line.
func (p *plainer) skipQuote(from, to int) int {
	for from < to && (p.source[from] == ' ' || p.source[from] == '\t' || p.source[from] == '>' && p.fence == "") {
		from++
	}
	return from
}

func (p *plainer) row(from, to int) {
	if IsTableRule(p.source[from:to]) {
		return
	}
	start := from
	for at := from; at <= to; at++ {
		if at < to && (p.source[at] != '|' || at > from && p.source[at-1] == '\\') {
			continue
		}
		p.separate(betweenItems)
		p.inline(start, at)
		start = at + 1
	}
	p.separate(betweenItems)
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

// isRule reports whether a line is a rule: between paragraphs or below a heading.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) > 1 && strings.IndexByte("-=*_", line[0]) >= 0 && strings.Trim(line, line[:1]+" ") == "" &&
		(len(line) > 2 || line[0] == '-' || line[0] == '=')
}

// isDefinition reports whether a line defines the target of a reference link.
func isDefinition(line string) bool {
	if line[0] != '[' {
		return false
	}
	_, target, found := strings.Cut(line, "]: ")
	return found && !strings.Contains(strings.TrimSpace(target), " ") && strings.Contains(target, "://")
}

// headingMark returns the length of the mark that makes a line a heading.
func headingMark(line string) int {
	marks := len(line) - len(strings.TrimLeft(line, "#"))
	if marks == 0 || marks > 6 || marks < len(line) && line[marks] != ' ' && line[marks] != '\t' {
		return 0
	}
	return marks
}

// listMark returns the length of the mark of a list item, with its check box. Numbers are text.
func listMark(line string) int {
	if len(line) < 2 || strings.IndexByte("-*+", line[0]) < 0 || line[1] != ' ' {
		return 0
	}
	if len(line) > 5 && line[2] == '[' && strings.IndexByte(" xX", line[3]) >= 0 && line[4] == ']' && line[5] == ' ' {
		return 6
	}
	return 2
}

// runLength returns how often the byte at an offset repeats.
func runLength(text string, at int) int {
	end := at + 1
	for end < len(text) && text[end] == text[at] {
		end++
	}
	return end - at
}
