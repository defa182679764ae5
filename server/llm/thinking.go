package llm

import "strings"

// Some models write their thinking before the reply, between these tags, unless the server removes it.
const (
	thinkingBegins = "<think>"
	thinkingEnds   = "</think>"
)

// thinking removes a model's thinking from its reply, however the reply is split into pieces. The zero value is ready.
type thinking struct {
	place place
	held  string // not known to be part of the reply yet
}

type place int

const (
	before  place = iota // only white space, or the beginning of a tag, was read
	within               // between the tags
	between              // after the tags, with only white space so far
	reply
)

// pass reads the next piece and returns what is known to belong to the reply.
func (t *thinking) pass(piece string) string {
	if t.place == reply {
		return piece
	}
	t.held += piece
	if t.place == before {
		text := trimSpace(t.held)
		switch {
		case strings.HasPrefix(text, thinkingBegins):
			t.place, t.held = within, text[len(thinkingBegins):]
		case strings.HasPrefix(thinkingBegins, text):
			return ""
		default:
			return t.all()
		}
	}
	if t.place == within {
		at := strings.Index(t.held, thinkingEnds)
		if at < 0 {
			t.held = t.held[max(0, len(t.held)-len(thinkingEnds)+1):]
			return ""
		}
		t.place, t.held = between, t.held[at+len(thinkingEnds):]
	}
	if t.held = trimSpace(t.held); t.held == "" {
		return ""
	}
	return t.all()
}

// rest returns the pending text at the end. Unfinished thinking is no reply.
func (t *thinking) rest() string {
	if t.place == within {
		return ""
	}
	return t.all()
}

func (t *thinking) all() string {
	text := t.held
	t.place, t.held = reply, ""
	return text
}

func trimSpace(text string) string { return strings.TrimLeft(text, " \t\r\n") }

// withoutThinking removes the thinking from a complete reply.
func withoutThinking(text string) string {
	var t thinking
	return t.pass(text) + t.rest()
}
