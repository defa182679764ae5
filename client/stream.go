package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"quarry/client/wire"
)

var errLineTooLong = errors.New("line too long")

// SearchStream is Search with progress: it calls report, which may be nil, in this goroutine with the start and end of
// each stage, with provisional results, and last with the response, which it also returns. For a server that does not
// stream, only the response is reported. An error event is returned, not reported.
func (c *Client) SearchStream(ctx context.Context, request wire.SearchRequest,
	report func(wire.SearchEvent)) (*wire.SearchResponse, error) {
	request.Stream = true
	request = withCutoff(request, now())
	if report == nil {
		report = func(wire.SearchEvent) {}
	}
	a, err := c.open(ctx, searchCall(request))
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if a.isStream() {
		return c.readSearch(a, request, report)
	}
	body, err := a.read()
	if err != nil {
		return nil, err
	}
	response, err := c.decodeSearch(a, body, request)
	if err != nil {
		return nil, err
	}
	report(wire.SearchEvent{Type: wire.EventFinal, Response: response})
	return response, nil
}

// searchLine is a search event whose response is decoded as a searchEnvelope.
type searchLine struct {
	wire.SearchEvent
	Response *searchEnvelope `json:"response"`
}

// readSearch reads events up to the last one.
func (c *Client) readSearch(a *answer, request wire.SearchRequest, report func(wire.SearchEvent)) (*wire.SearchResponse,
	error) {
	var final *wire.SearchResponse
	err := a.lines(func(text []byte) (last bool, err error) {
		var line searchLine
		if err := unmarshal(text, &line); err != nil {
			return false, a.notJSON(err)
		}
		event := line.SearchEvent
		sanitizeValue(&event, c.options.Local)
		switch event.Type {
		case wire.EventError:
			return false, a.streamError(event.ErrorCode, event.Detail)
		case wire.EventProvisional, wire.EventFinal:
			if line.Response == nil {
				return false, a.notJSON(errNoResults)
			}
			if event.Response, err = c.complete(line.Response, request); err != nil {
				return false, a.notJSON(err)
			}
		}
		if event.Type == wire.EventFinal {
			final = event.Response
		}
		report(event)
		return final != nil, nil
	})
	return final, err
}

// isStream reports whether the response is lines of JSON.
func (a *answer) isStream() bool {
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return err == nil && media == wire.MediaTypeNDJSON
}

// lines calls each with the lines of the response until it reports the last one. A stream that ends before is broken.
func (a *answer) lines(each func(line []byte) (last bool, err error)) error {
	reader := bufio.NewReaderSize(a.Body, 64<<10)
	received := 0
	for {
		line, err := readLine(reader, int(a.limit))
		received += len(line)
		if text := bytes.TrimSpace(line); len(text) > 0 && (err == nil || err == io.EOF) {
			last, failure := each(text)
			if failure != nil || last {
				return failure
			}
		}
		switch {
		case err == nil:
		case err == errLineTooLong:
			return a.tooLong()
		case err == io.EOF:
			return a.unusable(fmt.Sprintf("a stream that ended early, after %d bytes", received),
				"try again; if it fails again, check the proxies in front of the server")
		default:
			return a.broken(err, received)
		}
	}
}

// readLine reads a line with its end, or the rest of the stream.
func readLine(reader *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errLineTooLong
		}
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// streamError returns the error of a stream's error event.
func (a *answer) streamError(code, detail string) *Error {
	e := &Error{Status: statusOfCode(code), Code: shorten(code), Reason: shorten(detail)}
	e.Kind = kindOfStatus(e.Status)
	if e.Reason == "" {
		e.Reason = e.Code
	}
	if e.Reason == "" {
		e.Reason = http.StatusText(e.Status)
	}
	return a.named(e)
}
