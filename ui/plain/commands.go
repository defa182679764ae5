package plain

import (
	"context"
	"fmt"
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
	commandNone   = ""
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
	words := strings.Fields(strings.ToLower(line))
	switch len(words) {
	case 1:
		if number, ok := resultNumber(words[0]); ok {
			return command{name: commandRead, number: number}
		}
		switch words[0] {
		case "more", "drop", "help", "quit":
			return command{name: words[0]}
		case "?":
			return command{name: commandHelp}
		case "q", "exit":
			return command{name: commandQuit}
		}
	case 2:
		number, ok := resultNumber(words[1])
		if !ok {
			break
		}
		switch words[0] {
		case "read", "expand", "raw", "cite", "open":
			return command{name: words[0], number: number}
		case "e":
			return command{name: commandExpand, number: number}
		}
	}
	return command{rest: line}
}

func resultNumber(word string) (int, bool) {
	const most = 3 // digits
	number, err := strconv.Atoi(word)
	return number, err == nil && number > 0 && len(word) <= most
}

// obey does what a line asks for. Only what ends the conversation is an error.
func (s *session) obey(ctx context.Context, line string) error {
	c := parseCommand(line)
	if c.number > 0 {
		return s.obeyNumber(ctx, c, line)
	}
	switch c.name {
	case commandQuit:
		return errLeft
	case commandHelp:
		s.help()
	case commandMore:
		s.more()
	case commandDrop:
		return s.drop(ctx)
	case commandFind, commandNone:
		if c.rest == "" {
			s.say("Type what you look for, or help.")
			return nil
		}
		return s.search(ctx, c.rest)
	}
	return nil
}

// obeyNumber does something with one result. A bare number before there are results is searched for.
func (s *session) obeyNumber(ctx context.Context, c command, line string) error {
	switch {
	case len(s.results) == 0 && c.name == commandRead:
		return s.search(ctx, line)
	case len(s.results) == 0:
		s.fail("there are no results yet", "Type what you look for. To search for these words themselves, type /"+line)
		return nil
	case c.number > len(s.results):
		s.fail(fmt.Sprintf("there is no result %d; there are %d", c.number, len(s.results)),
			"Give another number. To search for these words themselves, type /"+line)
		return nil
	}
	at := c.number - 1
	switch c.name {
	case commandRead:
		s.read(at)
	case commandRaw:
		s.raw(at)
	case commandExpand:
		return s.expand(ctx, at)
	case commandCite:
		s.cite(at)
	case commandOpen:
		s.open(at)
	}
	return nil
}

func (s *session) help() {
	s.say(`Type words to search for them. "Words in quotes" are found together, and -word leaves out what has the word.
Filters can stand among the words:
source:slack,github for where it comes from,
within:30d, since:2026-01-31 and until:2026-06-30 for when it was updated,
author:kim, type:pdf, set:handbook, tag:team=infra and agent:"Eng".
After a search:
2 reads result 2.
expand 2, or e 2, reads more of its document.
raw 2 reads it with its markup.
cite 2 gives a citation to paste.
open 2 gives its link.
more tells further results.
drop takes a filter away that nothing is left by.
Ctrl-C cancels a search.
quit, or Ctrl-D, leaves.
A slash before a line searches for it even if it is a command: /help`)
}
