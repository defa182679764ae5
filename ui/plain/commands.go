package plain

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// command is what a line asks for when it is no query.
type command struct {
	name   string
	number int    // of a result; 0: none was given
	rest   string // what follows the name
}

// The commands. What takes a number is a command only with one: "open source" is a query.
const (
	commandRead   = "read"
	commandExpand = "expand"
	commandRaw    = "raw"
	commandCite   = "cite"
	commandOpen   = "open"
	commandMore   = "more"
	commandDrop   = "drop"
	commandHelp   = "help"
	commandQuit   = "quit"
	commandFind   = "find" // whatever follows the slash
)

// parseCommand reads a line. A slash makes any line a query.
func parseCommand(line string) command {
	if query, slash := strings.CutPrefix(line, "/"); slash {
		return command{name: commandFind, rest: strings.TrimSpace(query)}
	}
	words := append(strings.Fields(strings.ToLower(line)), "", "")
	name := words[0]
	if long := map[string]string{"?": commandHelp, "q": commandQuit, "exit": commandQuit, "e": commandExpand}[name]; long != "" {
		name = long
	}
	switch words := words[:len(words)-2]; len(words) {
	case 1:
		if number := resultNumber(name); number > 0 {
			return command{name: commandRead, number: number}
		}
		if slices.Contains([]string{commandMore, commandDrop, commandHelp, commandQuit}, name) {
			return command{name: name}
		}
	case 2:
		number := resultNumber(words[1])
		if number > 0 && slices.Contains([]string{commandRead, commandExpand, commandRaw, commandCite, commandOpen}, name) {
			return command{name: name, number: number}
		}
	}
	return command{rest: line}
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

// runCommand does what a line asks for. Only what ends the conversation is an error.
func (s *session) runCommand(ctx context.Context, line string) error {
	c := parseCommand(line)
	switch {
	case c.number > 0:
		return s.runOnResult(ctx, c, line)
	case c.name == commandQuit:
		return errLeft
	case c.name == commandHelp:
		s.help()
	case c.name == commandMore:
		s.more()
	case c.name == commandDrop:
		return s.drop(ctx)
	case c.rest == "":
		s.say("Type a query, or help.")
	default:
		return s.search(ctx, c.rest)
	}
	return nil
}

// runOnResult does something with one result. A bare number before there are results is searched for.
func (s *session) runOnResult(ctx context.Context, c command, line string) error {
	at := c.number - 1
	switch {
	case len(s.results) == 0 && c.name == commandRead:
		return s.search(ctx, line)
	case len(s.results) == 0:
		s.fail("there are no results", "Type a query. To search for this text, type /"+line)
	case c.number > len(s.results):
		s.fail(fmt.Sprintf("there is no result %d; the last one is %d", c.number, len(s.results)),
			"Use another number. To search for this text, type /"+line)
	case c.name == commandExpand:
		return s.expand(ctx, at)
	default:
		map[string]func(int){commandRead: s.read, commandRaw: s.raw, commandCite: s.cite, commandOpen: s.open}[c.name](at)
	}
	return nil
}

func (s *session) help() {
	s.say(`Type words to search for them. "Quoted words" match as a phrase, and -word excludes a word.
Filters narrow the search:
source:slack,github for the source,
within:30d, since:2026-01-31 and until:2026-06-30 for the date of the last update,
author:kim, type:pdf, set:handbook, tag:team=infra and agent:"Eng".
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
