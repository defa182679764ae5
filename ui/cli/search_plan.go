package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

// plannedQuery is a query with the request that it becomes.
type plannedQuery struct {
	text    string // as it was written
	words   []string
	agent   wire.Agent
	request wire.SearchRequest
}

const maxHistory = 1 << 20 // bytes

// planSearch checks every value and merges the filters inside the queries with those of the flags. Values of one field
// are combined; of two dates, the flag wins.
func (a *app) planSearch(queries []string, options *searchOptions,
	choice target.Choice) (plan []plannedQuery) {
	flags := a.flagRequest(options)
	for _, query := range queries {
		parsed := client.ParseQuery(query, a.now())
		if !parsed.Searches() && !parsed.Browses() && !options.narrows() {
			requireWords(parsed, query)
		}
		plan = append(plan, a.planQuery(parsed, query, flags, options, choice))
	}
	return plan
}

// flagRequest makes the part of a request that the flags determine.
func (a *app) flagRequest(options *searchOptions) wire.SearchRequest {
	request := wire.SearchRequest{
		SkipQueryExpansion: options.NoExpansion, SkipDocumentSelection: options.NoSelection, Explain: options.Explain,
	}
	for _, row := range field.All() {
		values := options.values[row.ID]
		if !row.Pairs {
			values = cleanList(values)
		}
		for _, value := range values {
			if !row.Request(&request.Filters).Add(value) {
				refuse(row.Flag.Example, "--%s %q %s", row.Flag.Name, value, row.Flag.Invalid)
			}
		}
	}
	if options.given("limit") {
		checkRange("limit", options.Limit, 1, wire.MaxNumResults)
		request.NumResults = &options.Limit
	}
	flagList(&request, options)
	if options.given("agent-id") {
		if options.agentID < 0 {
			refuse("See: quarry agents", "--agent-id %d is not the number of an agent", options.agentID)
		}
		request.PersonaID = &options.agentID
	}
	a.flagDates(&request, options)
	request.MessageHistory = a.readHistory(options.History)
	return request
}

// flagList reads the order and the beginning of a list. Its pages are found by words alone, as a model would choose
// anew for each.
func flagList(request *wire.SearchRequest, options *searchOptions) {
	orders := []string{wire.SortRelevance, wire.SortNewest, wire.SortOldest}
	if request.Sort = options.Sort; request.Sort != "" && !slices.Contains(orders, request.Sort) {
		refuseChoice("order", options.Sort, orders)
	}
	if !options.given("offset") {
		return
	}
	request.Offset, request.SkipQueryExpansion, request.SkipDocumentSelection = &options.Offset, true, true
	checkRange("offset", options.Offset, 0, wire.MaxOffset)
}

// checkRange refuses a number that a flag does not take.
func checkRange(flag string, n, low, high int) {
	if n < low || n > high {
		refuse(fmt.Sprintf("Give a number from %d to %d.", low, high), "--%s %d is out of range", flag, n)
	}
}

func (a *app) flagDates(request *wire.SearchRequest, options *searchOptions) {
	request.TimeCutoff, _ = parseDate("--since", options.Since, a.now().Location())
	_, request.TimeUntil = parseDate("--until", options.Until, a.now().Location())
	if options.given("days") {
		checkRange("days", options.Days, 1, wire.MaxTimeCutoffDays)
		request.TimeCutoff = &wire.Time{Time: a.now().UTC().AddDate(0, 0, -options.Days)}
	}
	checkDates(*request)
}

func checkDates(request wire.SearchRequest) {
	if request.TimeCutoff != nil && request.TimeUntil != nil && request.TimeUntil.Before(request.TimeCutoff.Time) {
		refuse("Swap the dates, or omit one.", "the start date %s is after the end date %s",
			request.TimeCutoff.Format(time.DateOnly), request.TimeUntil.Format(time.DateOnly))
	}
}

// parseDate reads the date of a flag, its first and its last moment; nil if the flag was not given.
func parseDate(flag, date string, zone *time.Location) (first, last *wire.Time) {
	if date == "" {
		return nil, nil
	}
	from, to, ok := client.ParseDate(date, zone)
	if !ok {
		refuse("Use a date like 2026-01-31, 2026-01 or 2026, or a time like 2026-01-31T08:00:00Z.",
			"%s %q is not a date", flag, date)
	}
	return &wire.Time{Time: from}, &wire.Time{Time: to}
}

// planQuery merges a query's own filters with those of the flags.
func (a *app) planQuery(parsed client.Query, text string, flags wire.SearchRequest, options *searchOptions,
	choice target.Choice) plannedQuery {
	planned := plannedQuery{text: text, words: passage.Words(parsed), request: parsed.Request()}
	for _, filter := range parsed.Unread {
		a.note("`%s` is not a valid filter; searched as text", filter)
	}
	request := &planned.request
	for _, row := range field.All() {
		row.Request(&request.Filters).Join(row.Request(&flags.Filters))
	}
	request.TimeCutoff = a.flagWins("since", flags.TimeCutoff, request.TimeCutoff)
	request.TimeUntil = a.flagWins("until", flags.TimeUntil, request.TimeUntil)
	request.SkipQueryExpansion = request.SkipQueryExpansion || flags.SkipQueryExpansion
	request.SkipDocumentSelection, request.Explain = flags.SkipDocumentSelection, flags.Explain
	request.NumResults, request.Sort, request.Offset = flags.NumResults, flags.Sort, flags.Offset
	request.Browse = !parsed.Searches()
	checkDates(*request)
	a.planAgent(&planned, parsed.Agent, flags, options, choice)
	request.MessageHistory = withQuestion(flags.MessageHistory, request.Query)
	return planned
}

// planAgent takes the agent of the flags, else of the query, else of the profile.
func (a *app) planAgent(planned *plannedQuery, asked string, flags wire.SearchRequest, options *searchOptions,
	choice target.Choice) {
	usual := choice.SearchAgent()
	switch {
	case flags.PersonaID != nil || options.agent != "":
		if asked != "" && !strings.EqualFold(asked, options.agent) {
			a.note("the agent flag overrides agent:%q in the query", asked)
		}
		planned.agent = wire.Agent{ID: flags.PersonaID, Name: options.agent}
	case asked != "":
		planned.agent.Name = asked
	case usual.ID == nil || *usual.ID != 0:
		planned.agent = usual
	}
}

func (a *app) flagWins(name string, flag, query *wire.Time) *wire.Time {
	if flag == nil {
		return query
	}
	if query != nil && !query.Equal(flag.Time) {
		a.note("the date flag (%s) overrides %s: in the query", flag.Format(time.DateOnly), name)
	}
	return flag
}

// readHistory reads the earlier messages of a conversation; none without a path.
func (a *app) readHistory(path string) (messages []wire.Message) {
	if path == "" {
		return nil
	}
	if wire.Unmarshal(a.readFlagFile("history", path, maxHistory), &messages) != nil {
		refuse(`Write a list like [{"message":"…","message_type":"user"}].`,
			"--history %s is not a JSON list of messages", path)
	}
	types := []string{"system", "user", "assistant", "tool_call_response", "user_reminder"}
	for i, message := range messages {
		if !slices.Contains(types, message.Type) {
			refuse("Use one of "+strings.Join(types, ", ")+".",
				"--history %s: message %d has the type %q", path, i+1, message.Type)
		}
	}
	return messages
}

// readFlagFile reads the file that a flag names, or standard input for "-", if it has at most limit bytes.
func (a *app) readFlagFile(flag, path string, limit int64) (content []byte) {
	from, err := a.io.In, error(nil)
	if path != "-" {
		file, failed := os.Open(a.io.path(path))
		from, err = file, failed
		defer file.Close() // of none, too
	}
	if err == nil {
		content, err = io.ReadAll(io.LimitReader(from, limit+1))
	}
	switch {
	case err != nil:
		refuse("Check the path.", "--%s: %w", flag, err)
	case int64(len(content)) > limit:
		refuse("Give a smaller file.", "--%s: %s is larger than %s", flag, path, text.Size(limit))
	}
	return content
}

// withQuestion ends a conversation with the question, as the server expects it.
func withQuestion(history []wire.Message, question string) []wire.Message {
	if len(history) == 0 {
		return nil
	}
	last := history[len(history)-1]
	if last.Type == "user" && last.Message == question {
		return history
	}
	return append(slices.Clone(history), wire.Message{Message: question, Type: "user"})
}

func cleanList(values []string) []string {
	return exslices.CastFuncFilter(values, func(value string) (string, bool) {
		value = strings.TrimSpace(value)
		return value, value != ""
	})
}

// checkTime bounds the lists that are requested before or during a search. Without an answer in time the server
// decides.
const checkTime = 5 * time.Second

// filterCheck adds notes about the filters of a search to its results.
type filterCheck struct {
	sources chan client.SourceList // nil: nothing to check; else delivers once
	wanted  [][]string             // sources of each query
}

// checkFilters refuses what the server surely does not have, and names the nearest that it has. A source that exists
// somewhere, though not on this server, is searched: the list is fetched during the search, and annotate adds a note.
func (a *app) checkFilters(ctx context.Context, c *client.Client, plan []plannedQuery,
	choice target.Choice) *filterCheck {
	for i, query := range plan { // a number that was given is left to the server
		plan[i].request.PersonaID = guard.Must(c.ResolveAgent(ctx, "", query.agent))
	}
	if len(choice.Beside()) > 0 { // another profile may have what this server lacks
		return &filterCheck{}
	}
	for _, row := range field.All() {
		if row.ID != field.Source {
			checkValues(ctx, c, row, wanted(plan, row))
		}
	}
	return checkSources(ctx, c, plan)
}

func checkSources(ctx context.Context, c *client.Client, plan []plannedQuery) *filterCheck {
	check := &filterCheck{wanted: exslices.CastFunc(plan,
		func(query plannedQuery) []string { return query.request.Sources })}
	given := wanted(plan, field.Of(field.Source))
	if len(given) == 0 {
		return check
	}
	check.sources = make(chan client.SourceList, 1)
	isKnown := func(source string) bool {
		_, known := wire.LookupSource(source)
		return known
	}
	strange := slices.DeleteFunc(given, isKnown)
	if len(strange) == 0 {
		guard.Go(func() { check.sources <- c.ListSources(ctx) },
			func(error) { check.sources <- client.SourceList{} }) // no list: the server decides
		return check
	}
	list := c.ListSources(ctx)
	check.sources <- list
	if len(list.Values) == 0 {
		return check
	}
	known := client.OfferedSources()
	for _, source := range strange { // no known source; maybe one of the server's own
		if !slices.Contains(list.Values, source) {
			refuseValueOf(field.Of(field.Source), source, list.Values, known)
		}
	}
	return check
}

// annotate adds to answers that a source is not connected, unless the server said so itself.
func (f *filterCheck) annotate(ctx context.Context, outcomes []outcome) {
	if f.sources == nil || ctx.Err() != nil {
		return
	}
	list := <-f.sources
	if !list.Certain {
		return
	}
	saysSo := func(note wire.Note) bool { return note.Code == wire.NoteSourceEmpty }
	for i, o := range outcomes {
		if o.err != nil || slices.ContainsFunc(o.response.Notes, saysSo) {
			continue
		}
		for _, source := range f.wanted[i] {
			if !slices.Contains(list.Values, source) {
				o.response.Notes = append(o.response.Notes, wire.Note{Code: wire.NoteSourceEmpty, Text: fmt.Sprintf(
					"%s is not connected to this server (connected: %s)", source, shortList(list.Values))})
			}
		}
	}
}

// shortList lists at most 12 values.
func shortList(values []string) string {
	const most = 12
	if len(values) == 0 {
		return "nothing"
	}
	if len(values) <= most {
		return strings.Join(values, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(values[:most], ", "), len(values)-most)
}

// wanted collects the values of a field over all queries.
func wanted(plan []plannedQuery, row field.Field) []string {
	var all wire.Filters
	for i := range plan {
		request := &plan[i].request
		row.Request(&all).Join(row.Request(&request.Filters))
		row.Request(&all).Join(row.Request(&request.ExcludeFilters))
	}
	return row.Of(all)
}

// refuseValueOf refuses a value of a field that none of its known ones is.
func refuseValueOf(row field.Field, value string, known ...[]string) {
	refuseValue(row.Noun, value, "quarry "+row.Listed, known...)
}

// checkValues refuses a value that no document has, where the server says so in time.
func checkValues(ctx context.Context, c *client.Client, row field.Field, given []string) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	for _, value := range given {
		if row.Listed != "" {
			if listed, names := isListed(ctx, c, row, value); !listed {
				refuseValueOf(row, value, names)
			}
		} else if has, names := c.HasValue(ctx, row, value); !has { // nothing lists all ways to write one
			refuse(wire.Hint(value, "Omit the filter; the facets of quarry search --explain list the values.",
				names), "unknown %s %q", row.Noun, value)
		}
	}
}

// isListed looks for a value by itself, because a server lists only so many at once. Without a list the server decides.
func isListed(ctx context.Context, c *client.Client, row field.Field, value string) (listed bool, names []string) {
	nameOf := func(listed client.ListedValue) string { return listed.Name }
	found, err := c.ListValues(ctx, row.ID, value, mostTags)
	if err != nil || !found.Complete || slices.Contains(exslices.CastFunc(found.Values, nameOf), value) {
		return true, nil
	}
	all, _ := c.ListValues(ctx, row.ID, "", mostTags) // without them there is no suggestion
	return false, exslices.CastFunc(all.Values, nameOf)
}
