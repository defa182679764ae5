package client

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
)

// outgoing is a search on its way to a server that may lack extensions.
type outgoing struct {
	asked   wire.SearchRequest // by the caller
	request wire.SearchRequest // for the server
	// excluding is set if the server ignores exclude_filters: what comes back is filtered.
	excluding bool
	sorting   bool // likewise for sort and offset
	nothing   bool // no source is left to search, or no further page is there
}

// prepare returns the request that the server can answer. The server's features are only asked for when they matter.
func (c *Client) prepare(ctx context.Context, asked wire.SearchRequest) (outgoing, error) {
	asked = withCutoff(asked, now())
	o := outgoing{asked: asked, request: asked}
	if asked.ExcludeFilters.Empty() && !asked.WithoutModel() {
		return o, nil
	}
	features, err := c.Features(ctx)
	if err != nil {
		return o, err
	}
	if asked.Browse && !features.Has(wire.FeatureBrowse) {
		e := badRequest(http.MethodPost, searchPath, "this server cannot list documents without a query")
		e.remedy = "add words to search for"
		return o, e
	}
	if asked.SimilarTo != "" && !features.Has(wire.FeatureSimilarTo) {
		e := badRequest(http.MethodPost, searchPath, "this server cannot search for similar passages")
		e.remedy = "search for words of the passage"
		return o, e
	}
	o.sorting = asked.Lists() && !features.Has(wire.FeatureSort)
	o.nothing = asked.Offset != nil && *asked.Offset > 0 && !features.Has(wire.FeatureOffset)
	if features.Has(wire.FeatureExcludeFilters) {
		return o, nil
	}
	o.excluding = !asked.ExcludeFilters.Empty()
	if excluded := asked.ExcludeFilters.Sources; len(excluded) > 0 {
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
	others = slices.DeleteFunc(slices.Clone(named), func(source string) bool { return slices.Contains(excluded, source) })
	return others, len(others) == 0
}

// emptyResponse is the response to a search that has no source left.
func (c *Client) emptyResponse(o outgoing) (*wire.SearchResponse, error) {
	return c.complete(&searchEnvelope{Results: new([]wire.SearchResult{})}, o)
}

// prepareChat returns the question with the sources that a server without exclude_filters shall search.
func (c *Client) prepareChat(ctx context.Context, request wire.ChatRequest) (wire.ChatRequest, error) {
	if request.Filters == nil || len(request.Filters.ExcludeFilters.Sources) == 0 {
		return request, nil
	}
	features, err := c.Features(ctx)
	if err != nil || features.Has(wire.FeatureExcludeFilters) {
		return request, err
	}
	filters := *request.Filters
	var nothing bool
	if filters.Sources, nothing = c.otherSources(ctx, filters.Sources, filters.ExcludeFilters.Sources); nothing {
		return request, badRequest(http.MethodPost, askPath, "every source is excluded")
	}
	request.Filters = &filters
	return request, nil
}

// exclude removes what the server should have excluded from its response, as far as results have the field.
func (o outgoing) exclude(response *wire.SearchResponse) {
	if !o.excluding {
		return
	}
	x := o.asked.ExcludeFilters
	notes := x
	if len(o.request.Sources) > 0 || o.nothing {
		notes.Sources = nil
	}
	response.Notes = append(response.Notes, notExcluded(notes, response.Results)...)
	response.Results = slices.DeleteFunc(response.Results, func(r wire.SearchResult) bool {
		return slices.Contains(x.Sources, r.SourceType) || slices.ContainsFunc(x.DocumentTypes, isFold(r.DocumentType)) ||
			slices.ContainsFunc(r.Authors, func(author string) bool { return slices.ContainsFunc(x.Authors, names(author)) }) ||
			slices.ContainsFunc(x.Tags, func(tag wire.Tag) bool { return slices.Contains(r.Metadata[tag.Key].Values, tag.Value) })
	})
}

func isFold(text string) func(string) bool {
	return func(other string) bool { return strings.EqualFold(text, other) }
}

// names reports whether a filter's value is an author's name or a word of it, as on a quarry server.
func names(author string) func(string) bool {
	return func(value string) bool {
		return strings.EqualFold(author, value) || slices.ContainsFunc(strings.Fields(author), isFold(value))
	}
}

// sort orders the response of a server that only knows its own order. It has one page.
func (o outgoing) sort(response *wire.SearchResponse) {
	if !o.sorting {
		return
	}
	if o.asked.Offset != nil && *o.asked.Offset > 0 {
		response.Notes = append(response.Notes, wire.Note{Code: wire.NoteFilterIgnored, Text: "offset: this server has no further page"})
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

// notExcluded returns notes about the negated filters that a server ignores. Only results that have the field were
// filtered.
func notExcluded(x wire.ExcludeFilters, results []wire.SearchResult) []wire.Note {
	var notes []wire.Note
	note := func(given bool, name string, has func(wire.SearchResult) bool) {
		if !given {
			return
		}
		text := name + ": this server ignores it"
		if slices.ContainsFunc(results, has) {
			text += "; only the returned results were filtered"
		}
		notes = append(notes, wire.Note{Code: wire.NoteFilterIgnored, Text: text})
	}
	note(len(x.Sources) > 0, "-source", func(r wire.SearchResult) bool { return r.SourceType != "" })
	note(len(x.Authors) > 0, "-author", func(r wire.SearchResult) bool { return len(r.Authors) > 0 })
	note(len(x.DocumentTypes) > 0, "-type", func(r wire.SearchResult) bool { return r.DocumentType != "" })
	note(len(x.Tags) > 0, "-tag", func(r wire.SearchResult) bool { return len(r.Metadata) > 0 })
	note(len(x.DocumentSets) > 0, "-set", func(wire.SearchResult) bool { return false })
	return notes
}

// adapt applies filters to the response of a bare Onyx where that is possible afterwards, and notes the ignored ones. All
// its results count as selected.
func adapt(response *wire.SearchResponse, request wire.SearchRequest) {
	for i := range response.Results {
		response.Results[i].Selected = true
	}
	if request.TimeUntil != nil {
		until := request.TimeUntil.Time
		response.Results = slices.DeleteFunc(response.Results, func(r wire.SearchResult) bool {
			return !updatedBy(r, until)
		})
	}
	if n := request.NumResults; n != nil && *n > 0 && len(response.Results) > *n {
		response.Results = response.Results[:*n]
	}
	response.Notes = append(response.Notes, ignored(request)...)
}

// updatedBy reports whether a result has a date and was last changed at until or before.
func updatedBy(result wire.SearchResult, until time.Time) bool {
	updated := updatedAt(result)
	return !updated.IsZero() && !updated.After(until)
}

// ignored returns notes about the filters of a request that a bare Onyx ignores.
func ignored(request wire.SearchRequest) []wire.Note {
	var notes []wire.Note
	note := func(given bool, text string) {
		if given {
			notes = append(notes, wire.Note{Code: wire.NoteFilterIgnored, Text: text})
		}
	}
	note(len(request.Authors) > 0, "author: this server ignores it")
	note(len(request.DocumentTypes) > 0, "type: this server ignores it")
	note(request.TimeUntil != nil, "until: this server ignores it; only the returned results were filtered")
	note(len(request.Phrases) > 0, "exact phrases: this server searches them as plain words")
	note(len(request.Exclude) > 0, "excluded words: this server searches them as plain text")
	note(request.AddedSince != nil, "added_since: this server ignores it")
	note(request.SkipDocumentSelection, "skip_document_selection: this server ignores it")
	note(request.MaxContextChunks != nil, "max_context_chunks: this server ignores it")
	note(request.Explain, "explain: this server does not support it")
	return notes
}

// IgnoredInChat returns notes about the filters of a question that a bare Onyx ignores.
func IgnoredInChat(features Features, filters *wire.ChatFilters) []wire.Note {
	if filters == nil || features.API > 0 {
		return nil
	}
	notes := ignored(wire.SearchRequest{Authors: filters.Authors, DocumentTypes: filters.DocumentTypes,
		Phrases: filters.Phrases, Exclude: filters.Exclude})
	x := filters.ExcludeFilters
	x.Sources = nil // sent as all others
	return append(notes, notExcluded(x, nil)...)
}
