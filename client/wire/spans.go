package wire

import (
	"slices"
	"unicode/utf8"
)

// OrderSpans returns the parts of spans that lie within a text, widened to whole characters, sorted, and merged where
// they touch or overlap.
func OrderSpans(text string, spans []Span) []Span {
	ordered := make([]Span, 0, len(spans))
	for _, span := range spans {
		from, to := max(0, span[0]), min(span[1], len(text))
		if from >= to {
			continue
		}
		for from > 0 && !utf8.RuneStart(text[from]) {
			from--
		}
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
		ordered = append(ordered, Span{from, to})
	}
	slices.SortFunc(ordered, func(a, b Span) int { return a[0] - b[0] })
	return merge(ordered)
}

// merge joins sorted spans that touch or overlap, in place.
func merge(spans []Span) []Span {
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

// SpanMover moves spans of a text while the text is edited from its beginning to its end. The zero value has none.
type SpanMover struct {
	spans []Span // ordered
	at    int    // the first one that does not end before the edit
	begun bool   // its beginning was passed
	from  int    // where that is in the edited text
	moved []Span
}

// NewSpanMover takes spans in any order; they may overlap or lie outside of the text.
func NewSpanMover(text string, spans []Span) *SpanMover {
	return &SpanMover{spans: OrderSpans(text, spans), moved: make([]Span, 0, len(spans))}
}

// Replace notes that the bytes [from, to) of the text became the bytes [newFrom, newTo). A span that has a part of them
// has all of them, which keeps whole characters.
func (m *SpanMover) Replace(from, to, newFrom, newTo int) {
	for m.at < len(m.spans) && m.spans[m.at][0] < to {
		if !m.begun {
			m.begun, m.from = true, newFrom
		}
		if m.spans[m.at][1] > to {
			return
		}
		m.end(newTo)
	}
}

// Keep notes that the bytes [from, to) of the text are unchanged and begin at newFrom.
func (m *SpanMover) Keep(from, to, newFrom int) {
	for m.at < len(m.spans) && m.spans[m.at][0] < to {
		span := m.spans[m.at]
		if !m.begun {
			m.begun, m.from = true, newFrom+span[0]-from
		}
		if span[1] > to {
			return
		}
		m.end(newFrom + span[1] - from)
	}
}

// end ends the span that the edit has reached.
func (m *SpanMover) end(to int) {
	if m.from < to {
		m.moved = append(m.moved, Span{m.from, to})
	}
	m.at, m.begun = m.at+1, false
}

// Spans returns the spans of the edited text, ordered.
func (m *SpanMover) Spans() []Span { return merge(m.moved) }
