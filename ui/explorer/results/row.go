package results

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

const (
	dot        = " · "
	below      = " › "
	further    = "●" // a further passage of the document above, and before their number
	leastTitle = 4
	leastText  = 12 // columns that a passage needs to say anything
	widestName = 20 // columns of a source's name
	widestHead = 28 // of the heading before a further passage
)

// drawRow draws the lines of a row, each as wide as the list.
func (l *List) drawRow(at int, selected bool) []string {
	r := &l.rows[at]
	item := l.items[r.item]
	if !r.marked {
		r.marks, r.marked = marksOf(item, l.words), true
	}
	d := drawing{pens: &l.drawn.pens, shape: l.drawn.look.shape, row: r, item: item, mixed: l.mixed}
	d.titlePen, d.textPen = d.pens.title, d.pens.text
	if r.aside {
		d.titlePen, d.textPen = d.pens.dimTitle, d.pens.dimText
	}
	d.age = passage.ShortAge(deref(item.UpdatedAt), l.now)
	bar := " "
	if selected {
		bar = d.pens.bar.Write(d.pens.barGlyph)
	}
	var lines []string
	if r.opens {
		lines = append(lines, d.rule("not selected"))
	}
	for i, line := range d.lines() {
		switch {
		case !selected || i > 0: // the ground under one line is enough to be seen, and costs a terminal a third of the bytes
			line = paint.Fit(bar+line, d.width)
		case d.pens.chosen.GetReverse(): // a bar that is reversed is none
			line = bar + paint.Under(paint.Fit(line, d.width-1), d.pens.chosen)
		default:
			line = paint.Under(paint.Fit(bar+line, d.width), d.pens.chosen)
		}
		lines = append(lines, line)
	}
	return lines
}

// drawing is one row on its way to the screen.
type drawing struct {
	shape
	pens *pens
	row  *row

	titlePen, textPen paint.Pen

	item wire.SearchResult
	age  string

	mixed bool // with results of other origins
}

// lines are the lines of the row without the bar before them.
func (d drawing) lines() []string {
	if d.room() < leastTitle {
		return []string{paint.Fit(d.number(), max(0, d.width-1))}
	}
	if d.passage == 0 {
		return []string{d.number() + d.single()}
	}
	var lines []string
	if d.row.heads {
		lines = append(lines, d.number()+d.title())
	}
	head := d.about()
	if !d.row.heads {
		head = d.heading()
	}
	before := paint.Blank(d.indent - 1)
	for i, line := range d.flow(head, d.passage) {
		if i == 0 && !d.row.heads {
			line = d.number() + line
		} else {
			line = before + line
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = append(lines, d.number()) // a further passage without text
	}
	return lines
}

// number is the citation number, or the mark of a further passage below it.
func (d drawing) number() string {
	if !d.row.heads {
		return paint.Blank(d.indent-1-len("* ")) + d.pens.muted.Write(further) + " "
	}
	number := "[" + passage.Citation(d.item) + "]"
	pen := d.pens.number
	if d.row.aside {
		pen = d.pens.muted
	}
	return pen.Write(number) + paint.Blank(d.indent-1-len(number))
}

// title is the line of the title, with the number of further passages at its end.
func (d drawing) title() string {
	room, count := d.room(), ""
	if d.row.further > 0 {
		count = further + " " + strconv.Itoa(d.row.further)
		room -= paint.Width(count) + 2
	}
	title := fitted(passage.Title(d.item), room)
	gap := paint.Blank(room - paint.Width(title) + 2)
	if count == "" {
		return d.titlePen.Write(title)
	}
	return d.titlePen.Write(title) + gap + d.pens.muted.Write(count)
}

// styled is text with its width in columns.
type styled struct {
	text  string
	width int
	pen   paint.Pen // of the end of the text
	end   string
	joint string // between it and what follows
}

func (s *styled) add(pen paint.Pen, text string) {
	if pen != s.pen {
		s.text += s.pen.Write(s.end)
		s.pen, s.end = pen, ""
	}
	s.end += text
	s.width += paint.Width(text)
}

// join adds the joint, unless the text is empty.
func (s *styled) join(pen paint.Pen) {
	if s.width > 0 {
		s.add(pen, s.joint)
	}
}

func (s *styled) String() string { return s.text + s.pen.Write(s.end) }

// about is source, age and author, as far as the server reported and half a line has room for them.
func (d drawing) about() styled {
	about := d.origin()
	if len(d.item.Authors) > 0 {
		author := fitted(d.item.Authors[0], widestName)
		if others := len(d.item.Authors) - 1; others > 0 {
			author += " +" + strconv.Itoa(others)
		}
		if author != "" && about.width+len(dot)+paint.Width(author) <= d.room()/2 {
			about.join(d.pens.muted)
			about.add(d.pens.muted, author)
		}
	}
	return about
}

// origin is source and age, as far as the server reported, and the server where there are several.
func (d drawing) origin() styled {
	origin := styled{joint: dot}
	if d.item.SourceType != "" {
		origin.add(d.pens.source(d.item.SourceType),
			theme.SourceGlyph(d.item.SourceType)+" "+fitted(client.SourceName(d.item.SourceType), widestName))
	}
	if d.age != "" {
		origin.join(d.pens.muted)
		origin.add(d.pens.muted, d.age)
	}
	if d.mixed && d.item.Origin != "" {
		origin.join(d.pens.muted)
		origin.add(d.pens.muted, "from "+fitted(d.item.Origin, widestName))
	}
	return origin
}

// heading is the innermost heading of a further passage.
func (d drawing) heading() styled {
	head := styled{joint: below}
	path := d.item.HeadingPath
	if len(path) == 0 || strings.EqualFold(path[len(path)-1], d.item.Title) {
		return head
	}
	head.add(d.pens.muted, fitted(path[len(path)-1], min(widestHead, d.room()/2)))
	return head
}

// flow lays the passage out behind its head, on at most the given number of lines.
func (d drawing) flow(head styled, lines int) []string {
	room := d.room()
	first := room - head.width
	if head.width > 0 {
		first -= paint.Width(head.joint)
	}
	if first < leastText && lines < 2 {
		return []string{head.String()}
	}
	text, spans := d.text(head, first, lines)
	switch {
	case text == "" && head.width == 0:
		return nil
	case text == "":
		return []string{head.String()}
	}
	head.join(d.pens.muted)
	return d.wrapped(text, spans, head.String(), first, room, lines)
}

// text is the passage as one line of running text, so that what is marked shows in the first columns of it.
func (d drawing) text(head styled, first, lines int) (string, []wire.Span) {
	text, spans := passage.Snippet(d.item, d.row.marks, first, first+(lines-1)*d.room())
	text, spans = paint.LineSpans(text, spans)
	if d.row.heads || head.width == 0 {
		return text, spans
	}
	name := paint.Line(d.item.HeadingPath[len(d.item.HeadingPath)-1])
	rest, said := strings.CutPrefix(text, name+below) // the head has it already
	if !said {
		return text, spans
	}
	return rest, paint.SpansWithin(spans, paint.Range{Start: len(text) - len(rest), End: len(text)})
}

// wrapped breaks a text into at most the given number of lines. The first begins with before and has room for first
// columns of text.
func (d drawing) wrapped(text string, spans []wire.Span, before string, first, room, lines int) []string {
	var done []string
	start, width := 0, first
	for n := 1; start < len(text); n++ {
		parts := d.broken(text, start, width)
		tail, more := "", len(parts) > 1 || parts[0].End < len(text)
		if n == lines && more {
			tail = "…"
			parts = d.broken(text, start, width-paint.Width(" …"))
			if end := parts[0].End; end < len(text) && text[end] == ' ' {
				tail = " …"
			}
		}
		marked := paint.Marked(text[parts[0].Start:parts[0].End], paint.SpansWithin(spans, parts[0]), d.textPen, d.pens.match)
		done = append(done, before+marked+d.textPen.Write(tail))
		if n == lines || len(parts) < 2 {
			break
		}
		start, width, before = parts[1].Start, room, ""
	}
	return done
}

// broken breaks the text from a position on into lines, of which the first two count: what is far beyond them is not
// looked at.
func (d drawing) broken(text string, start, width int) []paint.Range {
	width = max(1, width)
	end := min(len(text), start+4*width+64)
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	parts := paint.WrapSpans(text[start:end], width)
	for i := range parts {
		parts[i].Start += start
		parts[i].End += start
	}
	return parts
}

// single is a row of one line: title, source and age where there is room, and the passage in what is left.
func (d drawing) single() string {
	room := d.room()
	if !d.row.heads {
		return d.after(styled{}, room)
	}
	most, origin := room, styled{joint: dot}
	if d.shape.about {
		origin = d.origin()
	}
	if room*2/5 > leastText+len(dot) {
		most = room * 3 / 5
		if origin.width > 0 { // every row has it, so that the eye finds it
			most = min(most, room-origin.width-leastText-2*paint.Width(dot))
		}
	}
	line := styled{joint: dot}
	line.add(d.titlePen, fitted(passage.Title(d.item), most))
	if origin.width > 0 && line.width+origin.width+leastText+2*paint.Width(dot) <= room {
		line.join(d.pens.muted)
		line.text, line.pen, line.end = line.String()+origin.String(), paint.Pen{}, ""
		line.width += origin.width
	}
	return d.after(line, room-line.width-paint.Width(dot))
}

// after is a line with the passage after it, if there is room for one.
func (d drawing) after(line styled, left int) string {
	if left < leastText && line.width > 0 {
		return line.String()
	}
	text, spans := passage.Snippet(d.item, d.row.marks, left, left)
	text, spans = paint.LineSpans(text, spans)
	if text == "" {
		return line.String()
	}
	line.join(d.pens.muted)
	return strings.Join(d.wrapped(text, spans, line.String(), left, left, 1), "")
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
