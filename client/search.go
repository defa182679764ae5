package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"quarry/client/wire"
)

const searchPath = "/search"

const timeFormat = time.RFC3339Nano

func now() time.Time { return time.Now() }

// Search runs a search. The response is complete for every server: unsupported fields are empty, the results obey
// NumResults and TimeUntil, and Notes lists ignored filters.
func (c *Client) Search(ctx context.Context, request wire.SearchRequest) (*wire.SearchResponse, error) {
	_, response, err := c.search(ctx, request)
	return response, err
}

// SearchRaw is Search that also returns the server's own body, in its order, with all text sanitised.
func (c *Client) SearchRaw(ctx context.Context, request wire.SearchRequest) (json.RawMessage, *wire.SearchResponse,
	error) {
	body, response, err := c.search(ctx, request)
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

func (c *Client) search(ctx context.Context, request wire.SearchRequest) ([]byte, *wire.SearchResponse, error) {
	request.Stream = false
	request = withCutoff(request, now())
	a, err := c.open(ctx, searchCall(request))
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	body, err := a.read()
	if err != nil {
		return nil, nil, err
	}
	response, err := c.decodeSearch(a, body, request)
	return body, response, err
}

func searchCall(request wire.SearchRequest) call {
	r := post(searchPath, request)
	r.limit, r.timeout, r.stream = maxSearchBytes, searchTimeout, request.Stream
	return r
}

// decodeSearch decodes and completes the response of a search.
func (c *Client) decodeSearch(a *answer, body []byte, request wire.SearchRequest) (*wire.SearchResponse, error) {
	var envelope searchEnvelope
	if err := unmarshal(body, &envelope); err != nil {
		return nil, a.notJSON(err)
	}
	response, err := c.complete(&envelope, request)
	if err != nil {
		return nil, a.notJSON(err)
	}
	return response, nil
}

// searchEnvelope distinguishes absent lists from empty ones: results are required, and stages identify a quarry server.
type searchEnvelope struct {
	wire.SearchResponse
	Results *[]wire.SearchResult `json:"results"`
	Stages  *[]wire.Stage        `json:"stages"`
}

var errNoResults = errors.New("it has no results")

// complete sanitises a decoded response and fills in missing fields.
func (c *Client) complete(envelope *searchEnvelope, request wire.SearchRequest) (*wire.SearchResponse, error) {
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
		adapt(response, request)
	}
	if len(response.Searched) == 0 && c.options.Profile != "" {
		response.Searched = []string{c.options.Profile}
	}
	for i := range response.Results {
		if response.Results[i].Origin == "" {
			response.Results[i].Origin = c.options.Profile
		}
	}
	response.FillEmpty()
	return response, nil
}
