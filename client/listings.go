package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
)

// Personas lists the agents that the caller may use.
func (c *Client) Personas(ctx context.Context) ([]wire.Persona, error) {
	return listed[wire.Persona](ctx, c, get("/persona", nil))
}

// PersonaFilter narrows a list of agents. Its zero value does not.
type PersonaFilter struct {
	// IDs are the agents wanted; those that the caller may not use are left out.
	IDs []int
	// IncludeDeleted adds the agents that were deleted, where the server keeps them.
	IncludeDeleted bool
}

// PersonasWhere lists some of the agents that the caller may use.
func (c *Client) PersonasWhere(ctx context.Context, filter PersonaFilter) ([]wire.Persona, error) {
	query := url.Values{}
	for _, id := range filter.IDs {
		query.Add("persona_ids", strconv.Itoa(id))
	}
	if filter.IncludeDeleted {
		query.Set("include_deleted", "true")
	}
	return listed[wire.Persona](ctx, c, get("/persona", query))
}

// AgentPage gives a page of the agents that the caller may use, counted from 0, of 1 to wire.MaxAgentsPerPage agents,
// and how many there are in all. A page after the last is empty.
func (c *Client) AgentPage(ctx context.Context, page, size int) (*wire.PersonaPage, error) {
	const path = "/agents"
	if page < 0 || size < 1 || size > wire.MaxAgentsPerPage {
		return nil, badRequest(http.MethodGet, path,
			fmt.Sprintf("page %d of %d agents is none: a page has 1 to %d", page, size, wire.MaxAgentsPerPage))
	}
	found, err := fetched[wire.PersonaPage](ctx, c, get(path,
		url.Values{"page_num": {strconv.Itoa(page)}, "page_size": {strconv.Itoa(size)}}))
	if err == nil && found.Items == nil {
		found.Items = []wire.Persona{}
	}
	return found, err
}

// Persona gives one agent; an unknown or unseen one is NotAvailable.
func (c *Client) Persona(ctx context.Context, id int) (*wire.FullPersona, error) {
	return fetched[wire.FullPersona](ctx, c, get(fmt.Sprintf("/persona/%d", id), nil))
}

// IndexedSources lists the source types that the server has documents of.
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
	return listed[wire.DocumentSet](ctx, c, get("/manage/document-set", nil))
}

// Federated lists the sources that are asked at query time.
func (c *Client) Federated(ctx context.Context) ([]wire.FederatedConnection, error) {
	return listed[wire.FederatedConnection](ctx, c, get("/federated", nil))
}

// FederatedLogins tells for each source that is asked at query time whether the caller signed in to it.
func (c *Client) FederatedLogins(ctx context.Context) ([]wire.FederatedLogin, error) {
	return listed[wire.FederatedLogin](ctx, c, get("/federated/oauth-status", nil))
}

// Connectors lists what feeds the sources. It takes a right that most people do not have; others get Auth.
func (c *Client) Connectors(ctx context.Context) ([]wire.Connector, error) {
	return listed[wire.Connector](ctx, c, get("/manage/connector", nil))
}

// Connector gives one connector; it takes the right that Connectors takes, and an unknown one is NotAvailable.
func (c *Client) Connector(ctx context.Context, id int) (*wire.Connector, error) {
	return fetched[wire.Connector](ctx, c, get(fmt.Sprintf("/manage/connector/%d", id), nil))
}

// ValidTags lists tags whose key or value match; "key=value" must match in both. With prefix, what begins with match
// matches, otherwise only what equals it. A limit of zero leaves the number to the server.
func (c *Client) ValidTags(ctx context.Context, match string, prefix bool, limit int) ([]wire.SourceTag, error) {
	return c.ValidTagsOf(ctx, nil, match, prefix, limit)
}

// ValidTagsOf is ValidTags for the tags that documents of some sources carry; without sources, of all. Onyx counts the
// tags of other sources towards the limit.
func (c *Client) ValidTagsOf(ctx context.Context, sources []string, match string, prefix bool,
	limit int) ([]wire.SourceTag, error) {
	tags, err := c.validTags(ctx, sources, match, prefix, limit)
	if err != nil && !prefix && KindOf(err) == Server {
		// Onyx fails on anything but prefixes.
		tags, err = c.validTags(ctx, sources, match, true, limit)
	}
	if err != nil {
		return nil, err
	}
	wanted := []wire.SourceTag{}
	for _, tag := range tags {
		ofSources := len(sources) == 0 || slices.Contains(sources, tag.Source) // Onyx does not look at the sources
		if ofSources && (prefix || match == "" || tagEquals(tag, match)) {
			wanted = append(wanted, tag)
		}
	}
	return wanted, nil
}

func (c *Client) validTags(ctx context.Context, sources []string, match string, prefix bool,
	limit int) ([]wire.SourceTag, error) {
	query := url.Values{"allow_prefix": {strconv.FormatBool(prefix)}, "sources": sources}
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

// Suggest completes a prefix to words of the library and to titles. A bare Onyx has no such route: NotAvailable.
func (c *Client) Suggest(ctx context.Context, prefix string, limit int) (*wire.Suggestions, error) {
	query := url.Values{"prefix": {prefix}}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return fetched[wire.Suggestions](ctx, c, get("/search/suggest", query))
}

// Facets counts the documents that the filters of a request leave, by field; its query plays no part. A bare Onyx has
// no such route: NotAvailable.
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
	counts.Facets.FillEmpty()
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

// Ingest puts one document into the server's index, in place of an earlier one with its id.
func (c *Client) Ingest(ctx context.Context, request wire.IngestionRequest) (*wire.IngestionResponse, error) {
	return fetched[wire.IngestionResponse](ctx, c, post("/onyx-api/ingestion", request))
}

// CreateToken makes an access token. Its secret is in the answer and nowhere else afterwards.
func (c *Client) CreateToken(ctx context.Context, request wire.AccessTokenRequest) (*wire.NewAccessToken, error) {
	return fetched[wire.NewAccessToken](ctx, c, post("/user/pats", request))
}

// DeleteToken revokes one of the caller's own access tokens; an unknown one is NotAvailable.
func (c *Client) DeleteToken(ctx context.Context, id int) error {
	r := get(fmt.Sprintf("/user/pats/%d", id), nil)
	r.method = http.MethodDelete
	var said map[string]any
	return c.fetch(ctx, r, &said)
}
