// Package mbox finds the messages of mbox files of any size: mboxo, mboxrd, mboxcl and mboxcl2, with LF or CRLF.
package mbox

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"quarry/internal/guard"
)

const (
	window = 256 << 10 // bytes read at once
	looked = 4 << 10   // bytes that show whether a line separates messages
	// longestHeader bounds the header in which the length of a message is looked for.
	longestHeader = 64 << 10
)

// Message is the place of a message in a file.
type Message struct {
	Line       string // before it, with its sender and the time of its delivery
	Start, End int64  // of its header and body
}

var separator = []byte("\nFrom ")

// Is reports whether a file that starts so is an mbox file.
func Is(start []byte) bool {
	start = bytes.TrimLeft(start, "\r\n")
	return bytes.HasPrefix(start, separator[1:]) && separates(start, true)
}

// Split calls use with the messages of a file of size bytes. What is before the first one is left out. It returns an
// error that aborts use, too.
func Split(file io.ReaderAt, size int64, use func(Message)) error {
	return guard.Ended(func() {
		s := &splitter{file: file, size: size, buffer: make([]byte, window)}
		for at := s.next(0); at < size; {
			line, _, _ := bytes.Cut(s.read(at, looked), separator[:1])
			m := Message{Line: string(line), Start: min(at+int64(len(line))+1, size)}
			if at = s.end(m.Start); at > m.Start {
				m.End = at
				use(m)
			}
		}
	})
}

type splitter struct {
	file   io.ReaderAt
	size   int64
	buffer []byte
	data   []byte // of the file, from start
	start  int64
}

// read returns the bytes of the file from at that are in memory: at least n, but at its end.
func (s *splitter) read(at int64, n int) []byte {
	needed := min(at+int64(n), s.size)
	if at < s.start || needed > s.start+int64(len(s.data)) {
		length, err := s.file.ReadAt(s.buffer[:min(int64(len(s.buffer)), s.size-at)], at)
		if !errors.Is(err, io.EOF) {
			guard.Check(err)
		}
		if s.start, s.data = at, s.buffer[:length]; at+int64(length) < needed {
			guard.Abort(io.ErrUnexpectedEOF) // the file was cut while it was read
		}
	}
	return s.data[at-s.start:]
}

// next returns the start of the first line at or after from that separates messages, or the size.
func (s *splitter) next(from int64) int64 {
	const context = 3 // bytes that show whether a line follows a blank one
	for at := max(0, from-context); ; {
		data := s.read(at, looked)
		line := at + int64(bytes.Index(data, separator)) + 1
		switch {
		case at == 0 && bytes.HasPrefix(data, separator[1:]):
			line = 0
		case line == at && at+int64(len(data)) >= s.size:
			return s.size
		case line == at:
			at += int64(max(1, len(data)-len(separator)-context))
			continue
		}
		before := min(line, int64(context))
		data = s.read(line-before, looked)
		if line >= from && separates(data[before:], isBlank(data[:before])) {
			return line
		}
		at = max(line, at+1)
	}
}

// isBlank reports whether the line that ends here is empty, or there is none.
func isBlank(before []byte) bool {
	before = bytes.TrimSuffix(bytes.TrimSuffix(before, []byte("\n")), []byte("\r"))
	return len(before) == 0 || before[len(before)-1] == '\n'
}

// end returns the end of the message at start: that of its length, if one is declared and true, else the next line that
// separates messages.
func (s *splitter) end(start int64) int64 {
	data := s.read(start, longestHeader)
	if header, length := declared(data); length > 0 && length <= s.size-start-int64(header) {
		end := start + int64(header) + length
		data := s.read(end-1, looked)
		rest := bytes.TrimLeft(data[1:], "\r\n")
		atLine := data[0] == '\n' || len(rest) < len(data)-1
		if end == s.size || atLine && bytes.HasPrefix(rest, separator[1:]) && separates(rest, true) {
			return end + int64(len(data)-1-len(rest))
		}
	}
	return s.next(start)
}

// declared returns the length of the header at the start of data, and that of the body as the header declares it, or 0.
func declared(data []byte) (header int, length int64) {
	data = data[:min(len(data), longestHeader)]
	for header < len(data) {
		line, _, _ := bytes.Cut(data[header:], separator[:1])
		header = min(header+len(line)+1, len(data))
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
			return header, length
		}
		if name, value, found := bytes.Cut(line, []byte(":")); found &&
			bytes.EqualFold(name, []byte("Content-Length")) {
			length, _ = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		}
	}
	return header, 0
}

// separates reports whether data, which starts with "From ", separates messages: the line has a time and a year, or
// what follows is clearly a header.
func separates(data []byte, afterBlank bool) bool {
	const longestLine = 1000
	line, rest, whole := bytes.Cut(data[:min(len(data), looked)], separator[:1])
	if len(line) > longestLine {
		return false
	}
	name, _, isField := bytes.Cut(rest, []byte(":"))
	isField = isField && len(name) > 0 && !bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7F })
	known := isField && slices.ContainsFunc(usualFields, func(usual string) bool {
		return strings.HasPrefix(strings.ToLower(string(name)), usual)
	})
	switch isDated := isDated(string(line)); {
	case !isDated:
		return afterBlank && known && whole
	case afterBlank:
		return isField || len(rest) == 0
	}
	return known
}

// usualFields are the beginnings of the names with which the headers of messages begin.
var usualFields = strings.Fields(`return-path received delivered-to envelope-to x- date from to subject message-id
	mime-version content- status reply-to sender dkim- arc- authentication-results list-`)

// isDated reports whether a line has a time of day and a year.
func isDated(line string) bool {
	var hasTime, hasYear bool
	for field := range strings.FieldsSeq(line) {
		hour, rest, isTime := strings.Cut(field, ":")
		hasTime = hasTime || isTime && isNumber(hour) && len(hour) <= 2 && len(rest) >= 2 && isNumber(rest[:2])
		hasYear = hasYear || len(field) == 4 && isNumber(field)
	}
	return hasTime && hasYear
}

func isNumber(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

// Unquote removes the quoting of lines that begin with "From ", from a message of an mbox file. Messages with such a
// line are not quoted.
func Unquote(message []byte) []byte {
	if !bytes.Contains(message, []byte("\n>")) || bytes.Contains(message, separator) {
		return message
	}
	kept := message[:0]
	for line := range bytes.Lines(message) {
		if quoted := bytes.TrimLeft(line, ">"); len(quoted) < len(line) && bytes.HasPrefix(quoted, separator[1:]) {
			line = line[1:]
		}
		kept = append(kept, line...)
	}
	return kept
}
