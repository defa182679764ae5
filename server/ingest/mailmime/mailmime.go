// Package mailmime reads the parts of messages as mail programs do: what RFC 2045 to 2047, 2231, 3676 and 5322 say, and
// beyond that whatever programs send. A message is read in these steps: SplitHeader, ParseField for its type, Parts,
// and of each part DecodeTransfer and Decode, whose results are those for the valid rest where something is damaged.
package mailmime

import (
	"bytes"
	"iter"
	"net/mail"
	"net/textproto"
	"strings"

	"quarry/internal/pattern"
)

const longestHeader = 1 << 20 // bytes

// SplitHeader returns the header and the body of a message or part. Lines that are no fields are left out; a part that
// does not begin with a field has no header. Of fields with one name all are in the header, in their order.
func SplitHeader(data []byte) (header mail.Header, body []byte) {
	header = mail.Header{}
	var name string
	var value []byte
	flush := func() {
		if name != "" {
			header[name] = append(header[name], string(value))
		}
		name, value = "", value[:0]
	}
	rest := data
	for len(rest) > 0 && len(data)-len(rest) < longestHeader {
		line, after := cutLine(rest)
		field, text, isField := bytes.Cut(line, []byte(":"))
		field = bytes.TrimRight(field, " \t")
		isField = isField && len(field) > 0 &&
			bytes.IndexFunc(field, func(r rune) bool { return r <= ' ' || r >= 0x7F }) < 0
		switch isFirst := len(rest) == len(data); {
		case len(line) == 0:
			flush()
			return header, after
		case isFirst && !isField:
			return header, data
		case line[0] == ' ' || line[0] == '\t':
			value = append(append(value, ' '), bytes.TrimSpace(line)...)
		default:
			flush()
			if isField {
				name = textproto.CanonicalMIMEHeaderKey(string(field))
				value = append(value, bytes.TrimSpace(text)...)
			}
		}
		rest = after
	}
	flush()
	return header, rest
}

// cutLine returns the first line without its end, and the rest.
func cutLine(data []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(data, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

// Parts yields the parts of a multipart body, the last one also where the message is cut off. If there is none with the
// boundary, which programs and gateways damage, the first line that looks like one counts.
func Parts(body []byte, boundary string) iter.Seq[[]byte] {
	mark := []byte("--" + strings.TrimRight(boundary, " \t\r\n"))
	if boundary == "" || !bytes.Contains(body, mark) {
		mark = likelyMark().Find(body)
	}
	mark = bytes.TrimSpace(mark)
	return func(yield func([]byte) bool) {
		if len(mark) < 3 {
			return
		}
		start := -1
		for at := 0; at < len(body); {
			line, rest := cutLine(body[at:])
			end := bytes.TrimRight(bytes.TrimPrefix(line, mark), " \t")
			isMark := bytes.HasPrefix(line, mark) && (len(end) == 0 || string(end) == "--")
			if isMark && start >= 0 && !yield(withoutLastEnd(body[start:at])) {
				return
			}
			at = len(body) - len(rest)
			switch {
			case isMark && len(end) == 0:
				start = at
			case isMark: // what follows the last part is for nobody
				start = -1
			}
		}
		if start >= 0 {
			yield(body[start:])
		}
	}
}

var likelyMark = pattern.Lazy(`(?m)^--[^\s<>]{1,200}[ \t]*\r?$`)

// withoutLastEnd removes the line end before a boundary, which belongs to it.
func withoutLastEnd(part []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))
}

// Unflow joins the lines of text with format=flowed (RFC 3676): a line that ends with a space goes on in the next one
// of the same depth of quotes. With delsp the space is not part of the text.
func Unflow(text string, delsp bool) string {
	var out strings.Builder
	depth, isOpen := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		body := strings.TrimLeft(line, ">")
		quotes := line[:len(line)-len(body)]
		body = strings.TrimPrefix(body, " ") // stuffed
		isSignature := body == "-- "
		if isOpen && (quotes != depth || isSignature) {
			out.WriteByte('\n')
			isOpen = false
		}
		if !isOpen && quotes != "" {
			out.WriteString(quotes + " ")
		}
		isOpen, depth = strings.HasSuffix(body, " ") && !isSignature, quotes
		if isOpen && delsp {
			body = body[:len(body)-1]
		}
		out.WriteString(body)
		if !isOpen {
			out.WriteByte('\n')
		}
	}
	return out.String()
}
