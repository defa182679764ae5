package plain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
)

// search runs one query and lists the first results.
func (s *session) search(ctx context.Context, question string) {
	if length := utf8.RuneCountInString(question); length > wire.MaxQueryRunes {
		s.fail(fmt.Sprintf("the query has %d characters; the limit is %d", length, wire.MaxQueryRunes),
			"Use a shorter query")
		return
	}
	query := client.ParseQuery(question, s.Now())
	if !query.Searches() && !query.Browses() {
		s.fail("the query has no words", "Add words to search for")
		return
	}
	for _, filter := range query.Unread {
		s.say("Note: " + filter + " is not a valid filter and is searched as text.")
	}
	var without []int
	search := func(ctx context.Context, c *client.Client) (*wire.SearchResponse, error) {
		answer, err := s.request(ctx, c, query)
		if err == nil && len(answer.Results) == 0 && len(query.Chips) > 0 {
			// Without counts no number is given.
			without, _ = c.MatchesWithout(ctx, query, wire.SearchRequest{NumResults: &s.Limit}, s.Agent, s.Now())
		}
		return answer, err
	}
	waitFor(ctx, s, "Searching", search, func(answer *wire.SearchResponse) {
		s.query, s.answer, s.without = query, answer, without
		s.results, s.listed, s.around = ranked(answer.Results), 0, map[int]int{}
		s.printAnswer()
	})
}

// request sends a query.
func (s *session) request(ctx context.Context, c *client.Client, query client.Query) (*wire.SearchResponse, error) {
	request := query.Request()
	request.NumResults = &s.Limit
	return c.SearchAs(ctx, request, query.Agent, s.Agent)
}

// ranked puts what the server selected before the rest.
func ranked(results []wire.SearchResult) []wire.SearchResult {
	isRest := func(result wire.SearchResult) bool { return !result.Selected }
	isSelected := func(result wire.SearchResult) bool { return result.Selected }
	return append(slices.DeleteFunc(slices.Clone(results), isRest),
		slices.DeleteFunc(slices.Clone(results), isSelected)...)
}

func (s *session) printAnswer() {
	for _, note := range s.answer.Notes {
		if note.Code != wire.NoteNoModel {
			s.say("Note: " + text.Sentence(note.Text))
		}
	}
	if len(s.results) == 0 {
		s.printNothing()
		return
	}
	s.say(s.counts())
	s.more()
}

// counts says how many documents match, as far as the server knows, and how many results there are of them.
func (s *session) counts() string {
	further := passage.Further(s.results)
	if s.answer.Matched != (wire.Matched{}) {
		said := text.Sentence(passage.Total(s.answer)) + " " + text.Count(further, "result")
		if more := len(s.results) - further; more > 0 {
			said += ", then " + text.Count(more, "further result")
		}
		return said + "."
	}
	documents := exslices.DeduplicateUnsortedFunc(s.results, passage.DocumentKey)
	return text.Count(len(s.results), "result") + " in " + text.Count(len(documents), "document") + "."
}

// more lists the next results.
func (s *session) more() {
	switch {
	case len(s.results) == 0:
		s.say("There are no results. Type a query.")
		return
	case s.listed >= len(s.results):
		s.say("There are no more results. Type a number to read one.")
		return
	}
	last := min(s.listed+pageSize, len(s.results))
	for further := passage.Further(s.results); s.listed < last; s.listed++ {
		if s.listed == further {
			s.say(text.Sentence(passage.FurtherResults))
		}
		s.say(s.summary(s.listed))
	}
	if s.listed < len(s.results) {
		s.say(fmt.Sprintf("%d of %d results. Type a number to read one, or \"more\" for the next.", s.listed,
			len(s.results)))
		return
	}
	s.say("Type a number to read one.")
}

// printNothing prints the query without results, and which filter to remove.
func (s *session) printNothing() {
	if why := client.Unsearchable(s.query.Text); why != "" {
		s.say(why)
		return
	}
	s.say("No results for " + cmp.Or(s.query.Text, "these filters") + " in " + s.Label + ".")
	if len(s.query.Chips) == 0 {
		s.say("Try fewer or different words.")
		return
	}
	filters := exslices.CastFunc(s.query.Chips, func(chip client.Chip) string { return chip.Raw })
	s.say("The query has " + text.Count(len(filters), "filter") + ": " + strings.Join(filters, " "))
	chip, left := s.mostRestrictive()
	if left > 0 {
		s.say(fmt.Sprintf("Without %s there are %s.", s.query.Chips[chip].Raw, text.Count(left, "document")))
	}
	s.say("To search again without " + s.query.Chips[chip].Raw + ", type drop.")
}

// mostRestrictive is the filter to remove first, and how many documents match without it; without counts, and where
// several filters cut as much, the last that was typed.
func (s *session) mostRestrictive() (chip, left int) {
	if chip, ok := client.MostRestrictive(s.without); ok {
		return chip, s.without[chip]
	}
	return len(s.query.Chips) - 1, 0
}

// drop searches again without the filter that cut the most.
func (s *session) drop(ctx context.Context) {
	if s.answer == nil || len(s.query.Chips) == 0 {
		s.say("There is no filter to remove.")
		return
	}
	chip, _ := s.mostRestrictive()
	query := s.query.Without(chip)
	s.say(prompt + query)
	s.search(ctx, query)
}

// expand reads the passage with more of its document on each side, further each time.
func (s *session) expand(ctx context.Context, at int) {
	const step = 2 // pieces on each side
	result := s.results[at]
	if slices.Contains(s.Beside, result.Origin) {
		s.fail("the document is in the profile "+result.Origin, remedyByLink(result))
		return
	}
	if result.DocumentID == "" {
		s.fail("this server cannot show surrounding text", remedyByLink(result))
		return
	}
	around := min(s.around[at]+step, (wire.MaxChunksPerRequest-1)/2)
	from, to := max(0, result.ChunkStart-around), result.ChunkEnd+around
	read := func(ctx context.Context, c *client.Client) (*wire.DocumentChunks, error) {
		return c.Chunks(ctx, result.DocumentID, from, min(to, from+wire.MaxChunksPerRequest-1), "")
	}
	waitFor(ctx, s, "Reading", read, func(found *wire.DocumentChunks) {
		s.around[at] = around
		s.printChunks(at, found)
	})
}

// command is what a line asks for.
type command struct {
	name   string // empty: a query
	number int    // of a result; 0: none was given
	query  string
}

// parseCommand reads a line. What takes a number is a command only with one: "open source" is a query. A slash makes
// any line a query.
func parseCommand(line string) command {
	if query, slash := strings.CutPrefix(line, "/"); slash {
		return command{query: strings.TrimSpace(query)}
	}
	words := strings.Fields(strings.ToLower(line))
	if len(words) > 0 {
		short := map[string]string{"e": "expand", "?": "help", "q": "quit", "exit": "quit"}
		words[0] = cmp.Or(short[words[0]], words[0])
	}
	switch len(words) {
	case 1:
		if number := resultNumber(words[0]); number > 0 {
			return command{name: "read", number: number}
		}
		if text.IsAmong(words[0], "more drop help quit") {
			return command{name: words[0]}
		}
	case 2:
		number := resultNumber(words[1])
		if number > 0 && text.IsAmong(words[0], "read expand raw cite open") {
			return command{name: words[0], number: number}
		}
	}
	return command{query: line}
}

// resultNumber returns the number that a word is, or 0.
func resultNumber(word string) int {
	const most = 3 // digits
	number, err := strconv.Atoi(word)
	if err != nil || number < 0 || len(word) > most {
		return 0
	}
	return number
}

// runCommand does what a line asks for.
func (s *session) runCommand(ctx context.Context, line string) {
	c := parseCommand(line)
	switch {
	case c.number > 0:
		s.runOnResult(ctx, c, line)
	case c.name == "quit":
		guard.Abort(errLeft)
	case c.name == "help":
		s.help()
	case c.name == "more":
		s.more()
	case c.name == "drop":
		s.drop(ctx)
	case c.query == "":
		s.say("Type a query, or help.")
	default:
		s.search(ctx, c.query)
	}
}

// runOnResult does something with one result. A bare number before there are results is searched for.
func (s *session) runOnResult(ctx context.Context, c command, line string) {
	at := c.number - 1
	switch {
	case len(s.results) == 0 && c.name == "read":
		s.search(ctx, line)
	case len(s.results) == 0:
		s.fail("there are no results", "Type a query. To search for this text, type /"+line)
	case c.number > len(s.results):
		s.fail(fmt.Sprintf("there is no result %d; the last one is %d", c.number, len(s.results)),
			"Use another number. To search for this text, type /"+line)
	case c.name == "expand":
		s.expand(ctx, at)
	default:
		map[string]func(int){"read": s.read, "raw": s.raw, "cite": s.cite, "open": s.open}[c.name](at)
	}
}

func (s *session) help() {
	s.say(`Type words to search for them. "Quoted words" match as a phrase, and -word excludes a word.
Filters narrow the search:
source:slack,github for the source,
within:30d, since:2026-01-31 and until:2026-06-30 for the date of the last update,
author:kim, type:pdf, set:handbook, tag:team=infra, lang:de, in:handbook/people and agent:"Eng".
After a search:
2 reads result 2.
expand 2, or e 2, reads more of its document.
raw 2 reads it as Markdown.
cite 2 prints a citation to paste.
open 2 prints its link.
more lists more results.
drop removes the last filter, or the most restrictive one if there are no results.
Ctrl-C cancels a search.
quit, or Ctrl-D, quits.
A slash searches for the text of a command: /help`)
}
