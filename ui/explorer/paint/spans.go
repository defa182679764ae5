package paint

import (
	"slices"
	"unicode/utf8"

	"quarry/client/wire"
)

// mover carries marked ranges from a text to an edited one, piece by piece. A nil mover has nothing to carry.
type mover struct {
	spans []wire.Span // sorted, apart
	at    int         // the first one that does not lie wholly behind
	begun bool        // its beginning has been met
	from  int         // where that is in the edited text
	moved []wire.Span
}

// newMover takes ranges in any order; they may overlap or lie outside of the text.
func newMover(s string, spans []wire.Span) *mover {
	if len(spans) == 0 {
		return &mover{}
	}
	m := &mover{spans: make([]wire.Span, 0, len(spans)), moved: make([]wire.Span, 0, len(spans))}
	for _, span := range spans {
		from, to := max(0, span[0]), min(span[1], len(s))
		if from >= to {
			continue
		}
		for from > 0 && !utf8.RuneStart(s[from]) {
			from--
		}
		for to < len(s) && !utf8.RuneStart(s[to]) {
			to++
		}
		m.spans = append(m.spans, wire.Span{from, to})
	}
	slices.SortFunc(m.spans, func(a, b wire.Span) int { return a[0] - b[0] })
	m.spans = merged(m.spans)
	return m
}

// merged joins sorted ranges that touch or overlap, in place.
func merged(spans []wire.Span) []wire.Span {
	kept := spans[:0]
	for _, span := range spans {
		if last := len(kept) - 1; last >= 0 && span[0] <= kept[last][1] {
			kept[last][1] = max(kept[last][1], span[1])
			continue
		}
		kept = append(kept, span)
	}
	return kept
}

// piece tells that the bytes [from, to) of the text became the bytes [x, y): a range that holds a part of it holds it
// all.
func (m *mover) piece(from, to, x, y int) {

	for m.at < len(m.spans) && m.spans[m.at][0] < to {
		if !m.begun {
			m.begun, m.from = true, x
		}
		if m.spans[m.at][1] > to {
			return
		}
		m.close(y)
	}
}

// run tells that the bytes [from, to) of the text are unchanged and begin at x now.
func (m *mover) run(from, to, x int) {

	for m.at < len(m.spans) && m.spans[m.at][0] < to {
		span := m.spans[m.at]
		if !m.begun {
			m.begun, m.from = true, x+span[0]-from
		}
		if span[1] > to {
			return
		}
		m.close(x + span[1] - from)
	}
}

// close ends the range that is being carried.
func (m *mover) close(to int) {
	if m.from < to {
		m.moved = append(m.moved, wire.Span{m.from, to})
	}
	m.at, m.begun = m.at+1, false
}

// finish ends the text.
func (m *mover) finish() { m.moved = merged(m.moved) }
