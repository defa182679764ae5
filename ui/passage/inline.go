package passage

import (
	"slices"
	"strings"

	"quarry/client/wire"
)

// How far on the end of a mark is looked for, in bytes.
const (
	markReach   = 600
	targetReach = 4096
)

// inline copies a piece of a line without the marks inside it.
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

// mark reads what may be a mark. It tells whether that is left out, and how wide it is.
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

// closer is the width of the closing mark at a position; 0 where there is none. Those that were passed are forgotten.
func (p *plainer) closer(at int) (width int) {
	p.closers = slices.DeleteFunc(p.closers, func(s wire.Span) bool {
		if s[0] == at {
			width = s[1] - s[0]
		}
		return s[0] <= at
	})
	return width
}

// code reads the ticks around code. Ticks without a counterpart, as a text has them that was cut, go as well.
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

// emphasis reads stars, underscores and tildes. They are marks where a counterpart closes them; two stars are marks also
// where it was cut off.
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

// closing finds the mark that closes the one at a position.
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

// closes tells whether the run [from, end) can close what was opened just before start. Underscores can not inside a
// word, nor around one as names of code have them (__init__).
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

// link reads the beginning of a link or picture and leaves its target, further on, out as well.
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

// closingBracket is where the bracket closes that was opened before a position; -1 where it does not.
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

// targetLength is the width of "](target)" at the start of a text; all of it where the target does not end.
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

// address reads an address in angle brackets, of which the brackets go.
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

// isWordByte takes every byte of characters beyond ASCII for a letter's.
func isWordByte(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7f && (!isWordByte(c))
}
