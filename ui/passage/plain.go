package passage

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/text"
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
	hidden  int         // end of the current HTML tag
	links   []wire.Span // bare addresses
	quote   int         // where the text of the current line of a quote begins; -1 outside of quotes
	limit   int         // stop after a line when out has so many bytes; 0: never
}

func newPlainer(source string, spans []wire.Span) *plainer {
	return &plainer{source: WithoutComments(source), out: make([]byte, 0, min(len(source), 1<<12)), spans: spans,
		moved: make([]wire.Span, len(spans))}
}

// done returns the text and the spans in it.
func (p *plainer) done() (string, []wire.Span) {
	return string(p.out), slices.DeleteFunc(p.moved, func(span wire.Span) bool { return span[1] <= span[0] })
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

// insert appends the characters of a reference. A span that covers it goes on with the next piece.
func (p *plainer) insert(resolved string) {
	if strings.TrimSpace(resolved) == "" {
		p.separate(betweenWords)
		return
	}
	p.close()
	p.out = append(p.out, resolved...)
}

// close appends the pending separator.
func (p *plainer) close() {
	if len(p.out) > 0 && p.gap != "" {
		if p.out[len(p.out)-1] == ':' {
			p.gap = betweenWords // the colon separates enough
		}
		p.out = append(p.out, p.gap...)
	}
	p.gap = ""
}

// copy copies a part of the source without white space, and moves the spans in it.
func (p *plainer) copy(from, to int) {
	if from >= to {
		return
	}
	p.close()
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
	start := from
	from = p.skipQuote(min(max(from, p.hidden), to), to)
	line := p.source[from:to]
	if p.quote = -1; strings.Contains(p.source[min(start, from):from], ">") {
		p.quote = from
	}
	if p.fence != "" {
		if closesFence(line, p.fence) {
			p.fence = ""
		} else {
			p.keep(from, to)
		}
		p.separate(betweenItems)
		return
	}
	if fence := opensFence(line); fence != "" {
		p.fence = fence
		p.separate(betweenItems)
		return
	}
	switch {
	case line == "" || isRule(line) || isDefinition(line):
	case line[0] == '|':
		p.row(from, to)
	case HeadingLevel(line) > 0:
		p.separate(betweenItems)
		p.inline(from+HeadingLevel(line), from+len(strings.TrimRight(line, "# \t")))
		p.separate(belowHeading)
	case listMark(line) > 0:
		p.separate(betweenItems)
		p.inline(from+listMark(line), to)
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

// isRule reports whether a line is a rule: between paragraphs or below a heading.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) > 1 && strings.IndexByte("-=*_", line[0]) >= 0 && strings.Trim(line, line[:1]+" ") == "" &&
		(len(line) > 2 || line[0] == '-' || line[0] == '=')
}

// isDefinition reports whether a line defines the target of a reference link.
func isDefinition(line string) bool {
	_, _, ok := definition(line)
	return ok && !strings.HasPrefix(line, "[^") // a footnote
}

// HeadingLevel returns the level of a line that is a heading with "#", which is the length of that mark; 0 for any
// other line.
func HeadingLevel(line string) int {
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

// How far ahead the end of a mark is searched for, in bytes.
const (
	markReach   = 600
	targetReach = 4096
)

// inline copies a part of a line without the marks in it.
func (p *plainer) inline(from, to int) {
	start := from
	for at := from; at < to; {
		if p.source[at] == '&' && at >= p.literal {
			if resolved, size := Entity(p.source[at:to]); size > 0 {
				p.keep(start, at)
				p.insert(resolved)
				at += size
				start = at
				continue
			}
		}
		if strings.IndexByte("\\`*_~[]|!<>:@w=^%", p.source[at]) < 0 {
			at++
			continue
		}
		left, width := p.mark(at, to)
		if left {
			p.keep(start, at)
			start = at + width
		}
		at += max(1, width)
	}
	if start < to {
		p.keep(start, to)
	}
}

// mark reports whether to leave out the text at an offset because it is a mark, and its length.
func (p *plainer) mark(at, to int) (leftOut bool, width int) {
	if closer := p.closer(at); closer > 0 && at+closer <= to {
		return true, closer
	}
	if at < p.literal {
		return false, 1
	}
	switch p.source[at] {
	case '\\':
		if at+1 < to && isPunctuation(p.source[at+1]) {
			p.literal = at + 2
			return true, 1
		}
	case '`':
		return true, p.code(at, to)
	case '*', '_', '~':
		return p.emphasis(at, to)
	case '[', '!', '=', '^', '%':
		if p.source[at] == '%' && at > 0 && text.IsWordByte(p.source[at-1]) { // 100%%
			return false, 1
		}
		if from, end, length := NoteMark(p.source[at:to], at == p.quote); length > 0 {
			p.closers = append(p.closers, wire.Span{at + end, at + length})
			return true, from
		}
		if p.source[at] == '[' || p.source[at] == '!' {
			return p.link(at, to)
		}
	case '<':
		return p.address(at, to)
	case ':', '@', 'w':
		if beginsAddress(p.source[:to], at) {
			p.links = append(p.links, addressAround(p.source[:to], at))
		}
	}
	return false, 1
}

// closer returns the length of the closing mark at an offset, or 0, and forgets those before it.
func (p *plainer) closer(at int) (width int) {
	p.closers = slices.DeleteFunc(p.closers, func(s wire.Span) bool {
		if s[0] == at {
			width = s[1] - s[0]
		}
		return s[0] <= at
	})
	return width
}

// code reads the backticks around code. Backticks without a counterpart, as in text that was cut, are left out as well.
func (p *plainer) code(at, to int) (width int) {
	width = min(runLength(p.source, at), to-at)
	if end := at + codeLength(p.source[:min(len(p.source), at+width+markReach)], at); end > at+width {
		p.closers = append(p.closers, wire.Span{end - width, end})
		p.literal = end - width
	}
	return width
}

// emphasis reads asterisks, underscores and tildes. They are marks if others close them; two asterisks also if those
// or the text before them were cut off.
func (p *plainer) emphasis(at, to int) (leftOut bool, width int) {
	width = min(runLength(p.source, at), to-at)
	before, after := at > 0 && !isSpace(p.source[at-1]), at+width < len(p.source) && !isSpace(p.source[at+width])
	c := p.source[at]
	if width > 3 || c == '~' && width != 2 {
		return false, width
	}
	inWord := at > 0 && text.IsWordByte(p.source[at-1])
	cut := at == 0 && strings.HasPrefix(p.source[width:], " ")              // off its words
	after = after && strings.IndexByte("./,;:!?)|", p.source[at+width]) < 0 // *.go is no mark
	if after && (c == '*' || !inWord) {
		if closer, found := p.closing(at, width); found {
			p.closers = append(p.closers, closer)
			return true, width
		}
	}
	return c == '*' && width == 2 && (cut || before != after), width
}

// closing finds the mark that closes the one at an offset.
func (p *plainer) closing(at, width int) (wire.Span, bool) {
	c, start := p.source[at], at+width
	reach := p.source[:min(len(p.source), start+markReach)]
	for next := start; next < len(reach); next++ {
		switch reach[next] {
		case '\n':
			if next+1 < len(reach) && reach[next+1] == '\n' {
				return wire.Span{}, false
			}
		case '`':
			if tick := strings.IndexByte(reach[next+1:], '`'); tick >= 0 {
				next += 1 + tick
			}
		case '\\':
			next++
		case c:
			length := runLength(reach, next)
			closer := wire.Span{next, next + width}
			if length == 3 && width < 3 &&
				!slices.ContainsFunc(p.closers, func(s wire.Span) bool { return s[1] == next+length }) {
				closer = wire.Span{next + length - width, next + length}
			}
			if (length == width || length == 3 && width < 3) && next > start && p.closes(start, next, next+length) {
				return closer, true
			}
			next += length - 1
		}
	}
	return wire.Span{}, false
}

// closes reports whether the run [from, end) can close a mark that ends at start. Underscores cannot inside a word, nor
// around a name such as __init__.
func (p *plainer) closes(start, from, end int) bool {
	if isSpace(p.source[from-1]) {
		return false
	}
	if p.source[from] != '_' {
		return true
	}
	if end-from > 1 && !strings.ContainsAny(p.source[start:from], " \n") {
		return false
	}
	rest := strings.TrimLeft(p.source[end:min(len(p.source), end+2)], ".,;:!?)\"'*")
	return rest == "" || !text.IsWordByte(rest[0])
}

// link reads the start of a link or image, and leaves out its target too.
func (p *plainer) link(at, to int) (leftOut bool, width int) {
	width = 1
	if p.source[at] == '=' {
		return false, 1
	}
	if p.source[at] == '!' {
		if at+1 >= to || p.source[at+1] != '[' {
			return false, 1
		}
		width = 2
	}
	end := closingBracket(p.source[:min(len(p.source), at+markReach)], at+width)
	if end < 0 || end+1 >= len(p.source) {
		return false, 1
	}
	line := firstLine(p.source[end:min(len(p.source), end+targetReach)])
	switch {
	case strings.HasPrefix(line, "]("):
		length := targetLength(line)
		p.closers = append(p.closers, wire.Span{end, end + length})
	case strings.HasPrefix(line, "][") && (at == 0 || !text.IsWordByte(p.source[at-1])):
		length := strings.IndexByte(line[1:], ']')
		if length < 0 {
			return false, 1
		}
		p.closers = append(p.closers, wire.Span{end, end + length + 2})
	default:
		return false, 1
	}
	return true, width
}

// closingBracket returns the offset of the bracket that closes the one before an offset, or -1.
func closingBracket(text string, from int) int {
	depth := 1
	for at := from; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return at
			}
		case '\n':
			if at+1 < len(text) && text[at+1] == '\n' {
				return -1
			}
		}
	}
	return -1
}

// targetLength returns the length of "](target)" at the start of a text; all of it if the target does not end.
func targetLength(text string) int {
	depth := 0
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return len(text)
}

// address reads an address in angle brackets, and leaves out the brackets.
func (p *plainer) address(at, to int) (leftOut bool, width int) {
	inside := p.source[at+1 : min(to, at+targetReach)]
	end := strings.IndexAny(inside, " <>")
	if end < 0 || inside[end] != '>' ||
		!strings.Contains(inside[:end], "://") && !strings.HasPrefix(inside, "mailto:") {
		return p.tag(at)
	}
	p.links = append(p.links, wire.Span{at + 1, at + 1 + end})
	p.closers = append(p.closers, wire.Span{at + 1 + end, at + 2 + end})
	p.literal = at + 1 + end
	return true, 1
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isPunctuation(c byte) bool { return c > ' ' && c < 0x7f && !text.IsWordByte(c) }
