package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/passage"
)

// The JSON of search, version 1. One query:
//
//	{"results": [result…], "searched": ["profile"…], "total_matches"?, "notes": […], "schema": 1, "truncation"?}
//
// several:
//
//	{"searches": [{"query", "results", "error"?, …}…], "searched": […], "schema": 1, "truncation"?}
//
// The first six keys of a result are those of Onyx's CLI and always present. The others are present if the server sent
// them; a bare Onyx sends none. --explain adds, to a result, chunk_ind, blurb,
// highlights, best_passage and ranks, and to an answer, queries, query_expansion, applied_filters, stages and facets.

type jsonResult struct {
	CitationID *int    `json:"citation_id"`
	Title      string  `json:"title"`
	URL        *string `json:"url"`
	SourceType string  `json:"source_type"`
	Content    string  `json:"content"`
	UpdatedAt  *string `json:"updated_at"`

	*jsonResultMore

	Origin string `json:"origin,omitempty"` // with more than Onyx's own fields, or where several were searched
}

// jsonResultMore has the fields that only a quarry server sends.
type jsonResultMore struct {
	Ref          string                   `json:"ref"`
	DocumentID   string                   `json:"document_id"`
	ChunkStart   int                      `json:"chunk_start"`
	ChunkEnd     int                      `json:"chunk_end"`
	ChunkCount   int                      `json:"chunk_count"`
	HeadingPath  []string                 `json:"heading_path"`
	Authors      []string                 `json:"authors"`
	Metadata     map[string]wire.Metadata `json:"metadata"`
	DocumentType string                   `json:"document_type"`
	Score        float64                  `json:"score"`
	Selected     bool                     `json:"selected"`

	*jsonResultExplained
}

type jsonResultExplained struct {
	ChunkInd    int            `json:"chunk_ind"`
	Blurb       string         `json:"blurb"`
	Highlights  []wire.Span    `json:"highlights"`
	BestPassage wire.Span      `json:"best_passage"`
	Ranks       map[string]int `json:"ranks"`
}

// jsonDetails describes the search of an answer.
type jsonDetails struct {
	TotalMatches *int        `json:"total_matches,omitempty"`
	Notes        []wire.Note `json:"notes"`

	*jsonExplained
}

type jsonExplained struct {
	Queries        []wire.ExecutedQuery `json:"queries"`
	QueryExpansion wire.QueryExpansion  `json:"query_expansion"`
	AppliedFilters []wire.AppliedFilter `json:"applied_filters"`
	Stages         []wire.Stage         `json:"stages"`
	Facets         wire.Facets          `json:"facets"`
}

type jsonSearch struct {
	Results  []jsonResult `json:"results"`
	Searched []string     `json:"searched"`
	jsonDetails
	Schema     int         `json:"schema"`
	Truncation *truncation `json:"truncation,omitempty"`
}

type jsonSearches struct {
	Searches   []jsonOneOfMany `json:"searches"`
	Searched   []string        `json:"searched"`
	Schema     int             `json:"schema"`
	Truncation *truncation     `json:"truncation,omitempty"`
}

type jsonOneOfMany struct {
	Query   string       `json:"query"`
	Error   string       `json:"error,omitempty"`
	Results []jsonResult `json:"results"` // null with an error
	*jsonDetails
}

// fromQuarry reports whether the server sent the additional fields.
func fromQuarry(response *wire.SearchResponse) bool {
	return len(response.Stages) > 0 || len(response.CitationMapping) > 0
}

func newJSONResult(result wire.SearchResult, explain, several bool) jsonResult {
	lean := jsonResult{
		CitationID: result.CitationID, Title: result.Title, URL: result.Link, SourceType: result.SourceType,
		Content: result.Content, UpdatedAt: result.UpdatedAt,
	}
	if result.DocumentID != "" || several {
		lean.Origin = result.Origin
	}
	if result.DocumentID == "" {
		return lean
	}
	lean.jsonResultMore = &jsonResultMore{
		Ref: result.Ref, DocumentID: result.DocumentID, ChunkStart: result.ChunkStart, ChunkEnd: result.ChunkEnd,
		ChunkCount: result.ChunkCount, HeadingPath: nonNil(result.HeadingPath), Authors: nonNil(result.Authors),
		Metadata: result.Metadata, DocumentType: result.DocumentType, Score: result.Score, Selected: result.Selected,
	}
	if lean.Metadata == nil {
		lean.Metadata = map[string]wire.Metadata{}
	}
	if explain {
		lean.jsonResultExplained = &jsonResultExplained{
			ChunkInd: result.ChunkInd, Blurb: result.Blurb, Highlights: nonNil(result.Highlights),
			BestPassage: result.BestPassage, Ranks: result.Ranks,
		}
		if lean.Ranks == nil {
			lean.Ranks = map[string]int{}
		}
	}
	return lean
}

func newJSONDetails(response *wire.SearchResponse, explain bool) jsonDetails {
	details := jsonDetails{Notes: nonNil(response.Notes)}
	if !fromQuarry(response) {
		return details
	}
	details.TotalMatches = &response.TotalMatches
	if explain {
		details.jsonExplained = &jsonExplained{
			Queries: nonNil(response.Queries), QueryExpansion: response.QueryExpansion,
			AppliedFilters: nonNil(response.AppliedFilters), Stages: nonNil(response.Stages), Facets: response.Facets,
		}
		expansion := &details.QueryExpansion
		expansion.SemanticQueries = nonNil(expansion.SemanticQueries)
		expansion.KeywordQueries = nonNil(expansion.KeywordQueries)
	}
	return details
}

// nonNil turns a missing list into an empty one.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// searchAnswer is the JSON of a search, whole or cut.
type searchAnswer struct {
	outcomes []outcome
	explain  bool
}

func (s searchAnswer) most() int {
	most := 0
	for _, o := range s.outcomes {
		most = max(most, len(o.results()))
	}
	return most
}

func (s searchAnswer) count(shown int) int {
	total := 0
	for _, o := range s.outcomes {
		total += min(shown, len(o.results()))
	}
	return total
}

func (s searchAnswer) encode(c cut) ([]byte, error) {
	searched := searchedBy(s.outcomes)
	if len(s.outcomes) == 1 {
		response := s.outcomes[0].response
		return encodeJSON(jsonSearch{
			Results: s.results(response, c), Searched: searched, jsonDetails: newJSONDetails(response, s.explain),
			Schema: schemaVersion, Truncation: c.note,
		})
	}
	answer := jsonSearches{Searched: searched, Schema: schemaVersion, Truncation: c.note}
	for _, o := range s.outcomes {
		one := jsonOneOfMany{Query: o.query.text}
		if o.err != nil {
			one.Error = clampError(o.err)
		} else {
			details := newJSONDetails(o.response, s.explain)
			one.Results, one.jsonDetails = s.results(o.response, c), &details
		}
		answer.Searches = append(answer.Searches, one)
	}
	return encodeJSON(answer)
}

func (s searchAnswer) results(response *wire.SearchResponse, c cut) []jsonResult {
	kept := response.Results[:min(c.shown, len(response.Results))]
	results := make([]jsonResult, 0, len(kept))
	for _, result := range kept {
		results = append(results, newJSONResult(clipResult(result, c.content), s.explain, len(response.Searched) > 1))
	}
	return results
}

// clipResult keeps at most limit bytes of the content, and of what points into it what still does.
func clipResult(result wire.SearchResult, limit int) wire.SearchResult {
	if limit < 0 || len(result.Content) <= limit {
		return result
	}
	result.Content = text.Clip(result.Content, limit)
	end := len(result.Content)
	var spans []wire.Span
	for _, span := range result.Highlights {
		if span[1] <= end {
			spans = append(spans, span)
		}
	}
	result.Highlights = spans
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
	type one struct {
		Query    string          `json:"query"`
		Response json.RawMessage `json:"response,omitempty"`
		Error    string          `json:"error,omitempty"`
	}
	answer := struct {
		Searches []one `json:"searches"`
	}{}
	for _, o := range outcomes {
		item := one{Query: o.query.text, Response: o.raw}
		if o.err != nil {
			item.Error, item.Response = clampError(o.err), nil
		}
		answer.Searches = append(answer.Searches, item)
	}
	return a.printJSON(answer)
}

// ndjsonAnswer prints one JSON object a line: results and errors, and a summary last. A line is
// {"type":"result","query",…keys of a result}, {"type":"error","query","error"} or {"type":"summary","searched",
// "total_results","total_matches"?,"notes","schema","truncation"?}. A cut drops results from the end, never the summary.
type ndjsonAnswer struct{ searchAnswer }

type ndjsonResult struct {
	Type  string `json:"type"`
	Query string `json:"query"`
	jsonResult
}

type ndjsonError struct {
	Type  string `json:"type"`
	Query string `json:"query"`
	Error string `json:"error"`
}

type ndjsonSummary struct {
	Type         string      `json:"type"`
	Searched     []string    `json:"searched"`
	TotalResults int         `json:"total_results"`
	TotalMatches *int        `json:"total_matches,omitempty"` // of all queries; where the server counts
	Notes        []wire.Note `json:"notes"`
	Schema       int         `json:"schema"`
	Truncation   *truncation `json:"truncation,omitempty"`
}

func (n ndjsonAnswer) encode(c cut) ([]byte, error) {
	summary := ndjsonSummary{Type: "summary", Searched: searchedBy(n.outcomes), Notes: []wire.Note{},
		TotalResults: n.count(n.most()), Schema: schemaVersion, Truncation: c.note}
	var lines []any
	for _, o := range n.outcomes {
		if o.err != nil {
			lines = append(lines, ndjsonError{"error", o.query.text, clampError(o.err)})
			continue
		}
		if fromQuarry(o.response) {
			total := o.response.TotalMatches
			if summary.TotalMatches != nil {
				total += *summary.TotalMatches
			}
			summary.TotalMatches = &total
		}
		summary.Notes = append(summary.Notes, o.response.Notes...)
		for _, result := range n.results(o.response, c) {
			lines = append(lines, ndjsonResult{"result", o.query.text, result})
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	for _, line := range append(lines, summary) {
		if err := encoder.Encode(line); err != nil {
			return nil, fmt.Errorf("encode the answer: %w", err)
		}
	}
	return b.Bytes(), nil
}

// tsvLines makes a line a result, without a header: citation number, title, source, date, link, ref, query. Tabs and
// line breaks inside a value become spaces.
func tsvLines(outcomes []outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		for _, r := range o.results() {
			cells := []string{passage.Citation(r), r.Title, r.SourceType, deref(r.UpdatedAt), deref(r.Link), r.Ref, o.query.text}
			for i, cell := range cells {
				cells[i] = text.OneLine(cell)
			}
			b.WriteString(strings.Join(cells, "\t") + "\n")
		}
	}
	return b.String()
}

// markdown makes a document with a section a result, whole contents included.
func markdown(outcomes []outcome) string {
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
			b.WriteString("No results.\n\n")
		}
		for _, r := range o.response.Results {
			writeMarkdownResult(&b, r)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
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

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
