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
	lineBreak // of a line of code that is too long
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

// signalSize is the length of the signal that a text begins with, be it whole or not.
func signalSize(s string) int {
	size := len(signalBegin)
	for strings.HasPrefix(s[size:], signalZero) || strings.HasPrefix(s[size:], signalOne) {
		size += len(signalZero)
	}
	if strings.HasPrefix(s[size:], signalEnd) {
		size += len(signalEnd)
	}
	return size
}

// read finds the signal that characters stand for.
func (s *signals) read(text string) (sig signal, ok bool) {
	digits, whole := strings.CutSuffix(strings.TrimPrefix(text, signalBegin), signalEnd)
	number := 0
	for bit := 0; digits != "" && bit < 31; bit++ {
		if strings.HasPrefix(digits, signalOne) {
			number |= 1 << bit
		}
		digits = digits[len(signalOne):]
	}
	if !whole || digits != "" || number >= len(s.list) {
		return signal{}, false
	}
	return s.list[number], true
}

// signal obeys a signal.
func (t *typesetter) signal(text string) {
	sig, ok := t.signals.read(text)
	if !ok {
		return
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
	case lineBreak:
		t.finish()
		t.goesOn = true
	}
}

// beginLink is the sequence that begins a link; empty for an address that may not be opened.
func beginLink(address string) string {
	const text = "\n" // stands in no address
	begin, _, _ := strings.Cut(paint.Hyperlink(address, text), text)
	return begin
}
