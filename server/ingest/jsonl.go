package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/server/index"

	"golang.org/x/text/encoding/unicode"
)

// longestLine bounds one line of JSONL, in bytes.
const longestLine = 16 << 20

var errLongLine = fmt.Errorf("the line is longer than %d MB", longestLine>>20)

// lineReader reads lines of bounded length from a stream of any length.
type lineReader struct {
	in    *bufio.Reader
	line  []byte
	utf16 string // byte order; empty: another encoding
}

// newLineReader reads UTF-8 or UTF-16; it returns the byte order if it was assumed. In other encodings newlines are as
// in ASCII, and lineDecoder decodes the lines.
func newLineReader(in io.Reader) (l *lineReader, assumed string) {
	const buffered, looked = 256 << 10, 4 << 10
	file := bufio.NewReaderSize(in, buffered)
	start, _ := file.Peek(looked)
	order, marked := "", false
	if len(start) > 1 {
		order, marked = marksOfUTF16[string(start[:2])]
	}
	if !marked && bytes.IndexByte(start, 0) >= 0 {
		order = unmarkedUTF16(start[:len(start)&^1], true)
		assumed = order
	}
	if order == "" {
		return &lineReader{in: file}, ""
	}
	endian := unicode.LittleEndian
	if order == "utf-16be" {
		endian = unicode.BigEndian
	}
	decoded := unicode.UTF16(endian, unicode.UseBOM).NewDecoder().Reader(file)
	return &lineReader{in: bufio.NewReaderSize(decoded, buffered), utf16: order}, assumed
}

// ahead returns what is buffered after the last line.
func (l *lineReader) ahead() []byte {
	rest, _ := l.in.Peek(min(l.in.Buffered(), detectionSample))
	return rest
}

// lineDecoder decodes the lines of one file. The first line that is not UTF-8 decides the encoding.
type lineDecoder struct {
	lines    *lineReader
	encoding string // assumed
	isUTF8   bool   // a line had valid non-ASCII UTF-8
}

func (d *lineDecoder) decode(line []byte) ([]byte, error) {
	if d.lines.utf16 != "" && bytes.Contains(line, replacement) {
		return nil, fmt.Errorf("it is not valid %s", d.lines.utf16)
	}
	if utf8.Valid(line) {
		d.isUTF8 = d.isUTF8 || d.encoding == "" && bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf })
		return line, nil
	}
	if d.isUTF8 {
		return nil, errors.New("it is not valid UTF-8")
	}
	if d.encoding == "" {
		encoding, err := detect(append(slices.Clip(line), d.lines.ahead()...))
		if err != nil {
			return nil, err
		}
		d.encoding = encoding
	}
	return decodeAs(line, d.encoding)
}

// next returns the next line without its newline, valid until the next call. After errLongLine the following line can
// be read.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	tooLong := false
	for {
		part, err := l.in.ReadSlice('\n')
		switch {
		case tooLong || len(l.line)+len(part) > longestLine+1:
			tooLong = true
		case err == nil && len(l.line) == 0:
			return bytes.TrimSuffix(part, []byte("\n")), nil
		default:
			l.line = append(l.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLongLine
		case errors.Is(err, io.EOF) && len(l.line) > 0:
			return l.line, nil
		case err != nil:
			return nil, err
		}
		return bytes.TrimSuffix(l.line, []byte("\n")), nil
	}
}

// parseLine parses an ingestion document, bare or as {"document":{…}}.
func parseLine(reader *markdownReader, line []byte, now time.Time) (index.Document, error) {
	var request struct {
		Document *wire.IngestionDocument `json:"document"`
		wire.IngestionDocument
	}
	if err := wire.Unmarshal(line, &request); err != nil {
		return index.Document{}, fmt.Errorf("not an ingestion document: %w", err)
	}
	document := request.IngestionDocument
	if request.Document != nil {
		document = *request.Document
	}
	if document.Sections == nil {
		return index.Document{}, errors.New("not an ingestion document: it has no sections")
	}
	return fromIngestion(reader, document, now)
}
