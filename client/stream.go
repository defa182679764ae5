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

// SearchStream is Search that reports on the way: each stage as it starts and ends, rankings as soon as there are
// some, and last the answer, which it also returns. A server that does not stream gives the answer alone. The function
// is called from this goroutine and may be nil; an error that the stream tells is returned, not reported.
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

// searchLine is a search event whose response is told apart from a bare Onyx's.
type searchLine struct {
	wire.SearchEvent
	Response *searchEnvelope `json:"response"`
}

// readSearch reads events until the last one.
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

// isStream tells whether the answer is lines of JSON.
func (a *answer) isStream() bool {
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return err == nil && media == wire.MediaTypeNDJSON
}

// lines hands over each line of the answer until one is the last. A stream without a last line is broken.
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
			return a.unusable(fmt.Sprintf("a stream that broke off after %d bytes, before its end", received),
				"try again; if it stays, check the proxies before the server")
		default:
			return a.broken(err, received)
		}
	}
}

// readLine reads a line with its end, or what there is before the stream ends.
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

// streamError is the failure that a stream tells in its last line.
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
