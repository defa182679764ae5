package panel

import (
	"regexp"
	"strings"

	"quarry/client/wire"
)

// Turn is a question of an earlier thread with what became of it.
type Turn struct {
	Question string
	Text     string // Markdown; empty: there is no answer
	Sources  []Source
	Found    []wire.SearchDoc // that the answer rests on
	Problem  string           // why it is not whole; empty: it is, or nobody knows
}

// Restore shows an earlier thread in place of the one that is shown.
func (p *Answer) Restore(turns []Turn) {
	p.Reset()
	for _, past := range turns {
		t := turn{question: past.Question, text: past.Text, sources: past.Sources, found: past.Found,
			documents: len(past.Found), state: done}
		switch {
		case past.Problem != "":
			t.state, t.problem = failed, past.Problem
		case past.Text == "":
			t.state = stopped
		}
		p.turns = append(p.turns, t)
	}
}

// Cited finds the document that a number stands for in the last answer that cites something by it, and all documents
// that this answer rests on.
func (p *Answer) Cited(number int) (source Source, sources []Source, found []wire.SearchDoc, ok bool) {
	for i := len(p.turns) - 1; i >= 0; i-- {
		for _, source := range p.turns[i].sources {
			if source.Number == number {
				return source, p.turns[i].sources, p.turns[i].found, true
			}
		}
	}
	return Source{}, nil, nil, false
}

// Found are the documents that the last answer which has any rests on, and which of them it cites.
func (p *Answer) Found() (found []wire.SearchDoc, sources []Source) {
	for i := len(p.turns) - 1; i >= 0; i-- {
		if t := &p.turns[i]; len(t.found) > 0 {
			return t.found, t.sources
		}
	}
	return nil, nil
}

// The bounds of what is told of a thread to a search.
const (
	mostTold    = 40      // messages, the last ones
	longestTold = 8 << 10 // bytes of each
)

// Conversation is what was said so far, as a search takes it: without the citations, whose numbers mean nothing there.
func (p *Answer) Conversation() []wire.Message {
	var said []wire.Message
	add := func(kind, text string) {
		if strings.TrimSpace(text) != "" {
			said = append(said, wire.Message{Type: kind, Message: clip(text)})
		}
	}
	for _, t := range p.turns {
		add("user", t.question)
		add("assistant", uncited(t.text))
	}
	return said[max(0, len(said)-mostTold):]
}

func clip(text string) string {
	if len(text) <= longestTold {
		return text
	}
	return strings.ToValidUTF8(text[:longestTold], "")
}

// uncited is an answer without its citations.
func uncited(text string) string {
	return regexp.MustCompile(` *\[\[\d{1,3}\]\]\([^)\s]*\)`).ReplaceAllString(text, "")
}
