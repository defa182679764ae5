package ingest

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fileID returns the id of a file's document. Hidden characters in its name are escaped, and so are percent signs that
// look like such an escape: no two files have one id.
func fileID(file string) string { return "file:" + escapePath(file) }

// originOf returns the origin of a file's documents, which must be UTF-8.
func originOf(file string) string {
	if utf8.ValidString(file) {
		return file
	}
	return escapePath(file)
}

func escapePath(file string) string {
	return escapeHidden(file, true)
}

// escapeID returns a posted id without hidden characters. An id that was escaped before stays the same.
func escapeID(id string) string { return escapeHidden(id, false) }

// escapeHidden escapes the bytes of hidden characters with percent signs and two digits, as in URLs, and with percents
// also the percent signs that look like such an escape.
func escapeHidden(text string, percents bool) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRuneInString(text[i:])
		piece := text[i : i+width]
		if r == utf8.RuneError && width == 1 || isHidden(r) || percents && r == '%' && readsAsEscape(text[i:]) {
			for _, b := range []byte(piece) {
				fmt.Fprintf(&out, "%%%02X", b)
			}
		} else {
			out.WriteString(piece)
		}
		i += width
	}
	return out.String()
}

// isHidden reports whether a character is invisible or changes how others are shown. Joiners are not hidden: some
// languages are spelled with them.
func isHidden(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner, softHyphen = 0x200C, 0x200D, 0xAD
	switch {
	case r == zeroWidthNonJoiner || r == zeroWidthJoiner || r == softHyphen:
		return false
	case r >= 0xE0000 && r <= 0xE007F: // tags, assigned or not
		return true
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// readsAsEscape reports whether text begins like the output of escapeHidden.
func readsAsEscape(text string) bool {
	if len(text) < 3 || text[1:3] != strings.ToUpper(text[1:3]) {
		return false
	}
	b, err := hex.DecodeString(text[1:3])
	return err == nil && (b[0] < ' ' || b[0] >= 0x7F || b[0] == '%')
}
