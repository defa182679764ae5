package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/passage"
)

// foundResult is a result in JSON: a wire.BasicResult of a bare Onyx, else a wire.AgentResult or, with --explain, a
// wire.FullResult.
type foundResult any

// searchDetails describe the search of an answer. Only --explain prints the keys behind the notes, and empty lists.
type searchDetails struct {
	TotalMatches   *int                 `json:"total_matches,omitempty" jsonschema:"matching documents"`
	Notes          []wire.Note          `json:"notes,omitzero" jsonschema:"what to know about the results"`
	Queries        []wire.ExecutedQuery `json:"queries,omitzero"`
	QueryExpansion *wire.QueryExpansion `json:"query_expansion,omitempty"`
	AppliedFilters []wire.AppliedFilter `json:"applied_filters,omitzero"`
	Stages         []wire.Stage         `json:"stages,omitzero"`
	Facets         *wire.Facets         `json:"facets,omitempty"`
}

// searchOutput is the JSON of search with one query.
type searchOutput struct {
	Results  []foundResult `json:"results"`
	Searched []string      `json:"searched" jsonschema:"profiles that were searched"`
	searchDetails
	ending
}

// searchesOutput is the JSON of search with several queries.
type searchesOutput struct {
	Searches []oneOfSearches `json:"searches"`
	Searched []string        `json:"searched" jsonschema:"profiles that were searched"`
	ending
}

// oneOfSearches is a query with its results, or why it failed.
type oneOfSearches struct {
	Query   string         `json:"query"`
	Error   string         `json:"error,omitempty" jsonschema:"why the query failed"`
	Results *[]foundResult `json:"results" jsonschema:"null if the query failed"`
	searchDetails
}

// fromQuarry reports whether the server sent the additional fields.
func fromQuarry(response *wire.SearchResponse) bool {
	return len(response.Stages) > 0 || len(response.CitationMapping) > 0
}

// jsonResult is a result of an answer; several reports whether more than one server was searched.
func jsonResult(r *wire.SearchResult, explain, several bool) foundResult {
	isQuarry := r.DocumentID != ""
	if explain && isQuarry {
		return wire.FullResult.Of(r)
	}
	if !several {
		r.Origin = ""
	}
	if isQuarry {
		return wire.AgentResult.Of(r)
	}
	return wire.BasicResult.Of(r)
}

// jsonDetails describes the search of an answer.
func jsonDetails(response *wire.SearchResponse, explain bool) searchDetails {
	details := searchDetails{}
	if len(response.Notes) > 0 {
		details.Notes = response.Notes
	}
	switch {
	case !fromQuarry(response):
	case explain:
		return searchDetails{&response.TotalMatches, response.Notes, response.Queries, &response.QueryExpansion,
			response.AppliedFilters, response.Stages, &response.Facets}
	default:
		details.TotalMatches = &response.TotalMatches
	}
	return details
}

// searchAnswer is the JSON of a search. Fields that are chosen by name are there without --explain, too.
func searchAnswer(outcomes []outcome, explain bool, shape shape) answer {
	full := explain || len(shape.fields) > 0
	return answer{sizes: resultCounts(outcomes), value: func(c cut) any {
		searched, end := searchedBy(outcomes), ending{schemaVersion, c.note}
		if len(outcomes) == 1 {
			response := outcomes[0].response
			return searchOutput{jsonResults(response, full, c), searched, jsonDetails(response, explain), end}
		}
		searches := exslices.CastFunc(outcomes, func(o outcome) oneOfSearches {
			if o.err != nil {
				return oneOfSearches{Query: o.query.text, Error: clampError(o.err)}
			}
			results := jsonResults(o.response, full, c)
			return oneOfSearches{Query: o.query.text, Results: &results,
				searchDetails: jsonDetails(o.response, explain)}
		})
		return searchesOutput{searches, searched, end}
	}}
}

// resultCounts returns the number of results of each query.
func resultCounts(outcomes []outcome) []int {
	return exslices.CastFunc(outcomes, func(o outcome) int { return len(o.results()) })
}

// jsonResults returns the results that a cut leaves.
func jsonResults(response *wire.SearchResponse, explain bool, c cut) []foundResult {
	return exslices.CastFunc(firstOf(response.Results, c.shown), func(result wire.SearchResult) foundResult {
		clipped := clipResult(result, c.content)
		return jsonResult(&clipped, explain, len(response.Searched) > 1)
	})
}

// clipResult keeps at most limit bytes of the content, and of what points into it what still does.
func clipResult(result wire.SearchResult, limit int) wire.SearchResult {
	if limit < 0 || len(result.Content) <= limit {
		return result
	}
	result.Content = text.Clip(result.Content, limit)
	end := len(result.Content)
	isCut := func(span wire.Span) bool { return span[1] > end }
	result.Highlights = slices.DeleteFunc(slices.Clone(result.Highlights), isCut)
	result.BestPassage = wire.Span{min(result.BestPassage[0], end), min(result.BestPassage[1], end)}
	result.Blurb = text.Clip(result.Blurb, limit)
	return result
}

// searchedBy collects where the queries went.
func searchedBy(outcomes []outcome) []string {
	var searched []string
	for _, o := range outcomes {
		if o.err == nil {
			searched = append(searched, o.response.Searched...)
		}
	}
	return exslices.DeduplicateUnsorted(searched)
}

// clampError bounds an error inside an answer, as Onyx's CLI does.
func clampError(err error) string {
	const longest = 2000
	reason := text.OneLine(err.Error())
	for {
		encoded, encodeErr := json.Marshal(reason)
		if encodeErr != nil || len(encoded) <= longest || reason == "" {
			return reason
		}
		reason = text.Clip(reason, len(reason)-max(1, (len(encoded)-longest)/6))
	}
}

// printRaw prints what the servers answered. It is never cut.
func (a *app) printRaw(outcomes []outcome) {
	if len(outcomes) == 1 {
		a.printJSON(outcomes[0].raw)
		return
	}
	type search struct {
		Query    string          `json:"query"`
		Error    string          `json:"error,omitempty"`
		Response json.RawMessage `json:"response,omitempty"`
	}
	a.printJSON(map[string][]search{"searches": exslices.CastFunc(outcomes, func(o outcome) search {
		if o.err != nil {
			return search{Query: o.query.text, Error: clampError(o.err)}
		}
		return search{Query: o.query.text, Response: o.raw}
	})})
}

// resultLine is a result in ndjson. It names its query where there are several.
type resultLine struct {
	Type  string `json:"type"`
	Query string `json:"query,omitempty" jsonschema:"if there are several"`
}

// errorLine is a failed query in ndjson.
type errorLine struct {
	Type  string `json:"type"`
	Query string `json:"query"`
	Error string `json:"error"`
}

// summaryLine is the last line of ndjson.
type summaryLine struct {
	Type         string      `json:"type"`
	Searched     []string    `json:"searched" jsonschema:"profiles that were searched"`
	TotalResults int         `json:"total_results"`
	TotalMatches *int        `json:"total_matches,omitempty" jsonschema:"matching documents"`
	Notes        []wire.Note `json:"notes,omitzero" jsonschema:"what to know about the results"`
	ending
}

// ndjsonAnswer prints one JSON object a line: results and errors, and a summary last. A cut drops results from the end,
// never the summary.
func ndjsonAnswer(outcomes []outcome, explain bool, shape shape) answer {
	full := explain || len(shape.fields) > 0
	all := answer{sizes: resultCounts(outcomes)}
	all.value = func(c cut) any {
		var lines jsonLines
		matches := 0
		summary := summaryLine{Type: lineSummary, Searched: searchedBy(outcomes), TotalResults: all.count(all.most()),
			ending: ending{schemaVersion, c.note}}
		for _, o := range outcomes {
			if o.err != nil {
				lines = append(lines, objectOf(errorLine{lineError, o.query.text, clampError(o.err)}))
				continue
			}
			if fromQuarry(o.response) {
				matches += o.response.TotalMatches
				summary.TotalMatches = &matches
			}
			if details := jsonDetails(o.response, explain); details.Notes != nil {
				summary.Notes = append(append([]wire.Note{}, summary.Notes...), details.Notes...)
			}
			head := resultLine{Type: lineResult}
			if explain || len(outcomes) > 1 {
				head.Query = o.query.text
			}
			for _, result := range jsonResults(o.response, full, c) {
				lines = append(lines, slices.Concat(objectOf(head), objectOf(result)))
			}
		}
		return append(lines, objectOf(summary))
	}
	return all
}

// The types of the lines of ndjson.
const (
	lineResult  = "result"
	lineError   = "error"
	lineSummary = "summary"
)

// tsvLines makes a line a result, without a header: citation number, title, source, date, link, ref, query. Tabs and
// line breaks inside a value become spaces.
func tsvLines(outcomes []outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		for _, r := range o.results() {
			cells := []string{passage.Citation(r), r.Title, r.SourceType, text.OrEmpty(r.UpdatedAt),
				text.OrEmpty(r.Link), r.Ref, o.query.text}
			b.WriteString(strings.Join(exslices.CastFunc(cells, text.OneLine), "\t") + "\n")
		}
	}
	return b.String()
}

// markdownAnswer makes a document with a section a result, whole contents included.
func markdownAnswer(outcomes []outcome) answer {
	return answer{sizes: resultCounts(outcomes), value: func(c cut) any {
		section := func(_ outcome, r wire.SearchResult) string { return markdownOf(clipResult(r, c.content)) }
		all := eachResult(outcomes, c, section)
		if c.note != nil {
			all += c.note.line()
		}
		return strings.TrimRight(all, "\n") + "\n"
	}}
}

// eachResult writes the results of all queries one after the other.
func eachResult(outcomes []outcome, c cut, write func(outcome, wire.SearchResult) string) string {
	var b strings.Builder
	for _, o := range outcomes {
		if len(outcomes) > 1 {
			fmt.Fprintf(&b, "# %s\n\n", text.OneLine(o.query.text))
		}
		if o.err != nil {
			fmt.Fprintf(&b, "Failed: %s\n\n", clampError(o.err))
			continue
		}
		if len(o.response.Results) == 0 {
			b.WriteString(cmp.Or(o.nothing, "No results.") + "\n\n")
		}
		for _, r := range firstOf(o.response.Results, c.shown) {
			b.WriteString(write(o, r))
		}
	}
	return b.String()
}

func markdownOf(r wire.SearchResult) string {
	authors, ref := text.OneLine(strings.Join(r.Authors, ", ")), ""
	if r.Ref != "" && r.Citation == "" {
		ref = "`" + text.OneLine(r.Ref) + "`"
	}
	// Paragraphs, as lines alone would flow into one.
	return text.Join("\n\n", "## "+passage.Cite(r), authors, passage.Related(r), ref, passage.Blockquote(r.Content)) +
		"\n\n"
}
