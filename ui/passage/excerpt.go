package passage

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Best narrows a result to its best passage: its content, the highlights in it and its lines in the file. Every form
// shows that one span, clipped by its width alone. Where the server names none, all of the content stays. Lines may be
// somewhat too small, because headings are not part of the content.
func Best(r wire.SearchResult) wire.SearchResult {
	best, ok := bestPassage(r)
	if !ok {
		return r
	}
	from, to := best[0], best[1]
	if len(r.Lines) == 2 {
		r.Lines = []int{wire.LineAt(r.Content, r.Lines, from), wire.LineAt(r.Content, r.Lines, to)}
	}
	r.Content, r.Highlights = within(r.Content, r.Highlights, best)
	r.BestPassage = wire.Span{0, len(r.Content)}
	return r
}

// bestPassage returns the best passage of a result; false if the server named none.
func bestPassage(r wire.SearchResult) (wire.Span, bool) {
	best := wire.OrderSpans(r.Content, []wire.Span{r.BestPassage})
	if len(best) == 0 {
		return wire.Span{}, false
	}
	return best[0], true
}

// within returns a part of a text, and the spans that lie in it.
func within(text string, spans []wire.Span, part wire.Span) (string, []wire.Span) {
	moved := exslices.CastFuncFilter(spans, func(span wire.Span) (wire.Span, bool) {
		within := span[0] >= part[0] && span[1] <= part[1] && span[0] < span[1]
		return wire.Span{span[0] - part[0], span[1] - part[0]}, within
	})
	return text[part[0]:part[1]], moved
}

// Excerpt returns the best passage of a result as plain text with marks, for some lines of some columns. Without one it
// begins at the first of the words, or at the top if that is near. It is somewhat longer than what fits.
func Excerpt(r wire.SearchResult, words []string, lines, columns int) []Line {
	start, end := 0, len(r.Content)
	marks := wire.OrderSpans(r.Content, Highlights(r, words))
	if best, ok := bestPassage(r); ok {
		start, end = best[0], best[1]
	} else if len(marks) > 0 && !shownFromTop(r.Content[:marks[0][0]], lines, columns) {
		start = strings.LastIndexByte(r.Content[:marks[0][0]], '\n') + 1
		for start > 0 && strings.Count(r.Content[start:], "\n") < lines-1 {
			start = strings.LastIndexByte(r.Content[:start-1], '\n') + 1
		}
	}
	end = start + len(text.Clip(r.Content[start:end], 8*columns*lines))
	shown, marks := within(r.Content, marks, wire.Span{start, end})
	return linesOf(shown, marks, fenceAt(r.Content[:start]))
}

// shownFromTop reports whether the text after a beginning is in the upper half of the lines.
func shownFromTop(beginning string, lines, columns int) bool {
	return len(beginning) < columns*lines/2 && strings.Count(beginning, "\n") < lines/2
}

// IsTableRule reports whether a line is the one below the head of a table.
func IsTableRule(line string) bool {
	return strings.Contains(line, "|") && strings.Contains(line, "--") && strings.Trim(line, "|-: ") == ""
}

// Snippet returns the best passage of a result as plain text for a row of a list, and the marks in it, without a
// heading that repeats the title; if the server sent none, the text from the part on that has most marks. An ellipsis
// comes first if that is not the start of a line. The first mark is within the first columns; the whole may be longer
// than columns.
func Snippet(r wire.SearchResult, marks []wire.Span, first, columns int) (string, []wire.Span) {
	first, columns = max(1, first), max(1, columns)
	marks = wire.OrderSpans(r.Content, marks)
	start, wanted := snippetStart(r, marks, first, columns)
	cut := !startsLine(r.Content, start)
	if !cut {
		start = strings.LastIndexByte(r.Content[:start], '\n') + 1
	}
	end := min(len(r.Content), start+6*columns+512)
	if best, ok := bestPassage(r); ok && best[1] > start {
		end = min(end, best[1])
	}
	for end < len(r.Content) && !utf8.RuneStart(r.Content[end]) {
		end++
	}
	p := newPlainer(r.Content[:end], marks)
	p.fence = fenceAt(r.Content[:start])
	p.limit = 2*first + 4*columns
	p.lines(start, end)
	plain, spans := p.done()
	plain, spans, shortened := approach(plain, spans, wanted, first, columns)
	plain = text.Clip(plain, 4*columns)
	spans = wire.OrderSpans(plain, spans)
	if !cut && !shortened || plain == "" {
		return plain, spans
	}
	for i := range spans {
		spans[i][0] += len("…")
		spans[i][1] += len("…")
	}
	return "…" + plain, spans
}

// snippetStart returns where a snippet starts, and whether a mark must be visible in it.
func snippetStart(r wire.SearchResult, marks []wire.Span, first, columns int) (start int, wanted bool) {
	best, named := bestPassage(r)
	if named {
		start = passTarget(r.Content, best[0])
	}
	start = passTitle(r, start)
	marks = shownByLine(r.Content, marksFrom(marks, start))
	mark := -1
	if len(marks) > 0 {
		mark = marks[0][0]
		if !named {
			mark = richest(r.Content, marks, columns)
		}
	}
	if mark < 0 || mark-start <= 2*first {
		return start, mark >= 0
	}
	if line := strings.LastIndexByte(r.Content[:mark], '\n') + 1; line > start {
		start = line
	}
	if mark-start > 2*first {
		start = wordStart(r.Content, mark-3*first/2, mark) // approach continues from here
	}
	return start, true
}

// passTarget returns the end of the link's target that an offset is within, and any other offset as it is: passages
// begin at words, also at those of addresses.
func passTarget(content string, at int) int {
	line := strings.LastIndexByte(content[:at], '\n') + 1
	target := strings.LastIndex(content[line:at], "](")
	if target < 0 || strings.Contains(content[line+target:at], ")") {
		return at
	}
	if end := strings.IndexByte(firstLine(content[at:]), ')'); end >= 0 {
		return at + end + 1
	}
	return at
}

// shownByLine returns the first marks without those that plain text leaves out, such as in the address of a link.
func shownByLine(content string, marks []wire.Span) []wire.Span {
	const most = 64
	var shown []wire.Span
	for len(marks) > 0 && len(shown) < most {
		start := strings.LastIndexByte(content[:marks[0][0]], '\n') + 1
		line := firstLine(content[start:])
		var within []wire.Span
		for len(marks) > 0 && marks[0][0] <= start+len(line) {
			within = append(within, wire.Span{marks[0][0] - start, min(marks[0][1]-start, len(line))})
			marks = marks[1:]
		}
		for _, mark := range Shown(line, within) {
			shown = append(shown, wire.Span{mark[0] + start, mark[1] + start})
		}
	}
	return shown
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// marksFrom returns the marks that do not begin before an offset.
func marksFrom(marks []wire.Span, start int) []wire.Span {
	for len(marks) > 0 && marks[0][0] < start {
		marks = marks[1:]
	}
	return marks
}

// richest returns the mark that has the most different marked words within a number of bytes after it; long words count
// more. It compares the first few hundred marks.
func richest(content string, marks []wire.Span, reach int) int {
	const compared, stemLength = 400, 4 // words with the same first letters are the same word
	word := func(mark wire.Span) string { return content[mark[0]:mark[1]] }
	best, most := marks[0][0], 0
	for i, from := range marks[:min(len(marks), compared)] {
		score := 0
		var seen []string
		for _, mark := range marks[i:] {
			if mark[1]-from[0] > reach || len(seen) == 8 {
				break
			}
			stem := text.Clip(word(mark), stemLength)
			if !slices.ContainsFunc(seen, func(other string) bool { return strings.EqualFold(other, stem) }) {
				seen = append(seen, stem)
				score += max(1, mark[1]-mark[0]-2)
			}
		}
		if score > most {
			best, most = from[0], score
		}
	}
	return best
}

// passTitle returns the offset after the heading at start if the heading repeats the title.
func passTitle(r wire.SearchResult, start int) int {
	rest := r.Content[start:]
	blank := len(rest) - len(strings.TrimLeft(rest, " \t\n"))
	line := firstLine(rest[blank:])
	level := HeadingLevel(line)
	if level == 0 || len(line) > 2*len(r.Title)+16 ||
		!strings.EqualFold(text.OneLine(strings.Trim(line, "# ")), Title(r)) {
		return start
	}
	return min(len(r.Content), start+blank+len(line)+1)
}

// startsLine reports whether only block marks precede an offset on its line.
func startsLine(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return len(line) < 16 && strings.Trim(line, " \t#>-*+|[]x.0123456789") == ""
}

// wordStart returns the offset of the first word that begins between two offsets, or to if there is none.
func wordStart(text string, from, to int) int {
	if space := strings.IndexAny(text[from:to], " \n"); space >= 0 {
		return from + space + 1
	}
	return to
}

// approach removes the start of a text if its first mark is not within the first columns. A few words before the mark
// stay; a sentence or list item that begins nearby is kept whole.
func approach(text string, spans []wire.Span, wanted bool, first, columns int) (string, []wire.Span, bool) {
	if !wanted || len(spans) == 0 || spans[0][1] <= first-2 {
		return text, spans, false
	}
	mark := spans[0][0]
	from := max(0, mark-2*first/3)
	for from < mark && !utf8.RuneStart(text[from]) {
		from++
	}
	near := mark - first/4
	for near > from && !utf8.RuneStart(text[near]) {
		near--
	}
	at := wordStart(text, max(from, min(near, len(text)-columns)), mark) // if little follows, keep more before the mark
	for _, end := range []string{". ", betweenItems, belowHeading, "; ", ", "} {
		if found := strings.Index(text[from:mark], end); found >= 0 {
			at = from + found + len(end)
			break
		}
	}
	for _, gap := range []string{"· ", "› "} {
		if strings.HasPrefix(text[at:mark], gap) {
			at += len(gap)
		}
	}
	if at == 0 {
		return text, spans, false
	}
	for i := range spans {
		spans[i][0] -= at
		spans[i][1] -= at
	}
	return text[at:], spans, true
}

// Short returns the best passage of a result as one line of plain text with at most limit characters, cut between
// words. Without one it is what has most of the words.
func Short(r wire.SearchResult, words []string, limit int) string {
	plain, _ := Snippet(r, wire.OrderSpans(r.Content, Highlights(r, words)), limit/2, limit)
	if utf8.RuneCountInString(plain) <= limit {
		return plain
	}
	short := strings.TrimSuffix(text.Shorten(plain, limit-1), "…")
	if space := strings.LastIndexByte(short, ' '); space > limit/2 {
		short = short[:space]
	}
	return short + "…"
}
