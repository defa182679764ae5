package results

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

const (
	below      = " › "
	further    = "↳" // a further passage of the document above, and before their number
	old        = "⚠" // before the age of an old document
	mark       = "●" // before a passage of the collection, in place of the bar
	added      = "✦ new"
	leastTitle = 4
	leastText  = 12 // columns that a passage needs to say anything
	widestName = 20 // columns of an author's name
	widestHead = 28 // of the heading before a further passage
	beforeWho  = 3  // columns between where a document is and who wrote it
)

// drawRow draws the lines of a row, each as wide as the list.
func (l *List) drawRow(at int, selected bool) []string {
	r := &l.rows[at]
	item := l.items[r.item]
	if !r.marked {
		r.marks, r.marked = marksOf(item, l.words), true
	}
	d := drawing{pens: &l.drawn.pens, shape: l.drawn.look.shape, row: r, item: item, words: l.words, roots: l.roots, mixed: l.mixed}
	d.titlePen, d.textPen = d.pens.title, d.pens.text
	if r.aside {
		d.titlePen, d.textPen = d.pens.dimTitle, d.pens.dimText
	}
	d.age = passage.ShortAge(deref(item.UpdatedAt), l.now)
	d.aged = l.isOld(item)
	d.added = l.isNew != nil && l.isNew(item)
	bar := " "
	if selected {
		bar = d.pens.bar.Write(d.pens.barGlyph)
	}
	var lines []string
	if r.heading != "" {
		lines = append(lines, d.rule(r.heading))
	}
	for i, line := range d.lines() {
		bar := bar
		if i == 0 && l.isMarked != nil && l.isMarked(item) {
			bar = d.pens.mark.Write(mark)
		}
		switch {
		case !selected:
			line = paint.Fit(bar+line, d.width)
		case d.pens.chosen.GetReverse(): // a bar that is reversed is none
			line = bar + paint.Under(paint.Fit(line, d.width-1), d.pens.chosen)
		default:
			line = paint.Under(paint.Fit(bar+line, d.width), d.pens.chosen)
		}
		lines = append(lines, line)
	}
	if d.density == Spaced && at+1 < len(l.rows) && l.rows[at+1].heads {
		lines = append(lines, paint.Blank(d.width))
	}
	return lines
}

// drawing is one row on its way to the screen.
type drawing struct {
	shape
	pens *pens
	row  *row

	titlePen, textPen paint.Pen

	item  wire.SearchResult
	words []string
	roots []string
	age   string
	aged  bool // older than is to be trusted
	added bool // since the results were looked at last

	mixed bool // with results of other origins
}

// lines are the lines of the row without the bar before them.
func (d drawing) lines() []string {
	if d.room() < leastTitle {
		return []string{paint.Fit(d.number(), max(0, d.width-1))}
	}
	if !d.row.heads {
		return []string{d.number() + d.text(d.heading())}
	}
	lines := []string{d.number() + d.title()}
	before := paint.Blank(d.indent - 1)
	if d.density >= TwoLines {
		if about := d.about(); about != "" {
			lines = append(lines, before+about)
		}
	}
	if d.density >= OneLine {
		if text := d.text(styled{}); text != "" {
			lines = append(lines, before+text)
		}
	}
	return lines
}

// number is the citation number, or the mark of a further passage below it.
func (d drawing) number() string {
	number, pen := passage.Citation(d.item), d.pens.number
	switch {
	case !d.row.heads:
		number, pen = further, d.pens.muted
	case d.row.aside:
		pen = d.pens.muted
	}
	return paint.Blank(d.indent-1-numberGap-paint.Width(number)) + pen.Write(number) + paint.Blank(numberGap)
}

// title is the line of the title, with the number of further passages and the age at its end.
func (d drawing) title() string {
	var beside styled
	add := func(pen paint.Pen, text string) {
		if beside.width > 0 {
			beside.add(d.pens.muted, "  ")
		}
		beside.add(pen, text)
	}
	if d.added {
		add(d.pens.number, added)
	}
	if d.row.further > 0 {
		add(d.pens.muted, further+" "+strconv.Itoa(d.row.further))
	}
	switch lack := paint.Width(d.row.lack); {
	case lack > 0 && lack <= d.room()/2 && d.density < TwoLines: // else the line below says it
		add(d.pens.muted, d.row.lack)
	case d.aged:
		add(d.pens.warning, old+" "+d.age)
	case d.age != "":
		add(d.pens.muted, d.age)
	}
	room := d.room() - beside.width - 2
	if beside.width == 0 || room < leastTitle {
		return d.found(passage.Title(d.item), d.room(), d.titlePen)
	}
	return paint.Fit(d.found(passage.Title(d.item), room, d.titlePen), room) + "  " + beside.String()
}

// found is foreign text on one line, cut to a width, with the words of the query marked.
func (d drawing) found(text string, width int, pen paint.Pen) string {
	text = fitted(text, width)
	return paint.Marked(text, passage.FindWords(text, d.words), pen, d.pens.match)
}

// styled is text with its width in columns.
type styled struct {
	text  string
	width int
	pen   paint.Pen // of the end of the text
	end   string
}

func (s *styled) add(pen paint.Pen, text string) {
	if pen != s.pen {
		s.text += s.pen.Write(s.end)
		s.pen, s.end = pen, ""
	}
	s.end += text
	s.width += paint.Width(text)
}

func (s *styled) String() string { return s.text + s.pen.Write(s.end) }

// about is the source, where the document is in it, and who wrote it, as far as the server reported.
func (d drawing) about() string {
	room, crumbs, source, related := d.room(), passage.Where(d.item, d.roots), "", d.related()
	if wide := beforeWho + paint.Width(related); related != "" && room >= 2*wide { // before the place, which is cut
		room -= wide
	} else {
		related = ""
	}
	if d.item.SourceType != "" {
		source = d.pens.glyph(d.item.SourceType) + " " + fitted(wire.SourceName(d.item.SourceType), widestName)
	}
	if d.mixed && d.item.Origin != "" {
		crumbs = slices.Insert(crumbs, 0, d.item.Origin)
	}
	line, left := d.pens.source(d.item.SourceType).Write(source), room-paint.Width(source)
	if where := strings.Join(crumbs, below); where != "" {
		if source != "" {
			line, left = line+d.pens.muted.Write(below), left-paint.Width(below)
		}
		for len(crumbs) > 1 && paint.Width(where) > left { // the innermost tells most
			crumbs = crumbs[1:]
			where = "…" + below + strings.Join(crumbs, below)
		}
		where = fitted(where, left)
		line, left = line+d.found(where, left, d.pens.muted), left-paint.Width(where)
	}
	if len(d.item.Authors) > 0 {
		who := fitted(d.item.Authors[0], widestName)
		if others := len(d.item.Authors) - 1; others > 0 {
			who += " +" + strconv.Itoa(others)
		}
		if gap := beforeWho; left >= gap+paint.Width(who) {
			if left == room {
				gap = 0
			}
			line += paint.Blank(gap) + d.pens.muted.Write(who)
		}
	}
	if related != "" {
		line += paint.Blank(beforeWho) + d.pens.title.Write(related)
	}
	return line
}

// related says what of the query the document lacks, that there is a newer version of it, and how many others have its
// text.
func (d drawing) related() string {
	var parts []string
	if d.row.lack != "" {
		parts = append(parts, d.row.lack)
	}
	if d.item.Newer != nil {
		parts = append(parts, "older version")
	}
	if copies := max(d.item.AlsoInCount, len(d.item.AlsoIn)); copies > 0 {
		parts = append(parts, "+"+text.Count(copies, "copy"))
	}
	return strings.Join(parts, " · ")
}

// heading is the innermost heading of a further passage, after the word that it is new.
func (d drawing) heading() styled {
	var head styled
	if d.added {
		head.add(d.pens.number, added)
	}
	if name := d.innermost(); name != "" {
		if d.added {
			head.add(d.pens.muted, below)
		}
		head.add(d.pens.muted, fitted(name, min(widestHead, d.room()/2)))
	}
	return head
}

// innermost is the heading that a passage is under, unless that is the title.
func (d drawing) innermost() string {
	path := d.item.HeadingPath
	if len(path) == 0 || strings.EqualFold(path[len(path)-1], d.item.Title) {
		return ""
	}
	return path[len(path)-1]
}

// text is the passage behind its head, on one line.
func (d drawing) text(head styled) string {
	room := d.room()
	if head.width > 0 {
		room -= head.width + paint.Width(below)
	}
	if room < leastText && head.width > 0 {
		return head.String()
	}
	text, spans := d.snippet(room)
	switch {
	case text == "":
		return head.String()
	case head.width > 0:
		head.add(d.pens.muted, below)
	}
	return head.String() + d.cut(text, spans, room)
}

// snippet is the passage as one line of running text, so that what is marked shows in the first columns of it.
func (d drawing) snippet(room int) (string, []wire.Span) {
	text, spans := passage.Snippet(d.item, d.row.marks, room, room)
	text, spans = paint.LineSpans(text, spans)
	name := paint.Line(d.innermost())
	if d.row.heads || name == "" {
		return text, spans
	}
	rest, said := strings.CutPrefix(text, name+below) // the head has it already
	if !said {
		return text, spans
	}
	return rest, paint.SpansWithin(spans, paint.Range{Start: len(text) - len(rest), End: len(text)})
}

// cut is a text with what is marked in it, cut between two words.
func (d drawing) cut(text string, spans []wire.Span, width int) string {
	parts, tail := broken(text, width), ""
	if len(parts) > 1 || parts[0].End < len(text) {
		tail = "…"
		parts = broken(text, width-paint.Width(" …"))
		if end := parts[0].End; end < len(text) && text[end] == ' ' {
			tail = " …"
		}
	}
	return paint.Marked(text[parts[0].Start:parts[0].End], paint.SpansWithin(spans, parts[0]), d.textPen, d.pens.match) +
		d.textPen.Write(tail)
}

// broken breaks a text into lines, of which the first two count: what is far beyond them is not looked at.
func broken(text string, width int) []paint.Range {
	width = max(1, width)
	end := min(len(text), 4*width+64)
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	return paint.WrapSpans(text[:end], width)
}

// rule is the line above what the selector left out.
func (d drawing) rule(text string) string {
	line := " ── " + text + " "
	if rest := d.width - 1 - paint.Width(line); rest > 0 {
		line += strings.Repeat("─", rest)
	}
	return paint.Fit(d.pens.rule.Write(line), d.width)
}

// fitted is foreign text on one line, cut to a width.
func fitted(text string, width int) string {
	return strings.TrimRight(paint.FitLine(text, width), " ")
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
