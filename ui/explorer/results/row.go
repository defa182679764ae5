package results

import (
	"strconv"
	"strings"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

const (
	dot        = " · "
	leastText  = 16 // columns that a passage needs to say anything
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
	d := drawing{pens: &l.drawn.pens, shape: l.drawn.look.shape, row: r, item: item}
	d.age = passage.ShortAge(deref(item.UpdatedAt), l.now)
	bar := " "
	if selected {
		bar = d.pens.bar.Write(d.pens.barGlyph)
	}
	var lines []string
	if r.opens {
		lines = append(lines, d.rule("not selected"))
	}
	for _, line := range d.lines() {
		line = paint.Fit(bar+line, d.width)
		if selected {
			line = paint.Under(line, d.pens.chosen)
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
	item wire.SearchResult
	age  string
}

// lines are the lines of the row without the bar before them.
func (d drawing) lines() []string {
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
	blank := paint.Blank(d.indent - 1)
	for _, line := range d.flow(head, d.passage) {
		lines = append(lines, blank+line)
	}
	if len(lines) == 0 {
		lines = append(lines, "") // a further passage that says nothing
	}
	return lines
}

// number is the citation number, or as much empty room below it.
func (d drawing) number() string {
	if !d.row.heads {
		return paint.Blank(d.indent - 1)
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
		count = "● " + strconv.Itoa(d.row.further)
		room -= paint.Width(count) + 2
	}
	title := fitted(passage.Title(d.item), room)
	gap := paint.Blank(room - paint.Width(title) + 2)
	if count == "" {
		return d.titlePen().Write(title)
	}
	return d.titlePen().Write(title) + gap + d.pens.muted.Write(count)
}

func (d drawing) titlePen() paint.Pen {
	if d.row.aside {
		return d.pens.dimTitle
	}
	return d.pens.title
}

func (d drawing) textPen() paint.Pen {
	if d.row.aside {
		return d.pens.dimText
	}
	return d.pens.text
}

// styled is text with its width in columns.
type styled struct {
	text  string
	width int
}

func (s *styled) add(pen paint.Pen, text string) {
	s.text += pen.Write(text)
	s.width += paint.Width(text)
}

// about is source, age and author, as far as the server told and half a line has room for them.
func (d drawing) about() styled {
	var about styled
	if d.item.SourceType != "" {
		about.add(d.pens.source(d.item.SourceType),
			theme.SourceGlyph(d.item.SourceType)+" "+fitted(client.SourceName(d.item.SourceType), widestName))
	}
	if d.age != "" {
		about.add(d.pens.muted, d.separator(about)+d.age)
	}
	if len(d.item.Authors) > 0 {
		author := fitted(d.item.Authors[0], widestName)
		if others := len(d.item.Authors) - 1; others > 0 {
			author += " +" + strconv.Itoa(others)
		}
		if author != "" && about.width+len(dot)+paint.Width(author) <= d.room()/2 {
			about.add(d.pens.muted, d.separator(about)+author)
		}
	}
	return about
}

// separator stands before what follows something.
func (d drawing) separator(before styled) string {
	if before.width == 0 {
		return ""
	}
	return dot
}

// heading is the innermost heading that a further passage stands under.
func (d drawing) heading() styled {
	var head styled
	path := d.item.HeadingPath
	if len(path) == 0 || strings.EqualFold(path[len(path)-1], d.item.Title) {
		return head
	}
	head.add(d.pens.muted, fitted(path[len(path)-1], min(widestHead, d.room()/2)))
	return head
}

// flow lays the passage out after what stands before it, on at most so many lines.
func (d drawing) flow(head styled, lines int) []string {
	room := d.room()
	first := room - head.width
	if head.width > 0 {
		first -= paint.Width(dot)
	}
	text, spans := d.text(head, first, lines)
	if text == "" {
		if head.width == 0 {
			return nil
		}
		return []string{head.text}
	}
	if head.width == 0 {
		return d.wrapped(text, spans, "", room, room, lines)
	}
	if first < leastText && lines < 2 {
		return []string{head.text}
	}
	return d.wrapped(text, spans, head.text+d.pens.muted.Write(dot), first, room, lines)
}

// text is the passage as one line of running text, so that what is marked shows in the first columns of it.
func (d drawing) text(head styled, first, lines int) (string, []wire.Span) {
	text, spans := passage.Snippet(d.item, d.row.marks, first, first+(lines-1)*d.room())
	text, spans = paint.LineSpans(text, spans)
	if d.row.heads || head.width == 0 {
		return text, spans
	}
	name := paint.Line(d.item.HeadingPath[len(d.item.HeadingPath)-1])
	rest, said := strings.CutPrefix(text, name+" › ") // stands before it already
	if !said {
		return text, spans
	}
	return rest, paint.SpansWithin(spans, paint.Range{Start: len(text) - len(rest), End: len(text)})
}

// wrapped breaks a text into at most so many lines, of which the first has room for other many columns after what stands
// before it.
func (d drawing) wrapped(text string, spans []wire.Span, before string, first, room, lines int) []string {
	var done []string
	start, width := 0, first
	for n := 1; start < len(text); n++ {
		parts := paint.WrapSpans(text[start:min(len(text), start+enough(width))], max(1, width))
		whole := len(parts) == 1 && start+parts[0].End == len(text)
		tail := ""
		if n == lines && !whole {
			tail = " …"
			if parts = paint.WrapSpans(text[start:min(len(text), start+enough(width))], max(1, width-2)); len(parts) == 0 {
				break
			}
		}
		part := paint.Range{Start: start + parts[0].Start, End: start + parts[0].End}
		marked := paint.MarkedWith(text[part.Start:part.End], paint.SpansWithin(spans, part), d.textPen(), d.pens.match)
		done = append(done, before+marked+d.textPen().Write(tail))
		if n == lines || whole || len(parts) < 2 {
			break
		}
		start, width, before = start+parts[1].Start, room, ""
	}
	return done
}

// enough is how many bytes are looked at to fill columns.
func enough(columns int) int { return 8*max(1, columns) + 64 }

// single is a row of one line: title, source and age where there is room, and the passage in what is left.
func (d drawing) single() string {
	room := d.room()
	var line styled
	if d.row.heads {
		most := room
		if room >= 2*leastText {
			most = room * 3 / 5
		}
		line.add(d.titlePen(), fitted(passage.Title(d.item), most))
	}
	if about := d.about(); d.row.heads && d.shape.about && about.width > 0 && line.width+about.width+leastText < room {
		line.add(d.pens.muted, dot)
		line.text += about.text
		line.width += about.width
	}
	if left := room - line.width - paint.Width(dot); left >= leastText || line.width == 0 {
		if flowed := d.flowAfter(line, left); flowed != "" {
			return flowed
		}
	}
	return line.text
}

// flowAfter is a line with the passage after it; empty where there is no passage.
func (d drawing) flowAfter(line styled, left int) string {
	text, spans := passage.Snippet(d.item, d.row.marks, left, left)
	text, spans = paint.LineSpans(text, spans)
	if text == "" {
		return ""
	}
	before := ""
	if line.width > 0 {
		before = line.text + d.pens.muted.Write(dot)
	} else {
		left = d.room()
	}
	return strings.Join(d.wrapped(text, spans, before, left, left, 1), "")
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
