package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
)

// longestLine bounds one line of JSONL, in bytes.
const longestLine = 16 << 20

var errLongLine = fmt.Errorf("the line is longer than %d MB", longestLine>>20)

// lineReader reads lines of bounded length from a stream of any length.
type lineReader struct {
	in   *bufio.Reader
	line []byte
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 256<<10)}
}

// next returns the next line without its newline, valid until the next call. The line after one of errLongLine can be
// read as usual.
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

// parseLine reads an ingestion document, bare or as {"document":{…}}.
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
