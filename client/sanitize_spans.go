package client

import (
	"cmp"
	"slices"

	"quarry/client/wire"
)

// tracker moves the ends of spans from the old text to the new while the text is sanitised. A nil tracker is no work.
type tracker struct {
	ends []end // ascending by where they were
	next int   // the first that has not been moved
	out  []wire.Span
}

// end is one end of a span.
type end struct {
	span, side int // side 0 is the start
	was        int
}

// newTracker keeps the spans that mark something within the text.
func newTracker(spans []wire.Span, length int) *tracker {
	t := &tracker{}
	for _, span := range spans {
		start, stop := max(0, span[0]), min(length, span[1])
		if start >= stop {
			continue
		}
		t.ends = append(t.ends, end{len(t.out), 0, start}, end{len(t.out), 1, stop})
		t.out = append(t.out, wire.Span{})
	}
	slices.SortStableFunc(t.ends, func(a, b end) int { return cmp.Compare(a.was, b.was) })
	return t
}

// note tells that the piece [from, to) of the old text is [newFrom, newTo) of the new. Starts inside a piece move to
// its beginning and stops to its end, which keeps whole characters.
func (t *tracker) note(from, to, newFrom, newTo int) {
	if t == nil {
		return
	}
	for ; t.next < len(t.ends); t.next++ {
		e := t.ends[t.next]
		switch {
		case e.side == 0 && e.was < to:
			t.out[e.span][0] = newFrom
		case e.side == 1 && e.was <= from:
			t.out[e.span][1] = newFrom
		case e.side == 1 && e.was <= to:
			t.out[e.span][1] = newTo
		default:
			return
		}
	}
}

// run tells that the bytes [from, to) of the old text are as many characters, and stay as they are from newFrom on.
func (t *tracker) run(from, to, newFrom int) {
	if t == nil {
		return
	}
	for ; t.next < len(t.ends); t.next++ {
		e := t.ends[t.next]
		if e.was > to || e.side == 0 && e.was == to {
			return
		}
		t.out[e.span][e.side] = newFrom + e.was - from
	}
}

// spans gives the moved spans, sorted and disjoint.
func (t *tracker) spans() []wire.Span {
	slices.SortFunc(t.out, func(a, b wire.Span) int { return cmp.Compare(a[0], b[0]) })
	merged := make([]wire.Span, 0, len(t.out))
	for _, span := range t.out {
		last := len(merged) - 1
		switch {
		case span[0] >= span[1]:
		case last >= 0 && span[0] <= merged[last][1]:
			merged[last][1] = max(merged[last][1], span[1])
		default:
			merged = append(merged, span)
		}
	}
	return merged
}
