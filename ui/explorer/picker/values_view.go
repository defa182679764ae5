package picker

import (
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// view draws the field that narrows, a line about the choice, and the values.
func (t *values) view(width, height int, th theme.Theme, message string) panel.Body {
	const withState, withGap = 5, 9
	var drawn panel.Body
	if height <= 0 {
		return drawn
	}
	var lines []string
	if height > 1 {
		field, x := t.line(width, th)
		drawn.X, drawn.Cursor = x, true
		if height < withState && message != "" {
			field, drawn.Cursor = th.Warning.Render(message), false
		}
		lines = append(lines, field)
	}
	if height >= withState {
		lines = append(lines, t.state(width, th, message))
	}
	if height >= withGap {
		lines = append(lines, "")
	}
	rows := height - len(lines)
	from, to := t.cursor.Window(len(t.shown), rows)
	drawn.ThumbFrom, drawn.ThumbTo = panel.Thumb(len(lines), rows, from, len(t.shown))
	table := t.columns(width, th)
	for at := from; at < to; at++ {
		lines = append(lines, table.row(&t.all[t.shown[at]], at == t.cursor.At))
	}
	if len(t.shown) == 0 {
		none := "no source matches"
		if len(t.all) == 0 {
			none = "no sources known"
		}
		lines = append(lines, th.Muted.Render(none))
	}
	drawn.Lines = lines
	return drawn
}

// state is the line between the field and the values: the answer to the last key, or what the counts are, and what
// the choice means.
func (t *values) state(width int, th theme.Theme, message string) string {
	if message != "" {
		return th.Warning.Render(message)
	}
	if index, ok := t.pending(); ok {
		return taking(t.all[index].label, width, th)
	}
	var parts []string
	if !t.exact {
		counted := "counts of the " + text.Number(t.inHand) + " results shown"
		if t.limited {
			counted += " of the selected sources"
		}
		parts = append(parts, counted)
	}
	chosen := t.chosen()
	switch rest := len(t.all) - chosen; {
	case chosen == 0:
		parts = append(parts, "no selection = all sources")
	case rest == 0:
		parts = append(parts, "all selected")
	case rest == 1:
		parts = append(parts, "! selects the other one")
	default:
		parts = append(parts, "! selects the other "+text.Number(rest))
	}
	said := strings.Join(parts, " · ")
	if paint.Width(said) > width {
		said = parts[0]
	}
	return th.Muted.Render(said)
}

// table is where the parts of a row stand, in columns, and the pens to write them with.
type table struct {
	t                        *values
	th                       theme.Theme
	label, bar, count, width int
	short                    bool // counts are 3/10
	words                    []string

	text, chosen, off, barPen, number, match paint.Pen
}

// columns shares the width out: the name first, then the count, the bar gets what is left.
func (t *values) columns(width int, th theme.Theme) table {
	const fixed, leastLabel, leastBar, mostBar, leastWords = 8, 6, 4, 48, 44
	const air = 2 // between name and bar
	c := table{t: t, th: th, width: width, short: width < leastWords, words: strings.Fields(t.text.Text())}
	c.text, c.chosen, c.off = paint.PenOf(th.Text), paint.PenOf(th.Title), paint.PenOf(th.Disabled)
	c.barPen, c.number, c.match = paint.PenOf(th.Bar), paint.PenOf(th.Number), paint.PenOf(th.Match)
	c.count = len(c.counted(&value{count: t.largest}))
	rest := width - fixed - c.count - 1
	if rest < leastLabel {
		c.count, rest = 0, width-fixed
	}
	c.label = max(0, min(t.widest, rest))
	if over := rest - c.label - air; over >= leastBar {
		c.bar = min(over, mostBar)
	} else if most := rest * 2 / 3; c.count > 0 && most >= 2*leastLabel {
		c.label = min(t.widest, most)
		c.bar = rest - c.label - air
	}
	return c
}

// counted writes the count of a value.
func (c *table) counted(v *value) string {
	switch {
	case v.unknown && c.short:
		return "-"
	case v.unknown:
		return "not counted"
	case c.t.exact:
		return text.Number(v.count)
	case c.short:
		return text.Number(v.count) + "/" + text.Number(c.t.inHand)
	}
	return text.Number(v.count) + " of " + text.Number(c.t.inHand) + " shown"
}

// row draws a value. What has no match is dimmed and can be chosen all the same.
func (c *table) row(v *value, under bool) string {
	box, name, source := "[ ]", c.text, paint.PenOf(c.th.SourceStyle(v.value))
	switch {
	case v.chosen:
		box, name = "[x]", c.chosen
	case v.count == 0 && !v.unknown:
		name, source = c.off, c.off
	}
	label := paint.Fit(v.label, c.label)
	row := name.Write(box) + " " + source.Write(c.th.SourceGlyph(v.value)) + " " +
		paint.Marked(label, matches(label, c.words), name, c.match)
	if c.bar > 0 {
		row += "  " + paint.Fit(c.barPen.Write(panel.Bar(v.count, c.t.largest, c.bar)), c.bar)
	}
	if c.count > 0 {
		pen, text := c.number, c.counted(v)
		if v.count == 0 {
			pen = c.off
		}
		row += paint.Blank(1+c.count-len(text)) + pen.Write(text)
	}
	return listRow(row, under, c.width, c.th)
}

// listRow draws a row of a list, with a mark and a background where the cursor is.
func listRow(text string, under bool, width int, th theme.Theme) string {
	if !under {
		return paint.Fit(th.Prompt.Render(" ")+text, width)
	}
	return paint.Under(paint.Fit(th.Prompt.Render("▌")+text, width), th.Selected)
}

// matches finds typed words in a name. Where lower case is of another length nothing is marked.
func matches(label string, words []string) []wire.Span {
	lower := strings.ToLower(label)
	if len(words) == 0 || len(lower) != len(label) {
		return nil
	}
	var spans []wire.Span
	for _, word := range words {
		word = strings.ToLower(word)
		if at := strings.Index(lower, word); at >= 0 {
			spans = append(spans, wire.Span{at, at + len(word)})
		}
	}
	return wire.OrderSpans(label, spans)
}
