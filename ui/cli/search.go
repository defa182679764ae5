package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/target"
)

const (
	maxQueries      = 3   // as arguments, and searched at the same time
	maxPipedQueries = 100 // with those of standard input
)

// searchOptions are the flags of search as they were written.
type searchOptions struct {
	values  field.Keys // of the flags of fields
	agentID int
	agent   string
	saved   string
	onlyNew bool

	Also        []string `flag:"also" usage:"also search these profiles (<NAMES>, by commas; local: this machine)"`
	Days        int      `flag:"days,d" usage:"only documents updated in the last <N> days, 1 to 36500"`
	Since       string   `flag:"since" usage:"only documents updated on this <DATE> or later: 2026-01-31 or 2026-01"`
	Until       string   `flag:"until" usage:"only documents updated on this <DATE> or earlier"`
	NoExpansion bool     `flag:"no-query-expansion" usage:"search for the query as written (faster)"`
	NoSelection bool     `flag:"no-document-selection" usage:"skip the selection by the language model (faster)"`
	Limit       int      `flag:"limit,n" usage:"number of results (<N>), 1 to 100 (default: those selected, up to 10)"`
	Sort        string   `flag:"sort" usage:"<ORDER> of matched documents: relevance (default), newest or oldest"`
	Offset      int      `flag:"offset" usage:"list matched documents behind the first <N>; 0 begins reading by page"`
	History     string   `flag:"history" usage:"earlier messages: a JSON <FILE> of {message, message_type}"`
	Raw         bool     `flag:"raw" usage:"print the server's answer unchanged and never cut"`
	Explain     bool     `flag:"explain" usage:"show how the results were found"`

	Format string `flag:"format,f" usage:"<FORMAT>: text (default on terminals), json (else), ndjson, md, tsv or agent"`

	given func(flag string) bool // whether a flag was set; zero is a valid number
}

// narrows reports whether a flag is a filter.
func (o *searchOptions) narrows() bool {
	return slices.ContainsFunc([]string{"days", "since", "until", "agent", "agent-id"}, o.given) ||
		slices.ContainsFunc(field.All(),
			func(row field.Field) bool { return row.Flag != nil && o.given(row.Flag.Name) })
}

// The formats of search.
const (
	formatJSON   = "json"
	formatNDJSON = "ndjson"
	formatMD     = "md"
	formatTSV    = "tsv"
	formatText   = "text"
	formatAgent  = "agent"
)

func searchFormats() []string {
	return []string{formatJSON, formatNDJSON, formatMD, formatTSV, formatText, formatAgent}
}

// searchCommands returns the commands that find passages and print them.
func (a *app) searchCommands() []*cobra.Command {
	return []*cobra.Command{a.searchCommand(), a.askCommand(), a.readCommand(), a.collectionCommand()}
}

func (a *app) searchCommand() *cobra.Command {
	options := &searchOptions{}
	is := traits{class: reads, guests: true, arguments: cobra.NoFileCompletions,
		json: prints(searchOutput{}, searchesOutput{})}
	command := a.newCommand("search QUERY…", "Search and print ranked, cited passages", is,
		func(ctx context.Context, arguments []string) {
			arguments = a.joinGuestWords(arguments)
			if len(arguments) > 1 && !slices.Contains(arguments, "-") &&
				!strings.ContainsAny(strings.Join(arguments, ""), " \t\n") {
				a.note("each argument is a separate query; to search for all words at once, quote them: %q",
					strings.Join(arguments, " "))
			}
			a.search(ctx, arguments, options)
		})
	a.searchFlags(command, options)
	a.savedFlags(command, options)
	return command
}

func (a *app) searchFlags(command *cobra.Command, options *searchOptions) {
	flags := command.Flags()
	options.given = flags.Changed
	for _, row := range field.All() {
		switch flag, into := row.Flag, &options.values[row.ID]; {
		case flag == nil:
		case flag.Commas:
			flags.StringSliceVarP(into, flag.Name, flag.Short, nil, flag.Usage)
		default:
			flags.StringArrayVarP(into, flag.Name, flag.Short, nil, flag.Usage)
		}
	}
	bindFlags(flags, options)
	agentFlags(flags, options, "search as")
}

// agentFlags choose an agent.
func agentFlags(flags *pflag.FlagSet, options *searchOptions, does string) {
	flags.IntVar(&options.agentID, "agent-id", 0, does+" the agent with this number (`N`)")
	flags.StringVar(&options.agent, "agent", "", does+" the agent with this `NAME`")
}

// searchRequest returns the request for a target with the profiles that are searched as well.
func (a *app) searchRequest(options *searchOptions) target.Request {
	request := a.request()
	request.Together, request.Also = true, cleanList(options.Also)
	return request
}

// search runs queries and prints what came back.
func (a *app) search(ctx context.Context, queries []string, options *searchOptions) {
	choice := a.decide(a.searchRequest(options))
	format := a.searchFormat(options)
	saved := a.findSaved(queries, options, choice)
	plan := a.planSearches(queries, options, choice, saved)
	a.with(ctx, a.onTarget(choice), func(ctx context.Context, c *client.Client) {
		checks := a.checkFilters(ctx, c, plan, choice)
		stop := a.busy("Searching…")
		outcomes := runSearches(ctx, c, plan, options.Raw)
		stop()
		checks.annotate(ctx, outcomes)
		if !options.onlyNew {
			a.printSearch(outcomes, format, options, choice)
			return
		}
		a.flags.MaxOutput = 0 // what is cut would be remembered as seen
		found := saved.keepNew(&outcomes[0])
		a.printSearch(outcomes, format, options, choice)
		a.markSeen(ctx, saved, found)
	})
}

// planSearches plans the given queries, those of standard input, what the filters of the flags leave, or a saved
// search.
func (a *app) planSearches(queries []string, options *searchOptions, choice target.Choice,
	saved *savedQuery) []plannedQuery {
	switch {
	case saved != nil:
		queries = []string{saved.Query}
	case len(queries) == 0 && options.narrows():
		queries = []string{""}
	default:
		queries = a.gatherQueries(queries)
	}
	plan := a.planSearch(queries, options, choice)
	if saved != nil && plan[0].request.NumResults == nil {
		wanted := savedResults
		plan[0].request.NumResults = &wanted
	}
	return plan
}

// searchFormat decides what is printed.
func (a *app) searchFormat(options *searchOptions) string {
	format := options.Format
	switch {
	case a.flags.JSON && format != "" && format != formatJSON:
		refuse("Give only one of them.", "--json and --format %s exclude each other", format)
	case options.Raw && format != "" && format != formatJSON:
		refuse("Give only one of them.", "--raw and --format %s exclude each other", format)
	case a.flags.JSON || options.Raw:
		return formatJSON
	case format == "" && a.io.OutTTY:
		return formatText
	case format == "":
		return formatJSON
	case !slices.Contains(searchFormats(), format):
		refuseChoice("format", format, searchFormats())
	}
	return format
}

// gatherQueries reads queries from standard input where "-" stands for them, and checks them.
func (a *app) gatherQueries(arguments []string) []string {
	queries, at := arguments, slices.Index(arguments, "-")
	if at >= 0 {
		queries = slices.Concat(arguments[:at], readQueries(a.io.In), arguments[at+1:])
	}
	switch {
	case at >= 0 && slices.Contains(arguments[at+1:], "-"):
		refuse("Give - once.", "standard input can be read only once")
	case len(queries) == 0:
		refuse(`Example: quarry search "how do we roll back a deploy"`, "missing argument QUERY")
	case at >= 0 && len(queries) > maxPipedQueries:
		refuse("Search in several runs.", "too many queries: the limit is %d", maxPipedQueries)
	case at < 0 && len(queries) > maxQueries:
		refuse("Quote words that belong to one query, or give up to 100 queries, a line each: quarry "+
			"search - < FILE", "too many queries: %d, the limit is %d", len(queries), maxQueries)
	}
	for _, query := range queries {
		checkQuery(query)
	}
	return queries
}

func checkQuery(query string) {
	switch length := utf8.RuneCountInString(query); {
	case !utf8.ValidString(query):
		refuse("Use UTF-8.", "the query is not valid UTF-8")
	case strings.TrimSpace(query) == "":
		refuse(`Example: quarry search "how do we roll back a deploy"`, "the query is empty")
	case length > wire.MaxQueryRunes:
		refuse("Use a shorter query.", "the query has %d characters; the limit is %d", length, wire.MaxQueryRunes)
	}
}

// readQueries reads one query a line, up to a bound.
func readQueries(from io.Reader) (queries []string) {
	const most = (maxPipedQueries + 1) * 4 * (wire.MaxQueryRunes + 1) // bytes: beyond, one is too many or too long
	lines, err := io.ReadAll(io.LimitReader(from, most))
	guard.While("read queries from standard input", err)
	for line := range strings.Lines(string(lines)) {
		if line = strings.TrimSpace(line); line != "" {
			queries = append(queries, line)
		}
	}
	return queries
}

// outcome is what one query came to: an answer or an error.
type outcome struct {
	query    plannedQuery
	response *wire.SearchResponse
	raw      json.RawMessage // the server's own body
	err      error
	nothing  string // what to say without results; empty: as usual
}

// results returns what was found; nothing for an error.
func (o outcome) results() []wire.SearchResult {
	if o.err != nil {
		return nil
	}
	return o.response.Results
}

// runSearches runs the queries, maxQueries at a time, and waits for all of them. The servers' own bodies are kept only
// for --raw: sanitising them is expensive.
func runSearches(ctx context.Context, c *client.Client, plan []plannedQuery, raw bool) []outcome {
	outcomes := make([]outcome, len(plan))
	group, _ := guard.NewGroup(ctx)
	group.SetLimit(maxQueries)
	for i, query := range plan {
		o := &outcomes[i]
		o.query, o.nothing = query, client.Unsearchable(query.text)
		search := func() (err error) {
			if raw {
				o.raw, o.response, err = c.SearchRaw(ctx, query.request)
			} else {
				o.response, err = c.Search(ctx, query.request)
			}
			o.response = cmp.Or(o.response, &wire.SearchResponse{})
			return err
		}
		group.Run(func() { o.err = guard.Call(search) })
	}
	_ = group.Wait()
	return outcomes
}

// printSearch prints what finished. One query's error is the run's; of several, only when none finished.
func (a *app) printSearch(outcomes []outcome, format string, options *searchOptions, choice target.Choice) {
	failed := slices.DeleteFunc(slices.Clone(outcomes), func(o outcome) bool { return o.err == nil })
	isCanceled := func(o outcome) bool { return client.KindOf(o.err) == client.Canceled }
	if len(failed) == len(outcomes) {
		for _, o := range slices.DeleteFunc(failed[1:], isCanceled) {
			a.note("%q: %s", o.query.text, text.OneLine(o.err.Error()))
		}
		guard.Abort(failed[0].err)
	}
	a.printOutcomes(outcomes, format, options, choice)
	if slices.ContainsFunc(failed, isCanceled) {
		guard.Abort(errInterrupted)
	}
	for _, o := range failed {
		a.note("%q failed: %s", o.query.text, text.OneLine(o.err.Error()))
	}
}

func (a *app) printOutcomes(outcomes []outcome, format string, options *searchOptions, choice target.Choice) {
	if format != formatJSON {
		a.printNotes(outcomes)
	}
	switch {
	case options.Raw:
		a.printRaw(outcomes)
	case format == formatJSON:
		a.printAnswer("search", searchAnswer(outcomes, options.Explain, a.shape))
	case format == formatNDJSON:
		a.printAnswer("search", ndjsonAnswer(outcomes, options.Explain, a.shape))
	case format == formatTSV:
		a.printLines("search", "tsv", tsvLines(outcomes))
	case format == formatMD:
		a.printResults("search", "md", markdownAnswer(outcomes))
	case format == formatAgent:
		a.printResults("search", "txt", a.agentAnswer(outcomes, choice))
	default:
		a.printPlain("search", "txt", a.searchText(outcomes, options.Explain, choice))
	}
}

// printNotes says on standard error, once each, what JSON says in the answer.
func (a *app) printNotes(outcomes []outcome) {
	var printed []string
	for _, o := range outcomes {
		if o.err != nil {
			continue
		}
		for _, note := range o.response.Notes {
			text := note.Text
			if len(outcomes) > 1 {
				text = fmt.Sprintf("%q: %s", o.query.text, text)
			}
			if note.Code != wire.NoteNoModel && !slices.Contains(printed, text) {
				printed = append(printed, text)
				a.note("%s", text)
			}
		}
		if len(o.response.Results) == 0 {
			a.say("%s", cmp.Or(o.nothing, fmt.Sprintf("No results for %q.", o.query.text)))
		}
	}
}
