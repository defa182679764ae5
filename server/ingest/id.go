package ingest

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fileID is the id of the document that a file becomes. What cannot be shown of its name is escaped, and so is a percent
// sign that would read like such an escape, so that no two files have one id.
func fileID(file string) string { return "file:" + escapePath(file) }

// originOf is the origin under which the documents of a file are stored, which must be UTF-8.
func originOf(file string) string {
	if utf8.ValidString(file) {
		return file
	}
	return escapePath(file)
}

func escapePath(file string) string {
	return escapeHidden(file, true)
}

// escapeID is an id that was sent, fit to be shown and read back. An id that was escaped before stays as it is.
func escapeID(id string) string { return escapeHidden(id, false) }

// escapeHidden writes what programs drop or change before they show text as bytes of percent signs and two digits, as in
// URLs, and with percents also each percent sign that reads like such an escape.
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

// isHidden names the characters that show nothing, or change how others are shown. Joiners are kept: words of some
// languages are spelt with them.
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

// readsAsEscape reports whether text begins like something that escapeHidden may have written.
func readsAsEscape(text string) bool {
	if len(text) < 3 || text[1:3] != strings.ToUpper(text[1:3]) {
		return false
	}
	b, err := hex.DecodeString(text[1:3])
	return err == nil && (b[0] < ' ' || b[0] >= 0x7F || b[0] == '%')
}
