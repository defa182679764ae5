package paint

import (
	"sort"
	"strings"
	"unicode/utf8"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
)

type Range struct{ Start, End int }

// Wrap breaks cleaned text (see Text) into lines of at most w columns, at spaces if possible. An indented line keeps
// its indentation on the first of its lines. There is always at least one line.
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

// WrapSpans returns the lines of Wrap as ranges of s. Line ends and spaces at breaks are in none of them. A character
// wider than w columns is a line by itself.
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

// SpansWithin returns the parts of sorted spans within a range, as offsets from its start: the spans of one line of
// WrapSpans for Marked.
func SpansWithin(spans []wire.Span, r Range) []wire.Span {
	first := sort.Search(len(spans), func(i int) bool { return spans[i][1] > r.Start })
	last := first
	for last < len(spans) && spans[last][0] < r.End {
		last++
	}
	if first == last {
		return nil
	}
	return exslices.CastFuncFilter(spans[first:last], func(span wire.Span) (wire.Span, bool) {
		from, to := max(span[0], r.Start), min(span[1], r.End)
		return wire.Span{from - r.Start, to - r.Start}, from < to
	})
}

type wrapper struct {
	text   string
	limit  int
	at     int
	ranges []Range
}

// breakPoint is a place where a line may end at end, and the next one start at next, columns after the start of this
// line.
type breakPoint struct {
	end, next, columns int
	known              bool
}

// line breaks one line of the text, up to end.
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
		_, size, width := Next(wr.text[wr.at:end])
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

// between reports whether a line may end before the next character, which has a width: beside Chinese, Japanese or
// Korean, and after the hyphen of a compound.
func (wr *wrapper) between(wide bool, width int) bool {
	switch before := wr.text[wr.at-1]; {
	case width == 0 || before == ' ':
		return false
	case wide || width == 2:
		return true
	case before == '-' && wr.at > 1:
		return text.IsWordByte(wr.text[wr.at-2]) && text.IsWordByte(wr.text[wr.at])
	}
	return false
}

func (wr *wrapper) spaces(end int) {
	for wr.at < end && wr.text[wr.at] == ' ' {
		wr.at++
	}
}

const (
	ellipsis = "…"
	endStyle = "\x1b[m"
	endLink  = "\x1b]8;;\x1b\\"
)

// Fit returns a styled string with a width of exactly w columns: cut with an ellipsis, or padded with spaces. Styles
// and links that are on at the end are ended before the padding. It reads only as much of a long string as fits.
func Fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	switch ascii := text.PlainWidth(s[:min(len(s), w+1)]); {
	case ascii > w:
		return s[:w-1] + ellipsis
	case ascii == len(s):
		return s + Blank(w-len(s))
	}
	return (&fitter{text: s, limit: w}).fit()
}

// Beside returns a styled text, width columns wide, with another one at its end; alone where less than least columns
// would be left for it.
func Beside(text, beside string, least, width int) string {
	const gap = 2
	room := width - gap - Width(beside)
	if beside == "" || room < least {
		return Fit(text, width)
	}
	return Fit(text, room) + Blank(gap) + beside
}

// FitLine is Line and Fit for foreign text of any length. It reads only as much as can be shown.
func FitLine(s string, w int) string {
	const perColumn, least = 16, 1 << 10
	return Fit(Line(text.Clip(s, max(least, perColumn*w))), w)
}

// Short is FitLine without spaces at its end.
func Short(s string, w int) string { return strings.TrimRight(FitLine(s, w), " ") }

type fitter struct {
	text  string
	limit int
	out   strings.Builder
	place // up to which the text was read
	cut   place
}

// place is a place in the text, and the line up to it.
type place struct {
	at, kept       int // in the text; length of out
	from           int // the text before it is in out, or removed
	columns        int
	styled, linked bool
}

func (f *fitter) fit() string {
	for f.at < len(f.text) {
		what, size, width := Next(f.text[f.at:])
		if f.columns+width > f.limit {
			return f.finish(f.cut, ellipsis)
		}
		switch what {
		case Style, Reset:
			f.styled = what == Style
		case Link, Unlink:
			f.linked = what == Link
		case Junk:
			f.out.WriteString(f.text[f.from:f.at])
			f.from = f.at + size
			if !f.unjoined(f.at, f.from) {
				f.out.WriteRune(zeroSpace)
			}
			f.kept = f.out.Len()
		}
		f.at += size
		f.columns += width
		if f.columns < f.limit { // there is room for an ellipsis
			f.cut = f.place
		}
	}
	if f.from == 0 && f.columns == f.limit && !f.styled && !f.linked {
		return f.text
	}
	return f.finish(f.place, "")
}

// unjoined reports whether the characters around a removed part cannot join: both are ASCII.
func (f *fitter) unjoined(before, after int) bool {
	return (before == 0 || f.text[before-1] < utf8.RuneSelf) && (after == len(f.text) || f.text[after] < utf8.RuneSelf)
}

// finish ends the line at a place, with a tail.
func (f *fitter) finish(end place, tail string) string {
	var line strings.Builder
	line.Grow(end.kept + end.at - end.from + len(ellipsis) + len(endStyle) + len(endLink) + f.limit - end.columns)
	line.WriteString(f.out.String()[:end.kept])
	line.WriteString(f.text[end.from:end.at])
	if last, _ := utf8.DecodeLastRuneInString(f.text[end.from:end.at]); joinsNext(last) {
		line.WriteRune(zeroSpace)
	}
	line.WriteString(tail)
	if end.linked {
		line.WriteString(endLink)
	}
	if end.styled {
		line.WriteString(endStyle)
	}
	for range f.limit - end.columns - min(len(tail), 1) {
		line.WriteByte(' ')
	}
	return line.String()
}
