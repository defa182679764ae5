package mcp

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
)

type searchArguments struct {
	Query        string   `json:"query"`
	Sources      []string `json:"sources"`
	DocumentSets []string `json:"document_sets"`
	Since        string   `json:"since"`
	Until        string   `json:"until"`
	Limit        *int     `json:"limit"`
	Fast         bool     `json:"fast"`
	MaxTokens    int      `json:"max_tokens"`
}

// searchOutput is the structured content of search. Its keys are those of quarry search --json.
type searchOutput struct {
	Results      []foundPassage `json:"results"`
	Omitted      int            `json:"omitted,omitempty" jsonschema:"results that did not fit max_tokens"`
	TotalMatches int            `json:"total_matches,omitempty" jsonschema:"documents that match, if the server counts"`
	Notes        []string       `json:"notes,omitempty"`
	Searched     []string       `json:"searched,omitempty"`
}

// foundPassage is a wire.ToolResult.
type foundPassage any

// searchSchema is the schema of a searchOutput.
func searchSchema() *jsonschema.Schema {
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[foundPassage](): outputSchema(wire.ToolResult.Type(), nil)}
	return outputSchema(reflect.TypeFor[searchOutput](), known)
}

func searchTool() *sdk.Tool {
	tool := newTool("search", "Search documents",
		"Finds passages in this organization's documents, ranked, with citation numbers and refs for the read tool. "+
			"Plain words or a question; \"exact phrase\", -word, author:kim, type:pdf, tag:team=infra narrow it. Use "+
			"it for internal knowledge, not for the public web.",
		[]string{"query"}, fields{
			"query": textField("What to search for.", maxQuery),
			"sources": namesField(
				"Only these sources, as the sources tool names them, such as slack or confluence."),
			"document_sets": namesField("Only these document sets, as the sources tool names them."),
			"since":         textField("Only documents updated on this date or later: 2026-01-31.", maxName),
			"until":         textField("Only documents updated on this date or earlier: 2026-01-31.", maxName),
			"limit":         numberField("Number of results; without it the server selects up to 10.", 1, maxLimit),
			"fast": flagField(
				"Skip the language model of the search server: faster, and finds the words as they are written."),
			"max_tokens": sizeField(searchSize),
		})
	tool.OutputSchema = searchSchema()
	return tool
}

func (s *session) search(ctx context.Context, call *sdk.CallToolRequest,
	given searchArguments) (string, searchOutput) {
	request, words := s.plan(ctx, given)
	var response *wire.SearchResponse
	if report := progress(ctx, call); report != nil {
		response = guard.Must(s.Client.SearchStream(ctx, request, report))
	} else {
		response = guard.Must(s.Client.Search(ctx, request))
	}
	if len(response.Results) == 0 {
		s.refuseUnknown(ctx, &request)
	}
	return render(response, words, cmp.Or(given.MaxTokens, searchSize))
}

// refuseUnknown refuses the first value of a filter that no document has. The plan checked the sources, and the server
// the document sets.
func (s *session) refuseUnknown(ctx context.Context, request *wire.SearchRequest) {
	for _, row := range field.All() {
		if row.ID == field.Source || row.ID == field.Set {
			continue
		}
		for _, value := range row.Of(request.Filters) {
			if has, known := s.Client.HasValue(ctx, row, value); !has {
				guard.Abort(mistake(wire.Hint(value, "omit the filter", known), "unknown %s %q", row.Noun, value))
			}
		}
	}
}

// plan makes the request of checked arguments, and returns the words to look for in its results.
func (s *session) plan(ctx context.Context,
	given searchArguments) (request wire.SearchRequest, words []string) {
	dates := slices.DeleteFunc([]string{given.Since, given.Until}, func(date string) bool { return date == "" })
	guard.Check(cmp.Or(checkText("query", given.Query), checkText("sources", given.Sources...),
		checkText("document_sets", given.DocumentSets...), checkText("a date", dates...)))
	parsed := client.ParseQuery(given.Query, time.Now())
	if !parsed.HasWords() && !parsed.Browses() {
		guard.Abort(mistake("give words to search for, or a filter like source:slack", "query has no words"))
	}
	request = parsed.Request()
	request.Browse = !parsed.HasWords()
	request.NumResults = given.Limit
	request.SkipQueryExpansion = request.SkipQueryExpansion || given.Fast
	request.SkipDocumentSelection = given.Fast
	request.Sources = s.sourcesOf(ctx, append(request.Sources, given.Sources...))
	field.Of(field.Set).Request(&request.Filters).Put(given.DocumentSets...)
	setDates(&request, given)
	request.PersonaID = guard.Must(s.Client.ResolveAgent(ctx, parsed.Agent, s.Agent))
	return request, passage.Words(parsed)
}

// sourcesOf refuses a source that is neither one of Onyx's nor one of the server's own.
func (s *session) sourcesOf(ctx context.Context, sources []string) []string {
	for i, source := range sources {
		sources[i] = strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(source)))
		if _, known := wire.LookupSource(sources[i]); known {
			continue
		}
		list := s.Client.ListSources(ctx).Values
		if len(list) == 0 || slices.Contains(list, sources[i]) {
			continue
		}
		hint := wire.Hint(sources[i], "use one of "+text.Shorten(strings.Join(list, ", "), maxProblem), list)
		guard.Abort(mistake(hint, "unknown source %q", source))
	}
	return sources
}

// setDates adds the range of dates. The day of until is in it.
func setDates(request *wire.SearchRequest, given searchArguments) {
	for _, date := range []struct {
		name, value string
		to          **wire.Time
	}{{"since", given.Since, &request.TimeCutoff}, {"until", given.Until, &request.TimeUntil}} {
		if date.value == "" {
			continue
		}
		first, last, ok := client.ParseDate(date.value, time.Local)
		if !ok {
			guard.Abort(mistake("use a date like 2026-01-31 or 2026-01", "%s %q is not a date", date.name, date.value))
		}
		if *date.to = (&wire.Time{Time: first}); date.name == "until" {
			(*date.to).Time = last
		}
	}
	if request.TimeCutoff != nil && request.TimeUntil != nil && request.TimeUntil.Before(request.TimeCutoff.Time) {
		guard.Abort(mistake("swap the dates, or omit one", "since is after until"))
	}
}

// stages is the number of stages of a search.
const stages = 6

// progress returns a function that reports the stages of a search to a caller who asked for it; nil if not.
func progress(ctx context.Context, call *sdk.CallToolRequest) func(wire.SearchEvent) {
	token := call.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	done := 0
	return func(event wire.SearchEvent) {
		if event.Type != wire.EventStage || event.State != "end" || done >= stages {
			return
		}
		done++
		// A caller who is gone needs none.
		_ = call.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token,
			Progress: float64(done), Total: stages, Message: text.OneLine(event.Name + " " + event.Outcome)})
	}
}

// render writes results as text for a model and as structured content, both within a number of tokens.
func render(response *wire.SearchResponse, words []string, budget int) (string, searchOutput) {
	output := searchOutput{Results: []foundPassage{}, TotalMatches: response.TotalMatches, Searched: response.Searched}
	for _, note := range response.Notes {
		if note.Code != wire.NoteNoModel { // which says nothing of these results
			output.Notes = append(output.Notes, text.OneLine(note.Text))
		}
	}
	ending := "next: read a ref, or search in other words"
	if len(response.Results) == 0 {
		ending = "no results\nnext: search in other words or with fewer filters; the sources tool lists what can be " +
			"searched"
	}
	if len(output.Notes) > 0 {
		ending = text.ClipTokens("note: "+strings.Join(output.Notes, "; "), minTokens/4) + "\n" + ending
	}
	const omission = 20 // tokens of the line that counts what is left out
	left := budget - text.EstimateTokens(ending) - omission
	blocks := passage.Blocks{Origins: len(response.Searched) > 1}
	var written strings.Builder
	for i, r := range response.Results {
		excerpt := passage.Short(r, words, passage.BlockExcerpt)
		r = passage.Best(r)
		block := blocks.Block(r, excerpt)
		if size := text.EstimateTokens(block); size > left {
			if i > 0 {
				output.Omitted = len(response.Results) - i
				break
			}
			excerpt = text.ClipTokens(excerpt, max(0, left-(size-text.EstimateTokens(excerpt))))
			block = text.ClipTokens((&passage.Blocks{}).Block(r, excerpt), left)
		}
		left -= text.EstimateTokens(block)
		written.WriteString(block)
		output.Results = append(output.Results, found(r, excerpt, blocks.Origins))
	}
	if output.Omitted > 0 {
		fmt.Fprintf(&written, "%s omitted; raise max_tokens to see more\n", text.Count(output.Omitted, "result"))
	}
	return written.String() + ending + "\n", output
}

func found(r wire.SearchResult, excerpt string, origins bool) foundPassage {
	r.Title, r.Content, r.Ref = passage.Title(r), excerpt, r.ShortestRef()
	if !origins {
		r.Origin = ""
	}
	return wire.ToolResult.Of(&r)
}
