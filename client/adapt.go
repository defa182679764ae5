package client

import (
	"slices"
	"time"

	"quarry/client/wire"
)

// withCutoff writes a number of days as the moment that Onyx understands. An impossible number, or both at once, goes
// as it is, for the server to refuse.
func withCutoff(request wire.SearchRequest, now time.Time) wire.SearchRequest {
	days := request.TimeCutoffDays
	if days == nil || request.TimeCutoff != nil || *days < 1 || *days > wire.MaxTimeCutoffDays {
		return request
	}
	request.TimeCutoff = &wire.Time{Time: now.UTC().AddDate(0, 0, -*days)}
	request.TimeCutoffDays = nil
	return request
}

// adapt applies to the answer of a server without quarry's additions what can be applied afterwards, and notes what it
// ignored. What such a server returns is what its model selected.
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

// updatedBy tells whether a result was last changed at a moment or before; an undated one was not.
func updatedBy(result wire.SearchResult, until time.Time) bool {
	if result.UpdatedAt == nil {
		return false
	}
	updated, err := wire.ParseTime(*result.UpdatedAt)
	return err == nil && !updated.After(until)
}

// ignored names the filters of a request that a bare Onyx takes no notice of.
func ignored(request wire.SearchRequest) []wire.Note {
	var notes []wire.Note
	note := func(given bool, text string) {
		if given {
			notes = append(notes, wire.Note{Code: wire.NoteFilterIgnored, Text: text})
		}
	}
	note(len(request.Authors) > 0, "author: this server ignores it")
	note(len(request.DocumentTypes) > 0, "type: this server ignores it")
	note(request.TimeUntil != nil, "until: this server ignores it; only what it sent was narrowed down")
	note(len(request.Phrases) > 0, "exact phrases: this server takes them as plain words")
	note(len(request.Exclude) > 0, "excluded words: this server takes them as plain text")
	note(request.SkipDocumentSelection, "skip_document_selection: this server ignores it")
	note(request.MaxContextChunks != nil, "max_context_chunks: this server ignores it")
	note(request.Explain, "explain: this server does not tell how it searched")
	return notes
}

// IgnoredInChat names the filters of a question that a server takes no notice of: a bare Onyx those that it does not know.
func IgnoredInChat(features Features, filters *wire.ChatFilters) []wire.Note {
	if filters == nil || features.API > 0 {
		return nil
	}
	return ignored(wire.SearchRequest{Authors: filters.Authors, DocumentTypes: filters.DocumentTypes,
		Phrases: filters.Phrases, Exclude: filters.Exclude})
}
