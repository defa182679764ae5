package paint

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/theme"
)

// Marked styles a text with base, and with match inside the spans (sorted byte offsets of s). Spans outside of the text
// are ignored. Each line is styled by itself.
func Marked(s string, spans []wire.Span, base, match theme.Style) string {
	var out strings.Builder
	const longestStyle = 28 // bytes before and after a piece
	out.Grow(len(s) + (1+2*len(spans))*longestStyle)
	at := 0
	for _, span := range spans {
		from, to := max(span[0], at), min(span[1], len(s))
		if from >= to {
			continue
		}
		writeLines(&out, s[at:from], base)
		writeLines(&out, s[from:to], match)
		at = to
	}
	writeLines(&out, s[at:], base)
	return out.String()
}

func writeLines(out *strings.Builder, s string, style theme.Style) {
	for {
		line, rest, more := strings.Cut(s, "\n")
		out.WriteString(style.Render(line))
		if !more {
			return
		}
		out.WriteByte('\n')
		s = rest
	}
}

// maxLink is the length of the longest address that becomes a link, in bytes: terminals ignore longer ones.
const maxLink = 2048

// Hyperlink makes a text an OSC 8 link if the address is http, https, mailto or file, and returns the text alone
// otherwise.
func Hyperlink(address, text string) string {
	parsed, err := url.Parse(address)
	if err != nil || len(address) > maxLink || text == "" {
		return text
	}
	switch parsed.Scheme {
	case "http", "https":
		if parsed.Host == "" {
			return text
		}
	case "mailto", "file":
	default:
		return text
	}
	return ansi.SetHyperlink(asciiOnly(address)) + text + ansi.ResetHyperlink()
}

// asciiOnly percent-encodes all bytes that are not printable ASCII.
func asciiOnly(address string) string {
	var out strings.Builder
	for at := range len(address) {
		c := address[at]
		if c > ' ' && c < 0x7f {
			out.WriteByte(c)
			continue
		}
		_, _ = fmt.Fprintf(&out, "%%%02X", c)
	}
	return out.String()
}

// WithoutHyperlinks removes the links made by Hyperlink and keeps their text.
func WithoutHyperlinks(text string) string {
	parts := strings.Split(text, "\x1b]8;")
	for i, part := range parts[1:] {
		_, parts[i+1], _ = strings.Cut(part, "\a")
	}
	return strings.Join(parts, "")
}
