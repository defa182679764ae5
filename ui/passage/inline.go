package passage

import (
	"slices"
	"strings"

	"quarry/client/wire"
)

// How far ahead the end of a mark is searched for, in bytes.
const (
	markReach   = 600
	targetReach = 4096
)

// inline copies a part of a line without the marks in it.
func (p *plainer) inline(from, to int) {
	start := from
	for at := from; at < to; {
		if strings.IndexByte("\\`*_~[]!<>", p.source[at]) < 0 {
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
	case '[', '!':
		return p.link(at, to)
	case '<':
		return p.address(at, to)
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
	reach := p.source[:min(len(p.source), at+width+markReach)]
	for next := at + width; next < len(reach); {
		tick := strings.IndexByte(reach[next:], '`')
		if tick < 0 || strings.Contains(reach[next:next+tick], "\n\n") {
			break
		}
		next += tick
		length := runLength(reach, next)
		if length == width {
			p.closers = append(p.closers, wire.Span{next, next + length})
			p.literal = next
			break
		}
		next += length
	}
	return width
}

// emphasis reads asterisks, underscores and tildes. They are marks if others close them; two asterisks also if those
// were cut off.
func (p *plainer) emphasis(at, to int) (leftOut bool, width int) {
	width = min(runLength(p.source, at), to-at)
	before, after := at > 0 && !isSpace(p.source[at-1]), at+width < len(p.source) && !isSpace(p.source[at+width])
	c := p.source[at]
	if width > 3 || c == '~' && width != 2 {
		return false, width
	}
	inWord := at > 0 && isWordByte(p.source[at-1])
	after = after && strings.IndexByte("./,;:!?)|", p.source[at+width]) < 0 // *.go is no mark
	if after && (c == '*' || !inWord) {
		if closer, found := p.closing(at, width); found {
			p.closers = append(p.closers, closer)
			return true, width
		}
	}
	return c == '*' && width == 2 && before != after, width
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
			if length == 3 && width < 3 && !slices.ContainsFunc(p.closers, func(s wire.Span) bool { return s[1] == next+length }) {
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
	return rest == "" || !isWordByte(rest[0])
}

// link reads the start of a link or image, and leaves out its target too.
func (p *plainer) link(at, to int) (leftOut bool, width int) {
	width = 1
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
	line := p.source[end:min(len(p.source), end+targetReach)]
	if stop := strings.IndexByte(line, '\n'); stop >= 0 {
		line = line[:stop]
	}
	switch {
	case strings.HasPrefix(line, "]("):
		length := targetLength(line)
		p.closers = append(p.closers, wire.Span{end, end + length})
	case strings.HasPrefix(line, "][") && (at == 0 || !isWordByte(p.source[at-1])):
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
	if end < 0 || inside[end] != '>' || !strings.Contains(inside[:end], "://") && !strings.HasPrefix(inside, "mailto:") {
		return false, 1
	}
	p.closers = append(p.closers, wire.Span{at + 1 + end, at + 2 + end})
	p.literal = at + 1 + end
	return true, 1
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// isWordByte reports whether a byte belongs to a letter or a digit; bytes beyond ASCII count as letters.
func isWordByte(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7f && (!isWordByte(c))
}
