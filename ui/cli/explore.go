package cli

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

// Exploration is what a person wants to explore, and how.
type Exploration struct {
	Target  target.Choice
	Query   string // with the flags as its filters; it runs at once. Empty: the person is asked
	Limit   int    // of results; 0: the explorer's own
	Plain   bool   // line by line instead of a full screen, for screen readers
	NoColor bool   // --no-color

	// Chosen is called with the passages that the person chooses, on the terminal of the process whatever its standard
	// streams are; nil: nobody waits for a choice. Unfit returns why a passage cannot be chosen, "" if it can.
	Chosen func([]wire.SearchResult)
	Unfit  func(wire.SearchResult) string
}

// printingFlags are those of search that only make sense for printed results.
func printingFlags() []string {
	return strings.Fields("json max-output budget indent fields jq template format raw explain history " +
		"no-query-expansion no-document-selection sort offset")
}

// plain reports whether lines instead of a full screen were requested.
func (a *app) plain() bool {
	accessible := a.io.Env.Getenv("ACCESSIBLE")
	return a.flags.Plain || accessible != "" && accessible != "0" && !strings.EqualFold(accessible, "false")
}

// explores reports whether words without a command open the explorer. That needs a person at both ends, a terminal that
// can be drawn on unless lines will do, and no flag for printed results.
func (a *app) explores(command *cobra.Command, words []string) bool {
	if !a.io.InTTY || !a.io.OutTTY || a.io.isDumb() && !a.plain() {
		return false
	}
	printed := slices.ContainsFunc(printingFlags(), command.Flags().Changed)
	return !printed && !slices.Equal(words, []string{"-"})
}

// exploration reads what is to be explored.
func (a *app) exploration(command *cobra.Command, words []string, options *searchOptions) Exploration {
	a.noteNearCommand(command, words)
	request := a.searchRequest(options)
	request.Terminal = true
	return Exploration{Target: a.chosen(request),
		Query: a.explorationQuery(strings.TrimSpace(strings.Join(words, " ")), options),
		Limit: options.Limit, Plain: a.plain(), NoColor: a.flags.NoColor}
}

// explore opens the explorer. Errors before it draws are printed as by any other command.
func (a *app) explore(command *cobra.Command, words []string, options *searchOptions) {
	a.openExplorer(command.Context(), a.exploration(command, words, options))
}

func (a *app) openExplorer(ctx context.Context, e Exploration) {
	if a.flags.Timeout > 0 {
		ctx = client.WithTimeout(ctx, a.flags.Timeout) // of each search, not of the session
	}
	a.waits.Store(true) // the terminal must be given back as it was
	guard.Check(a.program.Explore(ctx, e))
	guard.Check(context.Cause(ctx))
}

// explorationQuery appends the flags to the query as filters. Flags override filters of the same field.
func (a *app) explorationQuery(words string, options *searchOptions) string {
	if words != "" {
		checkQuery(words)
	}
	filters := a.flagFilters(a.flagRequest(options), options)
	for _, filter := range filters {
		field, _, _ := strings.Cut(filter, ":")
		words = a.removeReplaced(words, field)
	}
	parts := append([]string{words}, filters...)
	if slices.ContainsFunc(client.Tokens(words), func(t client.Token) bool { return t.Open }) {
		parts = append(filters, words) // a quotation mark in a filter would close the open one
	}
	query := strings.TrimSpace(strings.Join(parts, " "))
	if query != "" {
		checkQuery(query)
	}
	return query
}

// flagFilters writes flags as the filters that mean the same.
func (a *app) flagFilters(request wire.SearchRequest, options *searchOptions) (filters []string) {
	add := func(flag, field string, values ...string) {
		filter := field + ":" + strings.Join(exslices.CastFunc(values, func(value string) string {
			if strings.ContainsAny(value, " ,") {
				return `"` + value + `"`
			}
			return value
		}), ",")
		read := client.ParseQuery(filter, a.now())
		if len(read.Chips) != 1 || read.Chips[0].Raw != filter || read.Chips[0].Value != strings.Join(values, ",") {
			refuse("Print the results instead: add --format text", "the explorer has no filter for --%s %q",
				flag, strings.Join(values, ","))
		}
		filters = append(filters, filter)
	}
	for _, row := range field.All() {
		switch values := row.Of(request.Filters); {
		case len(values) == 0:
		case row.Flag.Commas:
			add(row.Flag.Name, row.Name, values...)
		default:
			for _, value := range values {
				add(row.Flag.Name, row.Name, value)
			}
		}
	}
	switch {
	case options.given("days"):
		add("days", "within", strconv.Itoa(options.Days)+"d")
	case request.TimeCutoff != nil:
		add("since", "since", formatDate(options.Since, request.TimeCutoff))
	}
	if request.TimeUntil != nil {
		add("until", "until", formatDate(options.Until, request.TimeUntil))
	}
	switch {
	case request.PersonaID != nil:
		add("agent-id", "agent", strconv.Itoa(*request.PersonaID))
	case options.agent != "":
		add("agent", "agent", options.agent)
	}
	return filters
}

// formatDate writes a date as the query language reads it: a day, a month or a year as it was given, a moment in full.
func formatDate(written string, moment *wire.Time) string {
	if written = strings.TrimSpace(written); len(written) <= len(time.DateOnly) {
		return written
	}
	return moment.UTC().Format(time.RFC3339)
}

// removeReplaced takes filters out of a query that a flag replaces: a search has one beginning, one end and one agent.
func (a *app) removeReplaced(query, field string) string {
	rivals := map[string][]string{
		"within": {"within", "since"}, "since": {"within", "since"}, "until": {"until"}, "agent": {"agent"},
	}[field]
	parsed := client.ParseQuery(query, a.now())
	for i := len(parsed.Chips) - 1; i >= 0; i-- {
		if slices.Contains(rivals, parsed.Chips[i].Field) {
			a.note("a flag overrides %s in the query", parsed.Chips[i].Raw)
			return a.removeReplaced(parsed.Without(i), field)
		}
	}
	return query
}

// The forms of what is picked, beside formatJSON.
const (
	pickLink     = "link"
	pickCitation = "citation"
	pickPassage  = "passage"
	pickPath     = "path"
)

func pickForms() []string { return []string{pickLink, pickCitation, pickPassage, pickPath, formatJSON} }

// pick opens the explorer on the terminal of the process and prints the passages that the person chooses there. Both
// standard streams may be pipes.
func (a *app) pick(command *cobra.Command, words []string, options *searchOptions) {
	form := a.flags.Output
	a.checkPick(command, words)
	e := a.exploration(command, words, options)
	if form == pickPath && !e.Target.HasFiles() {
		guard.Abort(fail(ExitNotAvailable, "Print their links instead: -o "+pickLink,
			"the documents of %s are not files on this machine", e.Target.Describe()))
	}
	var chosen []wire.SearchResult
	e.Chosen = func(results []wire.SearchResult) { chosen = results }
	e.Unfit = func(result wire.SearchResult) string { return unfit(result, form, e.Target) }
	a.openExplorer(command.Context(), e)
	if len(chosen) == 0 {
		guard.Abort(&Failure{Code: ExitInterrupted})
	}
	a.printPicked(chosen, form)
}

// checkPick refuses what does not go with picking.
func (a *app) checkPick(command *cobra.Command, words []string) {
	if form := a.flags.Output; !slices.Contains(pickForms(), form) {
		refuseChoice("form", form, pickForms())
	}
	for _, flag := range printingFlags() {
		if flag != "max-output" && command.Flags().Changed(flag) {
			refuse("Choose what is printed by -o, or omit --pick.", "--pick and --%s exclude each other", flag)
		}
	}
	const instead = "Print results instead: quarry search"
	switch {
	case slices.Equal(words, []string{"-"}):
		refuse("Give the words of the query.", "--pick reads no query from standard input")
	case a.plain():
		refuse(instead, "--pick needs the full screen, which --plain and ACCESSIBLE turn off")
	case a.io.isDumb():
		refuse(instead, "--pick needs a terminal that can be drawn on; TERM is dumb")
	}
}

// unfit returns why a passage has no such form; "" if it has.
func unfit(result wire.SearchResult, form string, where target.Choice) string {
	switch form {
	case pickLink:
		link := text.OrEmpty(result.Link)
		if address, err := url.Parse(link); link == "" || err != nil || address.Scheme == "" {
			return "no link; -o " + pickCitation + " prints the reference"
		}
	case pickPath:
		if _, isFile := passage.File(result); !isFile || !where.IsFileHere(result.Origin) {
			return "not a file on this machine; -o " + pickLink + " prints its link"
		}
	}
	return ""
}

// printPicked prints passages, one a line where the form has lines. Passages of one document have one link and one
// path.
func (a *app) printPicked(chosen []wire.SearchResult, form string) {
	if form == formatJSON {
		a.printAnswer("pick", rowsAnswer(jsonResults(&wire.SearchResponse{Results: chosen}, false, whole())))
		return
	}
	var printed []string
	for _, result := range chosen {
		line := text.OneLine(text.OrEmpty(result.Link))
		switch form {
		case pickPassage:
			line = passage.Quote(passage.Shared(passage.BestQuote(result)))
		case pickCitation:
			line = passage.Cite(passage.Shared(result))
		case pickPath:
			line, _ = passage.File(result)
		}
		if !slices.Contains(printed, line) {
			printed = append(printed, line)
		}
	}
	all := strings.Join(printed, "\n")
	if form == pickPassage {
		a.printPlain("pick", "md", all)
	} else {
		a.printLines("pick", "txt", all+"\n")
	}
}
