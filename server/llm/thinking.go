package llm

import "strings"

// Models that think aloud put it in front of their reply, between these marks, where their server does not take it out.
const (
	thinkingBegins = "<think>"
	thinkingEnds   = "</think>"
)

// thinking takes what a model thinks out of its reply, however that is cut into pieces. The zero value is ready.
type thinking struct {
	place place
	held  string // not yet known to be part of the reply
}

type place int

const (
	before  place = iota // nothing but space, or the beginning of a mark, has come
	within               // between the marks
	between              // after them, where only space has come
	reply
)

// pass takes the next piece and gives what of the reply is known now.
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

// rest is what is still held when the reply has ended. Thinking that did not end is no reply.
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

// withoutThinking is thinking for a whole reply.
func withoutThinking(text string) string {
	var t thinking
	return t.pass(text) + t.rest()
}
