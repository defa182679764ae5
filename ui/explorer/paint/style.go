package paint

import (
	"fmt"
	"net/url"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
)

// Pen is a style as the sequences before and after a text. It is much faster than lipgloss.Style.Render, for styles of
// colour and weight only.
type Pen struct{ before, after string }

func PenOf(style lipgloss.Style) Pen {
	before, after, _ := strings.Cut(style.Render("x"), "x")
	return Pen{before, after}
}

// Write styles a text of one line; "" stays empty.
func (p Pen) Write(s string) string {
	if s == "" || p.before == "" {
		return s
	}
	return p.before + s + p.after
}

// Marked styles a text with base, and with match inside the spans (sorted byte offsets of s). Spans outside of the text
// are ignored. Each line is styled by itself.
func Marked(s string, spans []wire.Span, base, match Pen) string {
	var out strings.Builder
	out.Grow(len(s) + len(base.before) + len(base.after) + len(spans)*
		(len(base.before)+len(base.after)+len(match.before)+len(match.after)))
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

func writeLines(out *strings.Builder, s string, pen Pen) {
	for {
		line, rest, more := strings.Cut(s, "\n")
		out.WriteString(pen.Write(line))
		if !more {
			return
		}
		out.WriteByte('\n')
		s = rest
	}
}

// Under adds a style to a styled line, such as the background of a selected row: it is restored wherever the line
// resets its own styles.
func Under(line string, style lipgloss.Style) string {
	pen := PenOf(style)
	for _, reset := range []string{"\x1b[m", "\x1b[0m"} {
		line = strings.ReplaceAll(line, reset, reset+pen.before)
	}
	return pen.Write(line)
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
