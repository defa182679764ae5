package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/directory"
)

// sandboxRate limits the searches of a sandbox where no rate is set.
func sandboxRate() Rate { return Rate{Count: 60, Per: time.Hour} }

// sandboxRoute is the search of the first design of Onyx's Craft, for skills that are written to it: for tokens of
// sandboxes alone.
func sandboxRoute() route {
	denied := coded("UNAUTHENTICATED", "Access denied. User is not authenticated.")
	return withBody("POST /build/sandbox/search", directory.PermissionReadSearch, sandboxSearch, large,
		withTimeout(searchTimeout), func(r *route) { r.sandbox, r.denied = true, denied })
}

// sandboxSearch is a search with fewer fields, and its errors in Onyx's envelope.
func sandboxSearch(c *call) any {
	request := wire.SearchRequest{Query: c.requireText("query", 1, 1024),
		NumResults: new(c.wholeOr("limit", 10, 1, 25))}
	request.Sources = c.texts("source_filters")
	if days := c.whole("time_cutoff_days", 1, 100*365); days != nil {
		request.TimeCutoff = &wire.Time{Time: c.Now().AddDate(0, 0, -*days)}
	}
	err := c.failure()
	var answer any
	if err == nil {
		inner := *c
		inner.fields = objectFields(mustJSON(request))
		err = guard.Ended(func() { answer = searchLibrary(&inner) })
	}
	if f, _ := explain(err, false); err != nil && f.status == http.StatusUnprocessableEntity {
		err = coded("INVALID_REQUEST", "%s", f.detail)
	} else if err != nil && f.status == http.StatusInternalServerError {
		err = errors.Join(coded("BAD_GATEWAY", "The index did not answer."), err)
	}
	return sandboxAnswer(must(answer, err).(*wire.SearchResponse))
}

// sandboxAnswer returns the answer with the fields of the first design.
func sandboxAnswer(found *wire.SearchResponse) wire.SandboxResponse {
	answer := wire.SandboxResponse{Results: []json.RawMessage{}, CitationMapping: found.CitationMapping}
	var written strings.Builder
	for _, r := range found.Results {
		answer.Results = append(answer.Results, must(json.Marshal(wire.SandboxResult.Of(&r))))
		day, _, _ := strings.Cut(text.OrEmpty(r.UpdatedAt), "T")
		about := strings.TrimSuffix(wire.SourceName(r.SourceType)+", "+day, ", ")
		fmt.Fprintf(&written, "[%d] %s (%s)\n%s\n%s\n\n%s\n\n", *cmp.Or(r.CitationID, new(0)),
			text.OneLine(r.Title), about,
			text.OneLine(text.OrEmpty(r.Link)), text.OneLine(r.DocumentID), strings.TrimSpace(r.Content))
	}
	answer.LLMFacingText = written.String()
	return answer
}
