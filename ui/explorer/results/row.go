package results

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

const (
	below      = " › "
	further    = "↳" // a further passage of the document above, and before their number
	old        = "⚠" // before the age of a document that is not to be trusted
	mark       = "●" // before a passage of the collection, in place of the bar
	added      = "✦ new"
	leastTitle = 4
	leastText  = 12 // columns that a passage needs to say anything
	widestName = 20 // columns of an author's name
	mostLeft   = 6  // columns of a line that is cut
	widestHead = 28 // of the heading before a further passage
	beforeText = 2  // columns between the place of a document and its passage
)

// drawRow draws the lines of a row, each as wide as the list.
func (l *List) drawRow(key drawnRow) []string {
	r := &l.rows[key.at]
	item := l.items[r.item]
	if !r.marked {
		r.marks, r.marked = marksOf(item, l.words), true
		r.outdated = item.Newer != nil || passage.Outdated(item)
	}
	d := drawing{List: l, th: &l.drawn.th, shape: l.drawn.look.shape, row: r, item: item}
	if key.selected && d.th.Selected.GetReverse() {
		d.th = new(d.th.OnReverse())
	}
	d.titleStyle, d.textStyle = d.th.Title, d.th.Text
	if r.aside {
		d.titleStyle, d.textStyle = d.th.Text, d.th.Muted
	}
	d.aged = r.outdated || l.isOld(item)
	if d.aged || !l.oneDate {
		d.age = passage.ShortAge(text.OrEmpty(item.UpdatedAt), l.now)
	}
	ref := passage.RefOf(item)
	d.added = l.fresh.Has(ref)
	bar := " "
	switch {
	case key.selected && l.drawn.look.focused:
		bar = l.drawn.th.BorderFocused.Render("▌")
	case key.selected:
		bar = d.th.Border.Render("▏")
	}
	shown := d.lines()
	d.th = &l.drawn.th
	var lines []string
	if r.heading != "" {
		lines = append(lines, d.rule(r.heading))
	}
	for i, line := range shown {
		bar := bar
		if i == 0 && l.marked.Has(ref) {
			bar = d.th.Number.Render(mark)
		}
		switch {
		case !key.selected:
			line = paint.Fit(bar+line, d.width)
		case d.th.Selected.GetReverse(): // a bar that is reversed is none
			line = bar + d.th.Selected.Under(paint.Fit(line, d.width-1))
		default:
			line = d.th.Selected.Under(paint.Fit(bar+line, d.width))
		}
		lines = append(lines, line)
	}
	if key.folded > 0 {
		lines = append(lines, d.rest(key.folded, l.WholeKey))
	}
	return lines
}

// drawing is one row of a list on its way to the screen.
type drawing struct {
	*List
	shape
	th  *theme.Theme
	row *row

	titleStyle, textStyle theme.Style

	item  wire.SearchResult
	age   string
	aged  bool // not to be trusted
	added bool // since the results were looked at last
}

// lines are the lines of the row without the bar before them.
func (d drawing) lines() []string {
	if d.room() < leastTitle {
		return []string{paint.Fit(d.number(), max(0, d.width-1))}
	}
	if d.row.nth > 0 {
		return []string{d.number() + d.text(d.heading())}
	}
	lines := []string{d.number() + d.title()}
	for _, line := range d.passage() {
		lines = append(lines, paint.Blank(d.indent-1)+line)
	}
	return lines
}

// passage is the place of the document and the passage behind it, on as many lines as there is room for.
func (d drawing) passage() []string {
	if d.density == TitlesOnly {
		return nil
	}
	place, room := d.place(d.room()/3), d.room()
	first := room
	if place.width > 0 {
		first -= place.width + beforeText
		place.add(d.th.Muted, paint.Blank(beforeText)) // a change of colours costs some bytes
	}
	shown := first
	if d.density == TwoLines {
		shown += room
	}
	text, spans := d.snippet(shown)
	parts := broken(text, first)
	switch {
	case text == "" && place.width == 0:
		return nil
	case d.density == OneLine || len(parts) == 1:
		return []string{place.String() + d.cut(text, spans, first)}
	}
	rest := paint.Range{Start: parts[1].Start, End: len(text)}
	begin := text[parts[0].Start:parts[0].End]
	return []string{
		place.String() + paint.Marked(begin, paint.SpansWithin(spans, parts[0]), d.textStyle, d.th.Match),
		d.cut(text[rest.Start:], paint.SpansWithin(spans, rest), room),
	}
}

// number is the citation number, or the mark of a further passage below it.
func (d drawing) number() string {
	number, style := passage.Citation(d.item), d.th.Number
	switch {
	case d.row.nth > 0:
		number, style = further, d.th.Muted
	case d.row.aside:
		style = d.th.Muted
	}
	return paint.Blank(d.indent-1-numberGap-paint.Width(number)) + style.Render(number) + paint.Blank(numberGap)
}

// title is the line of the title, with the number of further passages and the age at its end.
func (d drawing) title() string {
	var beside styled
	add := func(style theme.Style, text string) {
		if beside.width > 0 {
			beside.add(d.th.Muted, "  ")
		}
		beside.add(style, text)
	}
	if d.added {
		add(d.th.Number, added)
	}
	if d.density == TitlesOnly && d.row.lack != "" { // else it stands before the passage
		add(d.th.Muted, paint.Short(d.row.lack, d.room()/2))
	} else if d.row.further > 0 {
		add(d.th.Muted, further+" "+strconv.Itoa(d.row.further))
	}
	if related := d.related(); related != "" && beside.width+paint.Width(related) <= d.room()/2 {
		add(d.th.Muted, related)
	}
	switch {
	case d.aged:
		add(d.th.Warning, strings.TrimSpace(old+" "+d.age))
	case d.age != "":
		add(d.th.Muted, d.age)
	}
	return paint.Beside(d.found(passage.Title(d.item), d.room(), d.titleStyle), beside.String(), leastTitle, d.room())
}

// found is foreign text on one line, cut to a width, with the words of the query marked.
func (d drawing) found(text string, width int, style theme.Style) string {
	text = paint.Short(text, width)
	return paint.Marked(text, passage.FindWords(text, d.forms), style, d.th.Match)
}

// styled is text with its width in columns.
type styled struct {
	text  string
	width int
	style theme.Style // of the end of the text
	end   string
}

func (s *styled) add(style theme.Style, text string) {
	if style != s.style {
		s.text += s.style.Render(s.end)
		s.style, s.end = style, ""
	}
	s.end += text
	s.width += paint.Width(text)
}

func (s *styled) String() string { return s.text + s.style.Render(s.end) }

// place is where the document is and who wrote it, as far as the server reported, in so many columns: the mark of the
// source or an outer place that few others are of, where there are several, and the innermost folder, or the name that
// tells documents of one title apart. What the document lacks of the query stands in its place.
func (d drawing) place(room int) (place styled) {
	if d.row.lack != "" {
		return d.lacking(room)
	}
	value := d.by.Value(d.item)
	outer, crumbs := d.by.Path(d.item)
	several := d.several || len(crumbs) == 0 && d.by.IsPlace()
	glyph, name, style := d.by.Glyph(*d.th, value), "", d.th.Muted
	if last := len(crumbs) - 1; last >= 0 {
		name = crumbs[last]
	}
	if apart := d.apart[d.row.item]; apart != "" && apart != name {
		isFolder := apart == outer || slices.Contains(crumbs, apart)
		if both := apart + below + name; name != "" && isFolder && paint.Width(both) <= room {
			name = both
		} else {
			name = apart
		}
	}
	if several {
		name = cmp.Or(name, paint.Short(outer, widestName))
	}
	if d.mixed && d.item.Origin != "" {
		name = strings.TrimSuffix(d.item.Origin+below+name, below)
	}
	switch {
	case !several || outer == "":
	case glyph != "" && !strings.HasPrefix(name, glyph): // which tells the sources apart; a channel begins with it
		place.add(d.by.Style(*d.th, value), glyph+" ")
	case glyph == "" && value != d.usual && !strings.HasPrefix(name, outer) && paint.Width(outer+below+name) <= room:
		place.add(d.by.Style(*d.th, value), outer)
		place.add(d.th.Muted, below)
	default: // the colour does
		style = d.by.Style(*d.th, value)
	}
	if len(crumbs) == 0 {
		style = d.by.Style(*d.th, value)
	}
	if left := room - place.width; name != "" && left >= min(leastTitle, paint.Width(name)) {
		name = paint.Short(name, left)
		place.text, place.end = place.String()+d.found(name, left, style), ""
		place.width += paint.Width(name)
	}
	who := d.who()
	if place.width > 0 && who != "" {
		who = " · " + who
	}
	if place.width+paint.Width(who) <= room {
		place.add(d.th.Muted, who)
	}
	return place
}

// lacking is what the document lacks of the query, in so many columns or up to half of the line.
func (d drawing) lacking(room int) (place styled) {
	value := d.by.Value(d.item)
	if glyph := d.by.Glyph(*d.th, value); d.several && value != "" && glyph != "" {
		place.add(d.by.Style(*d.th, value), glyph+" ")
	}
	place.add(d.th.Muted, paint.Short(d.row.lack, max(room, d.room()/2)-place.width))
	return place
}

// who is the first author, and how many others there are.
func (d drawing) who() string {
	if len(d.item.Authors) == 0 {
		return ""
	}
	name := paint.Short(d.item.Authors[0], widestName)
	if others := len(d.item.Authors) - 1; others > 0 {
		name += " +" + strconv.Itoa(others)
	}
	return name
}

// related says that there is a newer version of the document, and how many others have its text.
func (d drawing) related() string {
	older, copied := "", ""
	if d.item.Newer != nil {
		older = "older version"
	}
	if copies := max(d.item.AlsoInCount, len(d.item.AlsoIn)); copies > 0 {
		copied = "+" + text.Count(copies, "copy")
	}
	return text.Join(" · ", older, copied)
}

// heading is the innermost heading of a further passage, after the word that it is new.
func (d drawing) heading() styled {
	var head styled
	if d.added {
		head.add(d.th.Number, added)
	}
	if name := passage.Under(d.item); name != "" {
		if d.added {
			head.add(d.th.Muted, below)
		}
		head.add(d.th.Muted, paint.Short(name, min(widestHead, d.room()/2)))
	}
	return head
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
		head.add(d.th.Muted, below)
	}
	return head.String() + d.cut(text, spans, room)
}

// snippet is the passage as one line of running text, so that what is marked shows in the first columns of it.
func (d drawing) snippet(room int) (string, []wire.Span) {
	text, spans := passage.Snippet(d.item, d.row.marks, room, room)
	text, spans = paint.LineSpans(text, spans)
	name := paint.Line(passage.Under(d.item))
	if d.row.nth == 0 || name == "" {
		return text, spans
	}
	rest, said := strings.CutPrefix(text, name+below) // the head has it already
	if !said {
		return text, spans
	}
	return rest, paint.SpansWithin(spans, paint.Range{Start: len(text) - len(rest), End: len(text)})
}

// cut is a text with what is marked in it, cut between two words, or in one that would leave much of the line empty.
func (d drawing) cut(text string, spans []wire.Span, width int) string {
	parts, tail := broken(text, width), ""
	if len(parts) > 1 || parts[0].End < len(text) {
		tail = "…"
		parts = broken(text, width-paint.Width(" …"))
		switch end := parts[0].End; {
		case width-paint.Width(text[:end]) > mostLeft:
			parts[0].End = len(ansi.Truncate(text, width-1, ""))
		case end < len(text) && text[end] == ' ':
			tail = " …"
		}
	}
	return paint.Marked(text[parts[0].Start:parts[0].End], paint.SpansWithin(spans, parts[0]), d.textStyle,
		d.th.Match) +
		d.textStyle.Render(tail)
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

// rest counts the passages of the document that are not listed, and names the key that shows it whole.
func (d drawing) rest(folded int, key string) string {
	said := text.Number(folded) + " more"
	if key != "" {
		said += " · " + key + " all"
	}
	return paint.Fit(paint.Blank(d.indent)+d.th.Muted.Render(said), d.width)
}

// rule is the line above what the selector left out.
func (d drawing) rule(text string) string {
	line := " ── " + text + " "
	if rest := d.width - 1 - paint.Width(line); rest > 0 {
		line += strings.Repeat("─", rest)
	}
	return paint.Fit(d.th.Border.Render(line), d.width)
}
