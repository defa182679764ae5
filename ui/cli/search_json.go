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

// The JSON of search, version 2. One query:
//
//	{"results": [result…], "searched": ["profile"…], "total_matches"?, "notes"?: […], "schema": 2, "truncation"?}
//
// several:
//
//	{"searches": [{"query", "results", "error"?, …}…], "searched": […], "schema": 2, "truncation"?}
//
// The first six keys of a result are those of Onyx's CLI and always present. The others are present if the server sent
// them (a bare Onyx sends none) and they say something; --explain adds the empty and constant ones too, and to a result
// chunk_ind, blurb, highlights, best_passage and ranks, and to an answer queries, query_expansion, applied_filters,
// stages and facets.

// fromQuarry reports whether the server sent the additional fields.
func fromQuarry(response *wire.SearchResponse) bool {
	return len(response.Stages) > 0 || len(response.CitationMapping) > 0
}

// jsonResult is a result of an answer; several reports whether more than one server was searched.
func jsonResult(r wire.SearchResult, explain, several bool) object {
	isFull := r.DocumentID != ""
	lean := object{{"citation_id", r.CitationID}, {"title", r.Title}, {"url", r.Link}, {"source_type", r.SourceType},
		{"content", r.Content}, {"updated_at", r.UpdatedAt}}
	more := object{{"ref", r.Ref}, {"document_id", r.DocumentID}, {"chunk_start", r.ChunkStart}, {"chunk_end", r.ChunkEnd},
		{"chunk_count", r.ChunkCount}, {"heading_path?", r.HeadingPath}, {"authors?", r.Authors}, {"metadata?", r.Metadata},
		{"document_type?", r.DocumentType}, {"score", r.Score}}.
		and(explain || !r.Selected, object{{"selected", r.Selected}}).
		and(true, object{{"lines?", r.Lines}, {"bytes?", r.Bytes}})
	if explain {
		more = more.full()
	}
	return lean.and(isFull, more).
		and(isFull && explain, object{{"chunk_ind", r.ChunkInd}, {"blurb", r.Blurb}, {"highlights", r.Highlights},
			{"best_passage", r.BestPassage}, {"ranks", r.Ranks}}).
		and(several || isFull && explain, object{{"origin?", r.Origin}})
}

// jsonDetails describes the search of an answer.
func jsonDetails(response *wire.SearchResponse, explain bool) object {
	counted := fromQuarry(response)
	expansion := response.QueryExpansion
	return object{}.and(counted, object{{"total_matches", response.TotalMatches}}).
		and(explain || len(response.Notes) > 0, object{{"notes", response.Notes}}).
		and(counted && explain, object{{"queries", response.Queries},
			{"query_expansion", object{{"semantic_queries", expansion.SemanticQueries}, {"keyword_queries", expansion.KeywordQueries}}},
			{"applied_filters", response.AppliedFilters}, {"stages", response.Stages}, {"facets", response.Facets}})
}

// searchAnswer is the JSON of a search. Fields that are chosen by name are there without --explain, too.
func searchAnswer(outcomes []outcome, explain bool, shape shape) answer {
	full := explain || len(shape.fields) > 0
	return answer{sizes: resultCounts(outcomes), value: func(c cut) any {
		end := object{{"schema", schemaVersion}, {"truncation?", c.note}}
		searched := field{"searched", searchedBy(outcomes)}
		if len(outcomes) == 1 {
			response := outcomes[0].response
			one := object{{"results", jsonResults(response, full, c)}, searched}
			return slices.Concat(one, jsonDetails(response, explain), end)
		}
		searches := []object{}
		for _, o := range outcomes {
			search := object{{"query", o.query.text}}
			if o.err != nil {
				search = append(search, field{"error", clampError(o.err)}, field{"results", nil})
			} else {
				search = append(search, field{"results", jsonResults(o.response, full, c)})
				search = append(search, jsonDetails(o.response, explain)...)
			}
			searches = append(searches, search)
		}
		return append(object{{"searches", searches}, searched}, end...)
	}}
}

// resultCounts returns the number of results of each query.
func resultCounts(outcomes []outcome) []int {
	return exslices.CastFunc(outcomes, func(o outcome) int { return len(o.results()) })
}

// jsonResults returns the results that a cut leaves.
func jsonResults(response *wire.SearchResponse, explain bool, c cut) []object {
	return exslices.CastFunc(firstOf(response.Results, c.shown), func(result wire.SearchResult) object {
		return jsonResult(clipResult(result, c.content), explain, len(response.Searched) > 1)
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
	searched := []string{}
	for _, o := range outcomes {
		if o.err == nil {
			searched = union(searched, o.response.Searched)
		}
	}
	return searched
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
func (a *app) printRaw(outcomes []outcome) error {
	if len(outcomes) == 1 {
		return a.printJSON(outcomes[0].raw)
	}
	searches := []object{}
	for _, o := range outcomes {
		one := object{{"query", o.query.text}}
		if o.err != nil {
			one = append(one, field{"error", clampError(o.err)})
		}
		searches = append(searches, one.and(o.err == nil, object{{"response", o.raw}}))
	}
	return a.printJSON(object{{"searches", searches}})
}

// ndjsonAnswer prints one JSON object a line: results and errors, and a summary last. A line is
// {"type":"result","query"?,…keys of a result}, {"type":"error","query","error"} or {"type":"summary","searched",
// "total_results","total_matches"?,"notes"?,"schema","truncation"?}. A result names its query where there are several. A
// cut drops results from the end, never the summary.
func ndjsonAnswer(outcomes []outcome, explain bool, shape shape) answer {
	full := explain || len(shape.fields) > 0
	all := answer{sizes: resultCounts(outcomes)}
	all.value = func(c cut) any {
		var lines jsonLines
		var notes []wire.Note
		matches, counted := 0, false // of all queries; where the server counts
		for _, o := range outcomes {
			if o.err != nil {
				lines = append(lines, object{{"type", "error"}, {"query", o.query.text}, {"error", clampError(o.err)}})
				continue
			}
			if fromQuarry(o.response) {
				matches, counted = matches+o.response.TotalMatches, true
			}
			notes = append(notes, o.response.Notes...)
			head := object{{"type", "result"}}.and(explain || len(outcomes) > 1, object{{"query", o.query.text}})
			for _, result := range jsonResults(o.response, full, c) {
				lines = append(lines, slices.Concat(head, result))
			}
		}
		return append(lines, object{{"type", "summary"}, {"searched", searchedBy(outcomes)}, {"total_results", all.count(all.most())}}.
			and(counted, object{{"total_matches", matches}}).
			and(explain || len(notes) > 0, object{{"notes", notes}}).
			and(true, object{{"schema", schemaVersion}, {"truncation?", c.note}}))
	}
	return all
}

// tsvLines makes a line a result, without a header: citation number, title, source, date, link, ref, query. Tabs and
// line breaks inside a value become spaces.
func tsvLines(outcomes []outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		for _, r := range o.results() {
			cells := []string{passage.Citation(r), r.Title, r.SourceType, text.OrEmpty(r.UpdatedAt), text.OrEmpty(r.Link), r.Ref, o.query.text}
			for i, cell := range cells {
				cells[i] = text.OneLine(cell)
			}
			b.WriteString(strings.Join(cells, "\t") + "\n")
		}
	}
	return b.String()
}

// markdownAnswer makes a document with a section a result, whole contents included.
func markdownAnswer(outcomes []outcome) answer {
	return answer{sizes: resultCounts(outcomes), value: func(c cut) any {
		var b strings.Builder
		for _, o := range outcomes {
			if len(outcomes) > 1 {
				fmt.Fprintf(&b, "# %s\n\n", text.OneLine(o.query.text))
			}
			if o.err != nil {
				fmt.Fprintf(&b, "Failed: %s\n\n", text.OneLine(o.err.Error()))
				continue
			}
			if len(o.response.Results) == 0 {
				b.WriteString(cmp.Or(o.nothing, "No results.") + "\n\n")
			}
			for _, r := range firstOf(o.response.Results, c.shown) {
				writeMarkdownResult(&b, clipResult(r, c.content))
			}
		}
		if c.note != nil {
			b.WriteString(c.note.line())
		}
		return strings.TrimRight(b.String(), "\n") + "\n"
	}}
}

func writeMarkdownResult(b *strings.Builder, r wire.SearchResult) {
	fmt.Fprintf(b, "## [%s] %s\n\n", passage.Citation(r), text.OneLine(r.Title))
	head := []string{passage.Provenance(r)} // paragraphs, as lines alone would flow into one
	if len(r.HeadingPath) > 0 {
		head = append(head, strings.Join(r.HeadingPath, " › "))
	}
	if r.Link != nil {
		head = append(head, "<"+text.OneLine(*r.Link)+">")
	}
	if r.Ref != "" {
		head = append(head, "`"+text.OneLine(r.Ref)+"`")
	}
	b.WriteString(strings.Join(head, "\n\n") + "\n")
	if quoted := passage.Blockquote(r.Content); quoted != "" {
		b.WriteString("\n" + quoted)
	}
	b.WriteString("\n\n")
}
