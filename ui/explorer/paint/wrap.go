package paint

import (
	"sort"
	"strings"

	"quarry/client/wire"
)

// Range is a part of a text, the bytes [Start, End).
type Range struct{ Start, End int }

// Wrap breaks painted text (see Text) into lines of at most w columns, at spaces where there are some. A line keeps its
// indentation on the first of its lines. There is always at least one line.
func Wrap(s string, w int) []string {
	ranges := WrapSpans(s, w)
	lines := make([]string, len(ranges))
	for i, r := range ranges {
		lines[i] = s[r.Start:r.End]
		if w < maxCluster && Width(lines[i]) > max(1, w) {
			lines[i] = ellipsis // a single character
		}
	}
	return lines
}

// WrapSpans tells where Wrap breaks, as ranges of s: what stands between two of them is a line end or spaces that a
// break swallowed. A character wider than w columns stands alone on its line.
func WrapSpans(s string, w int) []Range {
	wr := wrapper{text: s, limit: max(1, w), ranges: make([]Range, 0, 1+len(s)/max(8, w))}
	for {
		end := wr.at
		for end < len(s) && s[end] != '\n' {
			end++
		}
		wr.line(end)
		if end == len(s) {
			return wr.ranges
		}
		wr.at = end + 1
	}
}

// SpansWithin gives the parts of spans (sorted, apart) that lie in a range, as offsets from its start: what Marked needs
// for one line of WrapSpans.
func SpansWithin(spans []wire.Span, r Range) []wire.Span {
	first := sort.Search(len(spans), func(i int) bool { return spans[i][1] > r.Start })
	last := first
	for last < len(spans) && spans[last][0] < r.End {
		last++
	}
	if first == last {
		return nil
	}
	inside := make([]wire.Span, 0, last-first)
	for _, span := range spans[first:last] {
		if from, to := max(span[0], r.Start), min(span[1], r.End); from < to {
			inside = append(inside, wire.Span{from - r.Start, to - r.Start})
		}
	}
	return inside
}

// wrapper is the state of one WrapSpans.
type wrapper struct {
	text   string
	limit  int
	at     int
	ranges []Range
}

// breakPoint is a place where a line may end: its text ends at end, the next line's begins at next, columns after the
// beginning of this one.
type breakPoint struct {
	end, next, columns int
	known              bool
}

// line breaks the text from where the wrapper stands up to end, which is a line of the text.
func (wr *wrapper) line(end int) {
	start, columns := wr.at, 0
	var last breakPoint
	indent, wide := true, false // only spaces so far; the character before is of two columns
	for wr.at < end {
		if wr.text[wr.at] == ' ' {
			from := wr.at
			wr.spaces(end)
			columns += wr.at - from
			switch {
			case !indent:
				last = breakPoint{from, wr.at, columns, true}
			case columns >= wr.limit && wr.at < end:
				start, columns = wr.at, 0 // no room for an indentation
			}
			wide = false
			continue
		}
		_, size, width := next(wr.text[wr.at:end])
		if wr.at > start && !indent && wr.between(wide, width) {
			last = breakPoint{wr.at, wr.at, columns, true}
		}
		if columns+width > wr.limit && wr.at > start {
			if !last.known {
				last = breakPoint{wr.at, wr.at, columns, true}
			}
			wr.ranges = append(wr.ranges, Range{start, last.end})
			start, columns, last = last.next, columns-last.columns, breakPoint{}
			continue
		}
		wr.at += size
		columns += width
		indent, wide = false, width == 2
	}
	if columns > wr.limit { // by spaces at the end
		end = min(end, start+len(strings.TrimRight(wr.text[start:end], " ")))
	}
	wr.ranges = append(wr.ranges, Range{start, end})
}

// between tells whether a line may end before the character of so many columns where the wrapper stands: beside Chinese,
// Japanese or Korean ones, and after the hyphen of a compound.
func (wr *wrapper) between(wide bool, width int) bool {
	switch before := wr.text[wr.at-1]; {
	case width == 0 || before == ' ':
		return false
	case wide || width == 2:
		return true
	case before == '-' && wr.at > 1:
		return wordByte(wr.text[wr.at-2]) && wordByte(wr.text[wr.at])
	}
	return false
}

// wordByte tells whether a byte belongs to a letter or a digit, as far as ASCII goes.
func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// spaces steps over a run of spaces.
func (wr *wrapper) spaces(end int) {
	for wr.at < end && wr.text[wr.at] == ' ' {
		wr.at++
	}
}
