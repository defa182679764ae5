package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
)

// Personas lists the agents that the caller may use.
func (c *Client) Personas(ctx context.Context) ([]wire.Persona, error) {
	return listed[wire.Persona](ctx, c, get("/persona", nil))
}

// Persona returns one agent; for an unknown or hidden one the error is NotAvailable.
func (c *Client) Persona(ctx context.Context, id int) (*wire.FullPersona, error) {
	persona, err := fetched[wire.FullPersona](ctx, c, get(fmt.Sprintf("/persona/%d", id), nil))
	if failed, ok := errors.AsType[*Error](err); ok && failed.Kind == BadRequest { // how Onyx refuses an unknown number
		failed.Kind = NotAvailable
	}
	return persona, err
}

const (
	agentTimeout  = 10 * time.Second
	agentsExpire  = 5 * time.Minute
	agentsRefresh = 10 * time.Second // age of a list from which a name that is not in it is looked up again
)

// ResolveAgent returns the number of the agent that a query names, or else of the usual one; nil means none.
func (c *Client) ResolveAgent(ctx context.Context, name string, usual wire.Agent) (*int, error) {
	if name == "" && (usual.ID != nil || usual.Name == "") {
		return usual.ID, nil
	}
	id, err := c.AgentID(ctx, cmp.Or(name, usual.Name))
	return &id, err
}

// SearchAs is Search with the agent that a query names, or else the usual one.
func (c *Client) SearchAs(ctx context.Context, request wire.SearchRequest, name string,
	usual wire.Agent) (_ *wire.SearchResponse, err error) {
	if request.PersonaID, err = c.ResolveAgent(ctx, name, usual); err != nil {
		return nil, err
	}
	return c.Search(ctx, request)
}

// AgentID returns the number of the agent with a name. A name that differs in case is accepted if only one agent has
// it, and a number if no agent has it as its name: servers also accept agents that they do not list. An unknown agent
// is a BadRequest. The list of agents is cached, so that a search on each key does not fetch it each time.
func (c *Client) AgentID(ctx context.Context, name string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	agents, err := c.agents.get(ctx, agentsExpire, c.Personas)
	if id, found := findAgent(agents, name); found && err == nil {
		return id, nil
	}
	if err == nil {
		agents, err = c.agents.get(ctx, agentsRefresh, c.Personas)
	}
	if id, found := findAgent(agents, name); found {
		return id, nil
	}
	if number, notNumber := strconv.Atoi(name); notNumber == nil && KindOf(err) != Canceled {
		return number, nil
	}
	return 0, agentError(name, agents, err)
}

func agentError(name string, agents []wire.Persona, err error) error {
	switch {
	case KindOf(err) == Auth:
		return &Error{Kind: Auth, Reason: fmt.Sprintf("the token may not list agents, so %q cannot be looked up", name),
			remedy: "give the agent's number: agent:N or --agent-id N", cause: err}
	case err != nil:
		return fmt.Errorf("look up the agent %q: %w", name, err)
	}
	names := exslices.CastFunc(agents, func(agent wire.Persona) string { return agent.Name })
	return &Error{Kind: BadRequest, Reason: fmt.Sprintf("unknown agent %q", name),
		remedy: wire.Hint(name, "See quarry agents", names)}
}

// findAgent prefers the exact name to one that differs in case.
func findAgent(agents []wire.Persona, name string) (id int, found bool) {
	var folded []int
	for _, agent := range agents {
		if agent.Name == name {
			return agent.ID, true
		}
		if strings.EqualFold(agent.Name, name) {
			folded = append(folded, agent.ID)
		}
	}
	if len(folded) == 1 {
		return folded[0], true
	}
	return 0, false
}

// IndexedSources lists the source types that the server has documents from.
func (c *Client) IndexedSources(ctx context.Context) ([]string, error) {
	var found wire.IndexedSources
	err := c.fetch(ctx, get("/manage/indexed-sources", nil), &found)
	return append([]string{}, found.Sources...), err
}

// ConnectorStatus lists the connectors whose documents the caller may see.
func (c *Client) ConnectorStatus(ctx context.Context) ([]wire.ConnectorStatus, error) {
	return listed[wire.ConnectorStatus](ctx, c, get("/manage/connector-status", nil))
}

// DocumentSets lists the document sets that the caller may search.
func (c *Client) DocumentSets(ctx context.Context) ([]wire.DocumentSet, error) {
	return listed[wire.DocumentSet](ctx, c, get(documentSetsPath, nil))
}

// Listing is what a server lists as the values of a field.
type Listing struct {
	Values   []ListedValue
	Complete bool // there are no others
}

// ListedValue is a value as the query language writes it, and what it is.
type ListedValue struct{ Name, About string }

// ListValues lists the values of a field that a server says exist, where they may be many those that begin with a text.
// Of a field that is only counted these are the values of documents, of which a filter may take parts.
func (c *Client) ListValues(ctx context.Context, id field.ID, begin string, most int) (listing Listing, err error) {
	add := func(name, about string) {
		listing.Values = append(listing.Values, ListedValue{name, about})
	}
	switch id {
	case field.Source:
		list := c.ListSources(ctx)
		for _, source := range list.Values {
			add(source, SourceDescription(source))
		}
		listing.Complete = list.Certain
	case field.Set:
		var sets []wire.DocumentSet
		sets, err = c.DocumentSets(ctx)
		for _, set := range sets {
			add(set.Name, text.OrEmpty(set.Description))
		}
		listing.Complete = true
	case field.Tag:
		var tags []wire.SourceTag
		tags, err = c.ValidTags(ctx, begin, most)
		for _, tag := range tags {
			if name := field.TagText(tag.Key, tag.Value); name != "" {
				add(name, tag.Source)
			}
		}
		listing.Complete = len(tags) < most
	case field.Place:
		err = c.listPlaces(ctx, add)
	default:
		var counted *wire.FacetCounts
		if counted, err = c.Facets(ctx, wire.SearchRequest{}); err == nil {
			for _, value := range field.Of(id).Counts(&counted.Facets).Values() {
				add(value.Value, text.Count(value.Count, "document"))
			}
		}
	}
	return listing, err
}

// mostLevels bounds the levels of places that are listed: each takes a request.
const mostLevels = 64

// listPlaces adds the places of documents: those in the fullest ones, if they have many levels.
func (c *Client) listPlaces(ctx context.Context, add func(name, about string)) error {
	open := []wire.FacetValue{{}} // the top
	for n := 0; n < mostLevels && len(open) > 0; n++ {
		level, err := c.Facets(ctx, wire.SearchRequest{FacetPlace: field.LevelIn(open[0].Value)})
		if err != nil {
			return err
		}
		open = append(open[1:], level.Facets.Places...)
		slices.SortStableFunc(open, func(a, b wire.FacetValue) int { return b.Count - a.Count })
		for _, place := range level.Facets.Places {
			add(place.Value, text.Count(place.Count, "document"))
		}
	}
	return nil
}

// Federated lists the sources that are searched at query time.
func (c *Client) Federated(ctx context.Context) ([]wire.FederatedConnection, error) {
	return listed[wire.FederatedConnection](ctx, c, get("/federated", nil))
}

// ValidTags lists tags whose key or value begins with a text; "key=value" must begin both. A limit of zero leaves the
// number to the server.
func (c *Client) ValidTags(ctx context.Context, begin string, limit int) ([]wire.SourceTag, error) {
	query := url.Values{"allow_prefix": {"true"}} // Onyx fails on anything but prefixes
	if begin != "" {
		query.Set("match_pattern", begin)
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var found wire.ValidTags
	err := c.fetch(ctx, get("/query/valid-tags", query), &found)
	return found.Tags, err
}

// Suggest returns words and titles that start with a prefix. A bare Onyx has no such route: NotAvailable.
func (c *Client) Suggest(ctx context.Context, prefix string, limit int) (*wire.Suggestions, error) {
	query := url.Values{"prefix": {prefix}}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return fetched[wire.Suggestions](ctx, c, get("/search/suggest", query))
}

// HasValue reports whether a document has a value of a field, or the server cannot tell. If none has, it returns the
// values and parts of values near which a mistyped one may be.
func (c *Client) HasValue(ctx context.Context, row field.Field, value string) (has bool, known []string) {
	if !c.CanCount(ctx) {
		return true, nil
	}
	var request wire.SearchRequest
	row.Request(&request.Filters).Add(value)
	if found, err := c.Facets(ctx, request); err != nil || found.TotalMatches > 0 {
		return true, nil
	}
	all, _ := c.ListValues(ctx, row.ID, "", 0) // without them there is no suggestion
	for _, listed := range all.Values {
		if known = append(known, listed.Name); row.Parts != nil {
			known = append(known, row.Parts(listed.Name)...)
		}
	}
	return false, known
}

// CanCount reports whether the server counts documents by field.
func (c *Client) CanCount(ctx context.Context) bool {
	features, err := c.Features(ctx)
	return err == nil && features.Has(wire.FeatureFacets)
}

// Counts returns how many documents with each value of a field the caller may see; nil if the server does not count.
func (c *Client) Counts(ctx context.Context, id field.ID) map[string]int {
	if !c.CanCount(ctx) {
		return nil
	}
	found, err := c.Facets(ctx, wire.SearchRequest{})
	if err != nil {
		return nil
	}
	counts := map[string]int{}
	for _, value := range field.Of(id).Counts(&found.Facets).Values() {
		counts[value.Value] = value.Count
	}
	return counts
}

// Facets counts the documents that match the filters of a request, by field; its query is ignored. A bare Onyx has no
// such route: NotAvailable.
func (c *Client) Facets(ctx context.Context, request wire.SearchRequest) (*wire.FacetCounts, error) {
	request = withCutoff(request, time.Now())
	if isExtended(request.Filters, request.ExcludeFilters) {
		features, err := c.extensions(ctx)
		if err != nil {
			return nil, err
		}
		for _, row := range field.All() {
			if !features.knows(row) && len(row.Of(request.Filters))+len(row.Of(request.ExcludeFilters)) > 0 {
				return nil, &Error{Kind: NotAvailable, Method: http.MethodGet, Path: "/search/facets",
					Reason: "this server cannot filter by " + row.Noun}
			}
		}
	}
	query := url.Values{}
	for _, row := range field.All() {
		query[row.Key] = row.Of(request.Filters)
		query["exclude_"+row.Key] = row.Of(request.ExcludeFilters)
	}
	if request.FacetPlace != "" {
		query.Set("facet_place", request.FacetPlace)
	}
	setTime(query, "time_cutoff", request.TimeCutoff)
	setTime(query, "time_until", request.TimeUntil)
	setTime(query, "added_since", request.AddedSince)
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
		query.Set(name, moment.UTC().Format(time.RFC3339Nano))
	}
}

func setNumber(query url.Values, name string, number *int) {
	if number != nil {
		query.Set(name, strconv.Itoa(*number))
	}
}

const chunkFetchers = 4 // at once, where a server gives only one chunk per request

// DocumentSize returns the length of a document; for an unknown or hidden one the error is NotAvailable.
func (c *Client) DocumentSize(ctx context.Context, id string) (*wire.DocumentSize, error) {
	return fetched[wire.DocumentSize](ctx, c, get("/document/document-size-info", url.Values{"document_id": {id}}))
}

// ChunkInfo returns one chunk of a document, counted from 0.
func (c *Client) ChunkInfo(ctx context.Context, id string, chunk int) (*wire.ChunkInfo, error) {
	return fetched[wire.ChunkInfo](ctx, c, get("/document/chunk-info",
		url.Values{"document_id": {id}, "chunk_id": {strconv.Itoa(chunk)}}))
}

// Place is a document, and the passages of it that a reference names.
type Place struct {
	Document    wire.DocumentInfo
	First, Last int  // chunks
	IsPart      bool // the reference names passages, not the whole document
}

// Spellings returns the references that a text may mean, the likeliest first: itself, the place in a whole citation,
// and an address without its fragment.
func Spellings(written string) (refs []string, fragment string) {
	if cited, ok := Cited(written); ok && cited != written {
		refs, fragment = Spellings(cited)
		return slices.Insert(refs, 0, written), fragment
	}
	address, err := url.Parse(written)
	if err != nil || address.Scheme == "" || !strings.Contains(written, "://") {
		return []string{written}, ""
	}
	fragment, address.Fragment, address.RawFragment = address.Fragment, "", ""
	return []string{written, address.String()}, fragment
}

// Find locates the first of several references that names anything. The error is that of the first.
func (c *Client) Find(ctx context.Context, refs []string) (found Place, err error) {
	for i, ref := range refs {
		at, failure := c.Locate(ctx, ref)
		if failure == nil || KindOf(failure) != NotAvailable {
			return at, failure
		}
		if i == 0 {
			err = failure
		}
	}
	return found, err
}

// Locate finds what a reference names: "<document id>", "<document id>#<chunk>", "<document id>#<first>-<last>", a
// citation with a line or page, or an address. An id that exists whole wins over the reading of its end as the numbers
// of passages.
func (c *Client) Locate(ctx context.Context, ref string) (Place, error) {
	found, err := c.Chunks(ctx, ref, 0, 0, "")
	if err == nil && found.Passage != nil {
		return Place{found.Document, *found.Passage, *found.Passage, true}, nil
	}
	if err == nil {
		return Place{Document: found.Document}, nil
	}
	id, first, last, isPart := wire.SplitRange(ref)
	if !isPart || KindOf(err) != NotAvailable {
		return Place{}, err
	}
	if found, err = c.Chunks(ctx, id, first, first, ""); err != nil {
		return Place{}, err
	}
	return Place{found.Document, first, last, true}, nil
}

// Chunks returns the chunks from to to of a document, both included, and its metadata. A negative to means
// wire.MaxChunksPerRequest chunks. If the server has wire.FeatureHighlights, what the words of a query match is marked;
// empty for no query. From a bare Onyx the chunks are fetched one by one, without title and headings.
func (c *Client) Chunks(ctx context.Context, id string, from, to int, query string) (*wire.DocumentChunks, error) {
	const path = "/document/chunks"
	if to < 0 {
		to = max(0, from) + wire.MaxChunksPerRequest - 1
	}
	if from < 0 || to < from || to-from >= wire.MaxChunksPerRequest {
		return nil, badRequest(http.MethodGet, path,
			fmt.Sprintf("chunks %d to %d are not a range of at most %d", from, to, wire.MaxChunksPerRequest))
	}
	values := url.Values{"document_id": {id}, "from": {strconv.Itoa(from)}, "to": {strconv.Itoa(to)}}
	if query != "" {
		values.Set("query", query)
	}
	r := get(path, values)
	r.limit = maxSearchBytes
	document, err := fetched[wire.DocumentChunks](ctx, c, r)
	if routeMissing(err) {
		document, err = c.chunksOneByOne(ctx, id, from, to)
	}
	if err != nil {
		return nil, err
	}
	wire.FillEmpty(document)
	return document, nil
}

// ChunkRange yields the chunks first to last of a document, both included, in as many answers as that takes; a negative
// last is the end. The words of a query are marked as by Chunks. It ends with an error, and yields an answer without
// chunks only if the document has none there.
func (c *Client) ChunkRange(ctx context.Context, id string, first, last int,
	query string) iter.Seq2[*wire.DocumentChunks, error] {
	if last < 0 {
		last = math.MaxInt
	}
	return func(yield func(*wire.DocumentChunks, error) bool) {
		for next := first; next <= last; {
			got, err := c.Chunks(ctx, id, next, min(next+wire.MaxChunksPerRequest-1, last), query)
			if err == nil && len(got.Chunks) > 0 && got.Chunks[0].ChunkInd < next ||
				err == nil && len(got.Chunks) == 0 && next > first {
				err = errors.New("the server stopped in the middle of the document")
			}
			if !yield(got, err) || err != nil || len(got.Chunks) == 0 || last-first < wire.MaxChunksPerRequest {
				return
			}
			if next = got.Chunks[len(got.Chunks)-1].ChunkInd + 1; next >= got.Document.ChunkCount {
				return
			}
		}
	}
}

// routeMissing reports whether the server lacks the route, rather than the document.
func routeMissing(err error) bool {
	failure, ok := errors.AsType[*Error](err)
	return ok && (failure.Status == http.StatusMethodNotAllowed || failure.Status == http.StatusNotFound &&
		failure.Code == "" && strings.EqualFold(failure.Reason, http.StatusText(http.StatusNotFound)))
}

func (c *Client) chunksOneByOne(ctx context.Context, id string, from, to int) (*wire.DocumentChunks, error) {
	size, err := c.DocumentSize(ctx, id)
	if err != nil {
		return nil, err
	}
	count := max(0, size.NumChunks)
	document := &wire.DocumentChunks{
		Document: wire.DocumentInfo{ID: id, ChunkCount: count},
		Chunks:   make([]wire.Chunk, max(0, min(to, count-1)-from+1)),
	}
	group, ctx := guard.NewGroup(ctx)
	group.SetLimit(chunkFetchers)
	for i := range document.Chunks {
		group.Run(func() {
			content := guard.Must(c.ChunkInfo(ctx, id, from+i)).Content
			document.Chunks[i] = wire.Chunk{ChunkInd: from + i, Content: content}
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return document, nil
}

// Ingest stores one document in the server's index, replacing an earlier one with the same id.
func (c *Client) Ingest(ctx context.Context, request wire.IngestionRequest) (*wire.IngestionResponse, error) {
	return fetched[wire.IngestionResponse](ctx, c, post("/onyx-api/ingestion", request))
}

// SourceDescription describes a source type in a few words; empty for an unknown one.
func SourceDescription(value string) string {
	source, _ := wire.LookupSource(strings.TrimPrefix(value, "federated_"))
	return source.Description
}
