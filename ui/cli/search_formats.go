package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"quarry/client/wire"
	"quarry/ui/passage"
)

// printNDJSON prints one JSON object a line: results and errors, and a summary last. A line is
// {"type":"result","query",…keys of a result}, {"type":"error","query","error"} or {"type":"summary","searched",
// "total_results","total_matches"?,"notes","schema","truncation"?}. A cut drops results from the end, never the summary.
func (a *app) printNDJSON(outcomes []outcome, explain, private bool) error {
	return a.printAnswer("search", ndjsonAnswer{newSearchAnswer(outcomes, explain)}, private, false)
}

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
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	summary := ndjsonSummary{Type: "summary", Searched: searchedBy(n.outcomes), Notes: []wire.Note{},
		TotalResults: n.count(n.most()), Schema: schemaVersion, Truncation: c.note}
	for _, o := range n.outcomes {
		if o.err != nil {
			if err := encoder.Encode(ndjsonError{"error", o.query.text, clampError(o.err)}); err != nil {
				return nil, fmt.Errorf("encode the answer: %w", err)
			}
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
			if err := encoder.Encode(ndjsonResult{"result", o.query.text, result}); err != nil {
				return nil, fmt.Errorf("encode the answer: %w", err)
			}
		}
	}
	if err := encoder.Encode(summary); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return text.Bytes(), nil
}

// tsvLines makes a line a result, without a header: citation number, title, source, date, link, ref, query. Tabs and
// line breaks inside a value become spaces.
func tsvLines(outcomes []outcome) [][]byte {
	var lines [][]byte
	for _, o := range outcomes {
		if o.err != nil {
			continue
		}
		for _, r := range o.response.Results {
			cells := []string{passage.Citation(r), r.Title, r.SourceType, deref(r.UpdatedAt), deref(r.Link), r.Ref, o.query.text}
			for i, cell := range cells {
				cells[i] = oneLine(cell)
			}
			lines = append(lines, []byte(strings.Join(cells, "\t")+"\n"))
		}
	}
	return lines
}

// markdown makes a document with a section a result, whole contents included.
func markdown(outcomes []outcome) []byte {
	var text strings.Builder
	for _, o := range outcomes {
		if len(outcomes) > 1 {
			fmt.Fprintf(&text, "# %s\n\n", oneLine(o.query.text))
		}
		if o.err != nil {
			fmt.Fprintf(&text, "Failed: %s\n\n", oneLine(o.err.Error()))
			continue
		}
		if len(o.response.Results) == 0 {
			text.WriteString("No results.\n\n")
		}
		for _, r := range o.response.Results {
			writeMarkdownResult(&text, r)
		}
	}
	return []byte(strings.TrimRight(text.String(), "\n") + "\n")
}

func writeMarkdownResult(text *strings.Builder, r wire.SearchResult) {
	fmt.Fprintf(text, "## [%s] %s\n\n", passage.Citation(r), oneLine(r.Title))
	head := []string{passage.Provenance(r)} // paragraphs, as lines alone would flow into one
	if len(r.HeadingPath) > 0 {
		head = append(head, strings.Join(r.HeadingPath, " › "))
	}
	if r.Link != nil {
		head = append(head, "<"+oneLine(*r.Link)+">")
	}
	if r.Ref != "" {
		head = append(head, "`"+oneLine(r.Ref)+"`")
	}
	text.WriteString(strings.Join(head, "\n\n") + "\n")
	if quoted := passage.Blockquote(r.Content); quoted != "" {
		text.WriteString("\n" + quoted)
	}
	text.WriteString("\n\n")
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
