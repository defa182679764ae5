package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"quarry/client/field"
	"quarry/client/wire"
)

const searchPath = "/search"

// Search runs a search. The response is complete for every server: unsupported fields are empty, the results obey
// NumResults and TimeUntil, and Notes lists ignored filters.
func (c *Client) Search(ctx context.Context, request wire.SearchRequest) (*wire.SearchResponse, error) {
	request.Stream = false
	_, response, err := c.search(ctx, request, nil, false)
	return response, err
}

// SearchRaw is Search that also returns the server's own body, in its order, with all text sanitised.
func (c *Client) SearchRaw(ctx context.Context, request wire.SearchRequest) (json.RawMessage, *wire.SearchResponse,
	error) {
	request.Stream = false
	body, response, err := c.search(ctx, request, nil, true)
	if err != nil {
		return nil, nil, err
	}
	raw, err := sanitizeRaw(body)
	if err != nil {
		return nil, nil, &Error{Kind: Server, Method: http.MethodPost, Path: searchPath, Status: http.StatusOK,
			Reason: "the server sent a response that is not JSON (" + shorten(err.Error()) + ")", cause: err}
	}
	return raw, response, nil
}

// SearchStream is Search with progress: it calls report, which may be nil, in this goroutine with the start and end of
// each stage, with provisional results, and last with the response, which it also returns. For a server that does not
// stream, only the response is reported. An error event is returned, not reported.
func (c *Client) SearchStream(ctx context.Context, request wire.SearchRequest,
	report func(wire.SearchEvent)) (*wire.SearchResponse, error) {
	request.Stream = true
	_, response, err := c.search(ctx, request, report, false)
	return response, err
}

// search returns the response and, if it is needed and was not streamed, its body.
func (c *Client) search(ctx context.Context, request wire.SearchRequest, report func(wire.SearchEvent),
	needsBody bool) (
	body []byte, response *wire.SearchResponse, err error) {
	if report == nil {
		report = func(wire.SearchEvent) {}
	}
	o, err := c.prepare(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	if o.nothing {
		if response, err = c.complete(&searchEnvelope{Results: new([]wire.SearchResult{})}, o); err == nil {
			report(wire.SearchEvent{Type: wire.EventFinal, Response: response})
		}
		return []byte(`{"results":[]}`), response, err
	}
	r := post(searchPath, o.request)
	r.limit, r.timeout, r.stream = maxSearchBytes, searchTimeout, request.Stream
	a, err := c.open(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	if request.Stream && a.isStream() {
		response, err = c.readSearch(a, o, report)
		return nil, response, err
	}
	var envelope searchEnvelope
	if needsBody || !a.take(&envelope.SearchResponse) {
		if body, err = a.read(); err != nil {
			return nil, nil, err
		}
		err = unmarshal(body, &envelope)
	} else {
		envelope.Results, envelope.Stages = present(envelope.SearchResponse.Results),
			present(envelope.SearchResponse.Stages)
	}
	if err == nil {
		response, err = c.complete(&envelope, o)
	}
	if err != nil {
		return nil, nil, a.notJSON(err)
	}
	report(wire.SearchEvent{Type: wire.EventFinal, Response: response})
	return body, response, nil
}

// searchEnvelope distinguishes absent lists from empty ones: results are required, and stages identify a quarry server.
type searchEnvelope struct {
	wire.SearchResponse
	Results *[]wire.SearchResult `json:"results"`
	Stages  *[]wire.Stage        `json:"stages"`
}

// present returns where a list is, or nil for one that JSON would lack.
func present[T any](list []T) *[]T {
	if list == nil {
		return nil
	}
	return &list
}

var errNoResults = errors.New("it has no results")

// complete sanitises a decoded response and fills in missing fields.
func (c *Client) complete(envelope *searchEnvelope, o outgoing) (*wire.SearchResponse, error) {
	if envelope.Results == nil {
		return nil, errNoResults
	}
	response := &envelope.SearchResponse
	response.Results = *envelope.Results
	if envelope.Stages != nil {
		response.Stages = *envelope.Stages
	}
	sanitizeValue(response, c.options.Local)
	if envelope.Stages == nil {
		for i := range response.Results {
			response.Results[i].Place = field.PlaceOfResult(response.Results[i])
		}
	}
	o.filter(response)
	if envelope.Stages == nil {
		adapt(response, o.asked)
	}
	o.sort(response)
	if len(response.Searched) == 0 && c.options.Profile != "" {
		response.Searched = []string{c.options.Profile}
	}
	known := response.Matched != wire.Matched{} // else the server does not say what matches, or nothing does
	if !response.Counted() {
		response.Notes = append(response.Notes, wire.Note{Code: wire.NoteEstimated,
			Text: "totals and facets are estimates: this server counts what it lists, too"})
	}
	for i := range response.Results {
		r := &response.Results[i]
		r.Matches = r.Matches || !known
		r.Partial = r.Matches && isShort(response) && slices.ContainsFunc(r.Missing, response.HasElsewhere)
		r.Origin = cmp.Or(r.Origin, c.options.Profile)
	}
	wire.FillEmpty(response)
	return response, nil
}

// isShort reports whether the words that a document lacks tell it from others: of a long question nearly each lacks
// some.
func isShort(response *wire.SearchResponse) bool {
	const words = 3
	return response.Matched.Level == "all" ||
		len(response.Queries) > 0 && len(strings.Fields(response.Queries[0].Query)) <= words
}

var errLineTooLong = errors.New("line too long")

// searchLine is a search event whose response is decoded as a searchEnvelope.
type searchLine struct {
	wire.SearchEvent
	Response *searchEnvelope `json:"response"`
}

// readSearch reads events up to the last one.
func (c *Client) readSearch(a *answer, o outgoing, report func(wire.SearchEvent)) (*wire.SearchResponse, error) {
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
			if event.Response, err = c.complete(line.Response, o); err != nil {
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
			return a.tooLong(a.limit)
		case err == io.EOF:
			return a.unusable(fmt.Sprintf("a stream that ended early, after %d bytes", received))
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
	status := wire.StatusOf(code)
	code = shorten(code)
	return a.named(&Error{Kind: kindOfStatus(status), Status: status, Code: code,
		Reason: cmp.Or(shorten(detail), code, http.StatusText(status))})
}

// withCutoff replaces a number of days by the time that Onyx understands. An invalid number, or both at once, is left
// for the server to reject.
func withCutoff(request wire.SearchRequest, now time.Time) wire.SearchRequest {
	days := request.TimeCutoffDays
	if days == nil || request.TimeCutoff != nil || *days < 1 || *days > wire.MaxTimeCutoffDays {
		return request
	}
	request.TimeCutoff = &wire.Time{Time: now.UTC().AddDate(0, 0, -*days)}
	request.TimeCutoffDays = nil
	return request
}
