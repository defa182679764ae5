package panel

import (
	"regexp"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Restore shows an earlier thread in place of the one that is shown.
func (p *Answer) Restore(turns []Turn) {
	p.Reset()
	p.turns = turns
	for i := range p.turns {
		t := &p.turns[i]
		t.documents, t.state = len(t.Found), done
		switch {
		case t.Problem != "":
			t.state = failed
		case t.Text == "":
			t.state = stopped
		}
	}
}

// Cited finds the document that a number stands for in the last answer that cites something by it, and returns that turn.
func (p *Answer) Cited(number int) (source Source, turn Turn, ok bool) {
	for _, t := range slices.Backward(p.turns) {
		for _, source := range t.Sources {
			if source.Number == number {
				return source, t, true
			}
		}
	}
	return Source{}, Turn{}, false
}

// Found is the last turn whose answer rests on documents.
func (p *Answer) Found() (turn Turn, ok bool) {
	for _, t := range slices.Backward(p.turns) {
		if len(t.Found) > 0 {
			return t, true
		}
	}
	return Turn{}, false
}

// The bounds of a conversation.
const (
	mostMessages   = 40      // the last ones
	longestMessage = 8 << 10 // bytes
)

// Conversation is what was said so far, as a search takes it: without the citations, whose numbers mean nothing there.
func (p *Answer) Conversation() []wire.Message {
	citation := regexp.MustCompile(` *\[\[\d{1,3}\]\]\([^)\s]*\)`)
	var said []wire.Message
	add := func(kind, message string) {
		if strings.TrimSpace(message) != "" {
			said = append(said, wire.Message{Type: kind, Message: text.Clip(message, longestMessage)})
		}
	}
	for _, t := range p.turns {
		add("user", t.Question)
		add("assistant", citation.ReplaceAllString(t.Text, ""))
	}
	return said[max(0, len(said)-mostMessages):]
}
