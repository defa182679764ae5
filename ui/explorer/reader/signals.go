package reader

import (
	"strings"

	"quarry/ui/explorer/paint"
)

// Signals are what the renderer must not touch but carry along: where a highlight or a link begins and ends, which place
// of the source a text comes from. They stand in the text as invisible characters of no width, which client.Sanitize
// takes out of everything that comes from outside: a begin, the signal's number in binary, an end.
const (
	signalBegin = "\u2063"
	signalZero  = "\u2061"
	signalOne   = "\u2062"
	signalEnd   = "\u2064"
)

func isSignal(r rune) bool { return r >= 0x2061 && r <= 0x2064 }

// signals are the signals of one rendering.
type signals struct{ list []signal }

type signal struct {
	kind  signalKind
	value int    // of anchors: byte of the source; of highlights: its number
	link  string // of links: the sequence that begins it
}

type signalKind uint8

const (
	anchor signalKind = iota
	spanBegin
	spanEnd
	linkBegin
	linkEnd
)

// add makes a signal and gives the characters that stand for it.
func (s *signals) add(sig signal) string {
	number := len(s.list)
	s.list = append(s.list, sig)
	var text strings.Builder
	text.WriteString(signalBegin)
	for ; number > 0; number >>= 1 {
		if number&1 == 1 {
			text.WriteString(signalOne)
		} else {
			text.WriteString(signalZero)
		}
	}
	text.WriteString(signalEnd)
	return text.String()
}

// read finds the signal that a text begins with, and its length. A broken one is skipped.
func (s *signals) read(text string) (sig signal, size int, ok bool) {
	number := 0
	size = len(signalBegin)
	for bit := 0; bit < 31; bit++ {
		switch rest := text[size:]; {
		case strings.HasPrefix(rest, signalZero):
		case strings.HasPrefix(rest, signalOne):
			number |= 1 << bit
		case strings.HasPrefix(rest, signalEnd):
			size += len(signalEnd)
			if number < len(s.list) {
				return s.list[number], size, true
			}
			return signal{}, size, false
		default:
			return signal{}, size, false
		}
		size += len(signalZero)
	}
	return signal{}, size, false
}

// signal obeys the signal that a text begins with and gives its length.
func (t *typesetter) signal(s string) int {
	sig, size, ok := t.signals.read(s)
	if !ok {
		return size
	}
	switch sig.kind {
	case anchor:
		t.at, t.letters = sig.value, 0
	case spanBegin:
		t.endSpan()
		t.span = sig.value
	case spanEnd:
		t.endSpan()
		t.span = -1
	case linkBegin:
		t.link = sig.link
	case linkEnd:
		t.link = ""
	}
	return size
}

// beginLink is the sequence that begins a link; empty for an address that may not be opened.
func beginLink(address string) string {
	const text = "\n" // stands in no address
	begin, _, _ := strings.Cut(paint.Hyperlink(address, text), text)
	return begin
}
