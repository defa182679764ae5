package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
)

// Personas lists the agents that the caller may use.
func (c *Client) Personas(ctx context.Context) ([]wire.Persona, error) {
	return listed[wire.Persona](ctx, c, get("/persona", nil))
}

// Persona returns one agent; for an unknown or hidden one the error is NotAvailable.
func (c *Client) Persona(ctx context.Context, id int) (*wire.FullPersona, error) {
	return fetched[wire.FullPersona](ctx, c, get(fmt.Sprintf("/persona/%d", id), nil))
}

// IndexedSources lists the source types that the server has documents from.
func (c *Client) IndexedSources(ctx context.Context) ([]string, error) {
	found, err := fetched[wire.IndexedSources](ctx, c, get("/manage/indexed-sources", nil))
	if err != nil {
		return nil, err
	}
	return append([]string{}, found.Sources...), nil
}

// ConnectorStatus lists the connectors whose documents the caller may see.
func (c *Client) ConnectorStatus(ctx context.Context) ([]wire.ConnectorStatus, error) {
	return listed[wire.ConnectorStatus](ctx, c, get("/manage/connector-status", nil))
}

// DocumentSets lists the document sets that the caller may search.
func (c *Client) DocumentSets(ctx context.Context) ([]wire.DocumentSet, error) {
	return listed[wire.DocumentSet](ctx, c, get(documentSetsPath, nil))
}

// Federated lists the sources that are searched at query time.
func (c *Client) Federated(ctx context.Context) ([]wire.FederatedConnection, error) {
	return listed[wire.FederatedConnection](ctx, c, get("/federated", nil))
}

// ValidTags lists tags whose key or value match; "key=value" must match in both. With prefix, what begins with match
// matches, otherwise only what equals it. A limit of zero leaves the number to the server.
func (c *Client) ValidTags(ctx context.Context, match string, prefix bool, limit int) ([]wire.SourceTag, error) {
	tags, err := c.validTags(ctx, match, prefix, limit)
	if err != nil && !prefix && KindOf(err) == Server {
		// Onyx fails on anything but prefixes.
		tags, err = c.validTags(ctx, match, true, limit)
	}
	if err != nil {
		return nil, err
	}
	wanted := []wire.SourceTag{}
	for _, tag := range tags {
		if prefix || match == "" || tagEquals(tag, match) {
			wanted = append(wanted, tag)
		}
	}
	return wanted, nil
}

func (c *Client) validTags(ctx context.Context, match string, prefix bool, limit int) ([]wire.SourceTag, error) {
	query := url.Values{"allow_prefix": {strconv.FormatBool(prefix)}}
	if match != "" {
		query.Set("match_pattern", match)
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	found, err := fetched[wire.ValidTags](ctx, c, get("/query/valid-tags", query))
	if err != nil {
		return nil, err
	}
	return found.Tags, nil
}

func tagEquals(tag wire.SourceTag, match string) bool {
	key, value, both := strings.Cut(match, "=")
	if both {
		return strings.EqualFold(tag.Key, key) && strings.EqualFold(tag.Value, value)
	}
	return strings.EqualFold(tag.Key, match) || strings.EqualFold(tag.Value, match)
}

// Suggest returns words and titles that start with a prefix. A bare Onyx has no such route: NotAvailable.
func (c *Client) Suggest(ctx context.Context, prefix string, limit int) (*wire.Suggestions, error) {
	query := url.Values{"prefix": {prefix}}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return fetched[wire.Suggestions](ctx, c, get("/search/suggest", query))
}

// Facets counts the documents that match the filters of a request, by field; its query is ignored. A bare Onyx has no
// such route: NotAvailable.
func (c *Client) Facets(ctx context.Context, request wire.SearchRequest) (*wire.FacetCounts, error) {
	request = withCutoff(request, now())
	query := url.Values{
		"sources":        request.Sources,
		"document_sets":  request.DocumentSets,
		"authors":        request.Authors,
		"document_types": request.DocumentTypes,
	}
	for _, tag := range request.Tags {
		query.Add("tags", tag.Key+"="+tag.Value)
	}
	setTime(query, "time_cutoff", request.TimeCutoff)
	setTime(query, "time_until", request.TimeUntil)
	setNumber(query, "time_cutoff_days", request.TimeCutoffDays)
	setNumber(query, "persona_id", request.PersonaID)
	counts, err := fetched[wire.FacetCounts](ctx, c, get("/search/facets", query))
	if err != nil {
		return nil, err
	}
	wire.FillEmpty(counts)
	return counts, nil
}

func setTime(query url.Values, name string, moment *wire.Time) {
	if moment != nil {
		query.Set(name, moment.UTC().Format(timeFormat))
	}
}

func setNumber(query url.Values, name string, number *int) {
	if number != nil {
		query.Set(name, strconv.Itoa(*number))
	}
}

// Ingest stores one document in the server's index, replacing an earlier one with the same id.
func (c *Client) Ingest(ctx context.Context, request wire.IngestionRequest) (*wire.IngestionResponse, error) {
	return fetched[wire.IngestionResponse](ctx, c, post("/onyx-api/ingestion", request))
}

// CreateToken creates an access token. Its secret is only in this response.
func (c *Client) CreateToken(ctx context.Context, request wire.AccessTokenRequest) (*wire.NewAccessToken, error) {
	return fetched[wire.NewAccessToken](ctx, c, post("/user/pats", request))
}

// DeleteToken revokes one of the caller's own access tokens; for an unknown one the error is NotAvailable.
func (c *Client) DeleteToken(ctx context.Context, id int) error {
	r := get(fmt.Sprintf("/user/pats/%d", id), nil)
	r.method = http.MethodDelete
	var said map[string]any
	return c.fetch(ctx, r, &said)
}

// SourceName returns the display name of a source type; an unknown value is title-cased.
func SourceName(value string) string {
	value = strings.TrimPrefix(value, "federated_")
	if source, ok := wire.LookupSource(value); ok {
		return source.Name
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) })
	for i, word := range words {
		first, width := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToTitle(first)) + word[width:]
	}
	return strings.Join(words, " ")
}

// SourceDescription describes a source type in a few words; empty for an unknown one.
func SourceDescription(value string) string {
	source, _ := wire.LookupSource(strings.TrimPrefix(value, "federated_"))
	return source.Description
}

// SplitRef splits a result's ref, "<document id>#<chunk>", at the last # that only digits follow. Without a chunk it
// returns the whole ref as the id, and false. Callers must first try the whole ref as an id: ids may end in # and a
// number too.
func SplitRef(ref string) (documentID string, chunk int, ok bool) {
	at := strings.LastIndexByte(ref, '#')
	number, err := strconv.ParseUint(ref[at+1:], 10, 30)
	if at < 0 || err != nil {
		return ref, 0, false
	}
	return ref[:at], int(number), at > 0
}
