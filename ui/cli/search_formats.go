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
