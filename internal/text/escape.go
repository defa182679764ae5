package text

import "unicode/utf8"

const escape = 0x1b

// EscapeWidth returns the length of the terminal sequence that s begins with, in bytes: after ESC, or after a C1
// control in UTF-8. It is the length of that character if no sequence follows, and 0 if s begins with another
// character.
func EscapeWidth(s string) int {
	switch r, width := utf8.DecodeRuneInString(s); {
	case r >= 0x80 && r < 0xa0:
		return width + sequenceWidth(byte(r-0x40), s[width:])
	case r != escape:
		return 0
	}
	at := 1
	for at < len(s) && s[at] >= ' ' && s[at] <= '/' {
		at++ // intermediates of a longer two-character sequence
	}
	if at == len(s) || s[at] < '0' || s[at] > '~' {
		return 1 // no sequence: what follows is text
	}
	if at > 1 {
		return at + 1
	}
	return 2 + sequenceWidth(s[1], s[2:])
}

// sequenceWidth is the length of what belongs to an introducer after it. The introducer is given as the letter that
// follows an escape character.
func sequenceWidth(introducer byte, rest string) int {
	switch introducer {
	case '[':
		at := 0
		for at < len(rest) && rest[at] >= '0' && rest[at] <= '?' {
			at++
		}
		for at < len(rest) && rest[at] >= ' ' && rest[at] <= '/' {
			at++
		}
		if at < len(rest) && rest[at] >= '@' && rest[at] <= '~' {
			at++
		}
		return at
	case ']', 'P', 'X', '^', '_':
		return stringWidth(rest, introducer == ']')
	}
	return 0
}

// stringWidth is the length of a control string up to and with its terminator. A new escape sequence or a cancelling
// control ends it too, as on a terminal. One that never ends is no control string: its text stays visible.
func stringWidth(s string, bellEnds bool) int {
	for at := 0; at < len(s); at++ {
		switch c := s[at]; {
		case c == '\a' && bellEnds, c == 0x18, c == 0x1a:
			return at + 1
		case c == escape && at+1 < len(s) && s[at+1] == '\\':
			return at + 2
		case c == escape:
			return at
		case c == 0xc2 && at+1 < len(s) && s[at+1] == 0x9c:
			return at + 2
		case c == 0xc2 && at+1 < len(s) && s[at+1] >= 0x80 && s[at+1] < 0xa0:
			return at
		}
	}
	return 0
}
