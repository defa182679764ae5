package client

import (
	"slices"
	"time"

	"quarry/client/wire"
)

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
	if result.UpdatedAt == nil {
		return false
	}
	updated, err := wire.ParseTime(*result.UpdatedAt)
	return err == nil && !updated.After(until)
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
	return ignored(wire.SearchRequest{Authors: filters.Authors, DocumentTypes: filters.DocumentTypes,
		Phrases: filters.Phrases, Exclude: filters.Exclude})
}
