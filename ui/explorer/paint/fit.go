package paint

import (
	"strings"
	"unicode/utf8"
)

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
	switch ascii := plainASCII(s[:min(len(s), w+1)]); {
	case ascii > w:
		return s[:w-1] + ellipsis
	case ascii == len(s):
		return s + Blank(w-len(s))
	}
	f := fitter{text: s, limit: w}
	return f.fit()
}

// FitLine is Line and Fit for foreign text of any length. It reads only as much as can be shown.
func FitLine(s string, w int) string {
	const perColumn, least = 16, 1 << 10
	return Fit(Line(head(s, max(least, perColumn*w))), w)
}

// head returns about the first size bytes of a text.
func head(s string, size int) string {
	if len(s) <= size {
		return s
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size]
}

type fitter struct {
	text  string
	limit int
	out   strings.Builder
	from  int // the text before it is in out, or removed

	columns        int
	styled, linked bool
	cut            cut // where to cut if the text is too wide
}

// cut is a place in the text with room for an ellipsis after it.
type cut struct {
	at, kept       int // in the text; length of out
	from           int
	columns        int
	styled, linked bool
}

func (f *fitter) fit() string {
	for at := 0; at < len(f.text); {
		what, size, width := next(f.text[at:])
		if f.columns+width > f.limit {
			return f.finish(true)
		}
		switch what {
		case style, plain:
			f.styled = what == style
		case link, unlink:
			f.linked = what == link
		case junk:
			f.out.WriteString(f.text[f.from:at])
			f.from = at + size
			if !f.unjoined(at, f.from) {
				f.out.WriteRune(zeroSpace)
			}
		}
		at += size
		f.columns += width
		if f.columns < f.limit {
			f.cut = cut{at, f.out.Len(), f.from, f.columns, f.styled, f.linked}
		}
	}
	return f.finish(false)
}

// unjoined reports whether the characters around a removed part cannot join: both are ASCII.
func (f *fitter) unjoined(before, after int) bool {
	return (before == 0 || f.text[before-1] < utf8.RuneSelf) && (after == len(f.text) || f.text[after] < utf8.RuneSelf)
}

// finish ends the line: at the last place with room for an ellipsis if the text is too wide.
func (f *fitter) finish(tooWide bool) string {
	if !tooWide && f.from == 0 && f.columns == f.limit && !f.styled && !f.linked {
		return f.text
	}
	var line strings.Builder
	end, tail := cut{len(f.text), f.out.Len(), f.from, f.columns, f.styled, f.linked}, ""
	if tooWide {
		end, tail = f.cut, ellipsis
	}
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
