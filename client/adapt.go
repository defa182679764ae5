package client

import (
	"context"
	"net/http"
	"slices"
	"time"

	"quarry/client/field"
	"quarry/client/wire"
)

// outgoing is a search on its way to a server that may lack extensions.
type outgoing struct {
	asked   wire.SearchRequest // by the caller
	request wire.SearchRequest // for the server
	// The server does not know these filters and exclusions, so it does not get them: what comes back is filtered.
	filters, exclusions []field.Field
	sorting             bool // likewise for sort and offset
	nothing             bool // no source is left to search, or no further page is there
}

// knows reports whether a server knows the filter of a field.
func (f Features) knows(row field.Field) bool { return !row.Extension || f.Has(row.Key) }

// excludes reports whether a server can exclude by a field.
func (f Features) excludes(row field.Field) bool {
	return f.Has(wire.FeatureExcludeFilters) && f.knows(row)
}

// isExtended reports whether some servers do not know one of the filters.
func isExtended(filters, exclude wire.Filters) bool {
	return !field.IsEmpty(exclude) || slices.ContainsFunc(field.All(), func(row field.Field) bool {
		return row.Extension && row.Request(&filters).Len() > 0
	})
}

// unknown removes the filters that a server does not know, and returns their fields.
func unknown(knows func(field.Field) bool, filters *wire.Filters) (rows []field.Field) {
	for _, row := range field.All() {
		if list := row.Request(filters); list.Len() > 0 && !knows(row) {
			rows = append(rows, row)
			list.Clear()
		}
	}
	return rows
}

// prepare returns the request that the server can answer. The server's features are only asked for when they matter.
func (c *Client) prepare(ctx context.Context, asked wire.SearchRequest) (outgoing, error) {
	asked = withCutoff(asked, time.Now())
	o := outgoing{asked: asked, request: asked}
	if !isExtended(asked.Filters, asked.ExcludeFilters) && !asked.WithoutModel() {
		return o, nil
	}
	features, err := c.extensions(ctx)
	if err != nil {
		return o, err
	}
	if asked.Browse && !features.Has(wire.FeatureBrowse) {
		return o, badRequest(http.MethodPost, searchPath, "this server cannot list documents without a query")
	}
	if asked.SimilarTo != "" && !features.Has(wire.FeatureSimilarTo) {
		return o, badRequest(http.MethodPost, searchPath, "this server cannot search for similar passages")
	}
	o.sorting = asked.Lists() && !features.Has(wire.FeatureSort)
	o.nothing = asked.Offset != nil && *asked.Offset > 0 && !features.Has(wire.FeatureOffset)
	o.filters = unknown(features.knows, &o.request.Filters)
	o.exclusions = unknown(features.excludes, &o.request.ExcludeFilters)
	if excluded := asked.ExcludeFilters.Sources; len(excluded) > len(o.request.ExcludeFilters.Sources) {
		others, none := c.otherSources(ctx, asked.Sources, excluded)
		o.request.Sources, o.nothing = others, o.nothing || none
	}
	return o, nil
}

// otherSources returns the sources to search so that some are excluded: of the named ones, else of all that the server
// lists. Without a list it returns none, which restricts nothing; nothing is set if none is left.
func (c *Client) otherSources(ctx context.Context, named, excluded []string) (others []string, nothing bool) {
	if len(named) == 0 {
		list := c.ListSources(ctx)
		if named = list.Values; !list.Certain || len(named) == 0 {
			return nil, false
		}
	}
	others = slices.DeleteFunc(slices.Clone(named),
		func(source string) bool { return slices.Contains(excluded, source) })
	return others, len(others) == 0
}

// prepareChat returns the question without filters that the server does not know, and with the sources that it shall
// search, and notes about the filters that are ignored.
func (c *Client) prepareChat(ctx context.Context,
	request wire.ChatRequest) (_ wire.ChatRequest, notes []wire.Note, err error) {
	if request.Filters == nil {
		return request, nil, nil
	}
	filters := *request.Filters
	lists := (*wire.Filters)(&filters.ChatLists)
	if !isExtended(*lists, filters.ExcludeFilters) && len(filters.Exclude)+len(filters.Phrases) == 0 {
		return request, nil, nil
	}
	features, err := c.extensions(ctx)
	if err != nil {
		return request, nil, err
	}
	for _, row := range unknown(features.knows, lists) {
		notes = append(notes, ignoredFilter(row.Name, false))
	}
	if features.API == 0 {
		notes = append(notes, ignored(wire.SearchRequest{Phrases: filters.Phrases, Exclude: filters.Exclude})...)
	}
	excluded := filters.ExcludeFilters.Sources
	for _, row := range unknown(features.excludes, &filters.ExcludeFilters) {
		if row.ID != field.Source { // all others are searched
			notes = append(notes, ignoredFilter("-"+row.Name, false))
		}
	}
	if len(excluded) > len(filters.ExcludeFilters.Sources) {
		var nothing bool
		if filters.Sources, nothing = c.otherSources(ctx, filters.Sources, excluded); nothing {
			return request, notes, badRequest(http.MethodPost, askPath, "every source is excluded")
		}
	}
	request.Filters = &filters
	return request, notes, nil
}

// filter removes what the server should have left out of its response, as far as results have the field, and notes the
// filters that it ignored.
func (o outgoing) filter(response *wire.SearchResponse) {
	apply := func(sign string, row field.Field, values []string, excludes bool) {
		known := slices.ContainsFunc(response.Results, row.Has)
		if row.ID != field.Source || len(o.request.Sources) == 0 && !o.nothing { // else the others were searched
			response.Notes = append(response.Notes, ignoredFilter(sign+row.Name, known))
		}
		response.Results = slices.DeleteFunc(response.Results, func(r wire.SearchResult) bool {
			return known && row.Passes(&r, values) == excludes
		})
	}
	for _, row := range o.exclusions {
		apply("-", row, row.Of(o.asked.ExcludeFilters), true)
	}
	for _, row := range o.filters {
		apply("", row, row.Of(o.asked.Filters), false)
	}
}

// sort orders the response of a server that only knows its own order. It has one page.
func (o outgoing) sort(response *wire.SearchResponse) {
	if !o.sorting {
		return
	}
	if o.asked.Offset != nil && *o.asked.Offset > 0 {
		response.Notes = append(response.Notes,
			wire.Note{Code: wire.NoteFilterIgnored, Text: "offset: this server has no further page"})
	}
	var sign int
	switch o.asked.Sort {
	case wire.SortNewest:
		sign = -1
	case wire.SortOldest:
		sign = 1
	default:
		return
	}
	response.Notes = append(response.Notes, wire.Note{Code: wire.NoteFilterIgnored,
		Text: "sort: this server ignores it; only the returned results were sorted"})
	slices.SortStableFunc(response.Results, func(a, b wire.SearchResult) int {
		x, y := updatedAt(a), updatedAt(b)
		switch {
		case x.IsZero() && y.IsZero():
			return 0
		case x.IsZero():
			return 1
		case y.IsZero():
			return -1
		}
		return sign * x.Compare(y)
	})
}

// updatedAt returns when a result was last changed; zero if unknown.
func updatedAt(result wire.SearchResult) (updated time.Time) {
	if result.UpdatedAt == nil {
		return updated
	}
	updated, err := wire.ParseTime(*result.UpdatedAt)
	if err != nil {
		return time.Time{}
	}
	return updated
}

// adapt applies filters to the response of a bare Onyx where that is possible afterwards, and notes the ignored ones.
// All its results count as selected.
func adapt(response *wire.SearchResponse, request wire.SearchRequest) {
	for i := range response.Results {
		response.Results[i].Selected = true
	}
	if request.TimeUntil != nil {
		until := request.TimeUntil.Time
		response.Results = slices.DeleteFunc(response.Results, func(r wire.SearchResult) bool {
			updated := updatedAt(r)
			return updated.IsZero() || updated.After(until)
		})
	}
	if n := request.NumResults; n != nil && *n > 0 && len(response.Results) > *n {
		response.Results = response.Results[:*n]
	}
	response.Notes = append(response.Notes, ignored(request)...)
}

// ignored returns notes about the filters of a request that a bare Onyx ignores.
func ignored(request wire.SearchRequest) []wire.Note {
	var notes []wire.Note
	note := func(given bool, text string) {
		if given {
			notes = append(notes, wire.Note{Code: wire.NoteFilterIgnored, Text: text})
		}
	}
	note(request.TimeUntil != nil, "until: this server ignores it; only the returned results were filtered")
	note(len(request.Phrases) > 0, "exact phrases: this server searches them as plain words")
	note(len(request.Exclude) > 0, "excluded words: this server searches them as plain text")
	note(request.AddedSince != nil, "added_since: this server ignores it")
	note(request.SkipDocumentSelection, "skip_document_selection: this server ignores it")
	note(request.MaxContextChunks != nil, "max_context_chunks: this server ignores it")
	note(request.Explain, "explain: this server does not support it")
	return notes
}

// IgnoredInChat returns notes about the filters of a question that the server ignores; none if its features are not
// known.
func (c *Client) IgnoredInChat(ctx context.Context, asked *wire.ChatFilters) []wire.Note {
	_, notes, _ := c.prepareChat(ctx, wire.ChatRequest{Filters: asked}) // asking the question reports the error
	return notes
}

// ignoredFilter returns a note about a filter that a server ignores. Results are filtered if they have the field.
func ignoredFilter(name string, filtered bool) wire.Note {
	text := name + ": this server ignores it"
	if filtered {
		text += "; only the returned results were filtered"
	}
	return wire.Note{Code: wire.NoteFilterIgnored, Text: text}
}
