package ingest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"quarry/internal/text"
)

// longestEscape bounds a terminal sequence, so that an unfinished one does not swallow the rest of the document.
const longestEscape = 1024

// mostBlankLines bounds runs of newlines; longer ones make Markdown parsers quadratic.
const mostBlankLines = 8

// cleanText returns text that is safe to store: valid UTF-8, newlines as \n, no control characters but tab and newline,
// no terminal sequences, no long runs of blank lines. Everything else stays, including bidirectional controls.
func cleanText(text string) string {
	if isClean(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	var out strings.Builder
	out.Grow(len(text))
	newlines := 0
	var lead []byte // white space before the text of the line, until there is text
	for i := 0; i < len(text); {
		r, width := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, width = utf8.DecodeRuneInString(text[i:])
		}
		if r == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
			continue
		}
		if r == 0x1B || r >= 0x80 && r < 0xA0 && r != 0x85 {
			i += escapeWidth(text[i:])
			continue
		}
		i += width
		switch {
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x85:
			if newlines++; newlines <= mostBlankLines {
				out.WriteByte('\n')
			}
			lead = lead[:0]
		case r == ' ' || r == '\t':
			if newlines > mostBlankLines {
				lead = append(lead, byte(r))
			} else {
				out.WriteByte(byte(r))
			}
		case unicode.IsControl(r):
		default:
			out.Write(lead)
			newlines, lead = 0, lead[:0]
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isClean reports whether cleanText would return text unchanged. It may return false for clean text.
func isClean(text string) bool {
	newlines, high := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			if newlines++; newlines > mostBlankLines {
				return false
			}
		case c == ' ' || c == '\t':
		case c < ' ' || c == 0x7F || c == 0xC2: // C1 controls are encoded with 0xC2
			return false
		default:
			newlines = 0
			high = high || c >= utf8.RuneSelf
		}
	}
	return !high || utf8.ValidString(text)
}

// escapeWidth is text.EscapeWidth within a line and longestEscape.
func escapeWidth(s string) int {
	s = s[:min(len(s), longestEscape)]
	if end := strings.IndexByte(s, '\n'); end >= 0 {
		s = s[:end]
	}
	return text.EscapeWidth(s)
}

// oneLine cleans a title, name or value: one line of at most most bytes, cut between characters.
func oneLine(s string, most int) string {
	s = cleanText(text.Clip(s, 4*most))
	if strings.ContainsAny(s, "\n\t") || strings.Contains(s, "  ") {
		s = text.OneLine(s)
	}
	return strings.TrimSpace(text.Clip(strings.TrimSpace(s), most))
}
