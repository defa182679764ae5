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
	if height > 1 {
		field, x := t.line(width, th)
		drawn.X, drawn.Cursor = x, true
		if height < withState && message != "" {
			field, drawn.Cursor = th.Warning.Render(message), false
		}
		drawn.Lines = append(drawn.Lines, field)
	}
	if height >= withState {
		drawn.Lines = append(drawn.Lines, t.state(width, th, message))
	}
	if height >= withGap {
		drawn.Lines = append(drawn.Lines, "")
	}
	table := t.columns(width, th)
	t.first = len(drawn.Lines)
	t.from = t.cursor.Rows(&drawn, height,
		func(i int, chosen bool) string { return table.row(&t.all[t.shown[i]], chosen) })
	if len(t.shown) == 0 {
		drawn.Lines = append(drawn.Lines, th.Muted.Render(paint.FitLine(t.none(), width)))
	}
	return drawn
}

// none is said in place of values.
func (t *values) none() string {
	why := t.why()
	switch {
	case len(t.all) > 0:
		return "no " + t.of.Noun + " matches"
	case why != "":
		return why
	case t.listing.Complete || t.counted:
		return "no " + text.Plural(2, t.of.Noun)
	}
	return "no " + text.Plural(2, t.of.Noun) + " known"
}

// why returns why values or their counts are missing; empty if they are not.
func (t *values) why() string {
	switch nouns := text.Plural(2, t.of.Noun); {
	case t.of.Extension && t.bare:
		return "this server ignores filters by " + t.of.Noun
	case t.listing.Problem != "":
		return "could not list " + nouns + ": " + paint.Line(t.listing.Problem)
	case t.listing.Pending:
		return "listing " + nouns + "…"
	}
	return ""
}

// state is the line between the field and the values: the answer to the last key, or what the counts are, and what
// the choice means.
func (t *values) state(width int, th theme.Theme, message string) string {
	if message != "" {
		return th.Warning.Render(message)
	}
	if v, ok := t.pending(); ok {
		return taking(v.Label, width, th)
	}
	var parts []string
	if why := t.why(); why != "" && len(t.all) > 0 {
		parts = append(parts, why)
	}
	if t.listing.Note != "" && !t.exact {
		parts = append(parts, t.listing.Note)
	}
	parts = append(parts, t.meaning()...)
	return th.Muted.Render(strings.Join(fitting(parts, width), " · "))
}

// meaning is what the counts are, what the choice means and what ! does.
func (t *values) meaning() (parts []string) {
	nouns := text.Plural(2, t.of.Noun)
	switch {
	case len(t.all) == 0:
		return nil
	case t.cut:
		parts = append(parts, "the "+text.Count(wire.MaxFacetValues, "most frequent "+t.of.Noun))
	case t.counted && !t.exact:
		counted := "counts of the " + text.Number(t.inHand) + " results shown"
		if t.limited {
			counted += " of the selected " + nouns
		}
		parts = append(parts, counted)
	case !t.counted && t.of.Field.Counts != nil && t.bare:
		parts = append(parts, "this server does not count "+nouns)
	}
	selected := len(t.chosen(wanted))
	v, none := t.row(), selected+len(t.chosen(excluded)) == 0
	switch {
	case none && t.of.Single:
		parts = append(parts, "no "+t.of.Noun)
	case none:
		parts = append(parts, "all "+nouns)
	}
	if v != nil && t.inTree() && !t.tree.empty[v.Name] && !t.tree.isOpen(v.Name) {
		parts = append(parts, "→ opens it")
	}
	if v != nil && none && !t.of.Single {
		parts = append(parts, "space only this")
	}
	switch {
	case v == nil || t.of.Single:
	case v.choice == excluded:
		parts = append(parts, "! with this again")
	case v.choice == wanted && selected > 1:
		parts = append(parts, "! without the "+text.Number(selected)+" selected")
	default:
		parts = append(parts, "! without this")
	}
	return parts
}

// table is where the parts of a row stand, in columns.
type table struct {
	t                        *values
	th                       theme.Theme
	label, bar, count, width int
	glyph                    bool
	short                    bool // counts are 3/10
	words                    []string
}

// columns shares the width out: the name first, then the count, the bar gets what is left.
func (t *values) columns(width int, th theme.Theme) table {
	const leastLabel, leastBar, mostBar, leastWords = 6, 4, 48, 44
	const air = 2 // between name and bar
	fixed := 6    // the mark of the cursor and the box
	c := table{t: t, th: th, width: width, short: width < leastWords, words: strings.Fields(t.text.Text()),
		glyph: t.of.Name == "source"}
	if c.glyph {
		fixed += 2
	}
	c.count = c.widestCount()
	rest := width - fixed - c.count - 1
	if rest < leastLabel {
		c.count, rest = 0, width-fixed
	}
	widest := t.widest
	if t.inTree() {
		for _, at := range t.shown {
			widest = max(widest, paint.Width(t.written(&t.all[at])))
		}
	}
	c.label = max(0, min(widest, rest))
	if over := rest - c.label - air; over >= leastBar {
		c.bar = min(over, mostBar)
	} else if most := rest * 2 / 3; c.count > 0 && most >= 2*leastLabel {
		c.label = min(widest, most)
		c.bar = rest - c.label - air
	}
	return c
}

// widestCount is how wide the column of the counts is.
func (c *table) widestCount() int {
	if !c.t.counted {
		return 0
	}
	widest := len(c.counted(&value{Value: Value{Count: c.t.largest, Counted: true}}))
	for i := range c.t.all {
		if v := &c.t.all[i]; !v.Counted || v.choice == excluded {
			widest = max(widest, len(c.counted(v)))
		}
	}
	return widest
}

// counted writes the count of a value.
func (c *table) counted(v *value) string {
	switch {
	case v.choice == excluded && c.short:
		return "not"
	case v.choice == excluded:
		return "excluded"
	case !v.Counted && c.short:
		return "-"
	case !v.Counted:
		return "not counted"
	case c.t.exact:
		return text.Number(v.Count)
	case c.short:
		return text.Number(v.Count) + "/" + text.Number(c.t.inHand)
	}
	return text.Number(v.Count) + " of " + text.Number(c.t.inHand) + " shown"
}

// row draws a value. What has no match is dimmed and can be chosen all the same. Where nothing is counted, what the
// values are has the room of the bars.
func (c *table) row(v *value, under bool) string {
	box, name, source := "[ ]", c.th.Text, c.th.SourceStyle(v.Name)
	switch {
	case v.choice == wanted:
		box, name = "[x]", c.th.Title
	case v.choice == excluded:
		box, name = "[-]", c.th.Title
	case v.Counted && v.Count == 0:
		name, source = c.th.Disabled, c.th.Disabled
	}
	row := name.Render(box) + " "
	if c.glyph {
		row += source.Render(c.th.SourceGlyph(v.Name)) + " "
	}
	label := paint.Fit(c.t.written(v), c.label)
	row += paint.Marked(label, matches(label, c.words), name, c.th.Match)
	switch {
	case c.count == 0 && c.bar > 0 && v.About != "":
		row += "  " + c.th.Muted.Render(paint.FitLine(v.About, max(0, c.width-paint.Width(row)-4)))
	case c.bar > 0 && v.choice != excluded:
		row += "  " + paint.Fit(c.th.Bar.Render(panel.Bar(v.Count, c.t.largest, c.bar)), c.bar)
	case c.bar > 0:
		row += paint.Blank(2 + c.bar)
	}
	if c.count > 0 {
		style, text := c.th.Number, c.counted(v)
		if !v.Counted || v.Count == 0 || v.choice == excluded {
			style = c.th.Disabled
		}
		row += paint.Blank(1+c.count-len(text)) + style.Render(text)
	}
	return panel.Row(row, under, c.width, c.th)
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
