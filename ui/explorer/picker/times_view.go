package picker

import (
	"math"
	"slices"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// view draws the field for dates, what the choice means, the histogram and the list. Where there is no room for both
// of the latter, the one that keys go to is drawn.
func (t *times) view(width, height int, th theme.Theme, message string) panel.Body {
	const withField, axis, leastBars = 4, 2, 2
	if height <= 0 {
		return panel.Body{}
	}
	t.columns = max(1, width)
	d := drawing{t: t, th: th, width: width, message: message}
	if height < withField {
		return d.small(height)
	}
	field, x := t.line(width, th)
	lines := []string{field, d.state()}
	rest := height - len(lines)
	list := len(t.presets())
	switch {
	case t.months.none():
		if rest > list+1 {
			lines = append(lines, "")
		}
		lines = append(lines, d.list(min(rest, list))...)
		if height > len(lines)+1 {
			lines = append(lines, "", th.Muted.Render(t.noHistogram()))
		}
	case rest >= axis+leastBars+1+list:
		lines = append(lines, d.both(rest)...)
	default:
		lines = append(lines, d.either(rest)...)
	}
	return panel.Body{Lines: lines, X: x, Cursor: t.area == typing}
}

// noHistogram returns why there is none.
func (t *times) noHistogram() string {
	if t.exact {
		return "no dated documents match"
	}
	return "this server does not count by month"
}

// drawing is one drawing of the tab.
type drawing struct {
	t       *times
	th      theme.Theme
	width   int
	message string // answers the last key
}

// small draws what fits into three lines or fewer: what is typed or chosen, and the part that keys go to.
func (d drawing) small(height int) panel.Body {
	if d.t.area == typing {
		field, x := d.t.line(d.width, d.th)
		return panel.Body{Lines: []string{field, d.state()}[:min(2, height)], X: x, Cursor: true}
	}
	head, part := d.state(), d.list
	if d.t.area == bars {
		part = d.histogram
		if !d.t.drawing && d.message == "" {
			head = d.caption()
		}
	}
	if height == 1 {
		return panel.Body{Lines: part(1)}
	}
	return panel.Body{Lines: append([]string{head}, part(height-1)...)}
}

// both draws the histogram and the list below it, with air between them where there is some.
func (d drawing) both(height int) []string {
	const mostHistogram = 15
	list := d.list(len(d.t.presets()))
	room := height - len(list)
	gaps := make([]string, max(0, min((room-5)/2, 2))) // the first one below the histogram
	histogram := d.histogram(min(mostHistogram, room-len(gaps)))
	return slices.Concat(gaps[:len(gaps)/2], histogram, gaps[:min(len(gaps), 1)], list)
}

// either draws the part that keys go to, and a glimpse of the other where there is some room.
func (d drawing) either(height int) []string {
	const leastBars, leastWithNames = 2, 5
	list := len(d.t.presets())
	switch {
	case d.t.area != presets && height < leastWithNames:
		return d.histogram(height)
	case d.t.area != presets:
		names := exslices.CastFunc(d.t.presets(), span.String)
		return append(d.histogram(height-1), d.th.Muted.Render("› "+strings.Join(names, " · ")))
	case height >= list+leastBars:
		return append(d.histogram(height-list), d.list(list)...)
	}
	return d.list(height)
}

// state describes the choice and the number of its documents, or what is wrong with the typed text.
func (d drawing) state() string {
	t := d.t
	switch {
	case d.message != "":
		return d.th.Warning.Render(d.message)
	case t.typing.state == begun:
		return d.th.Muted.Render("… " + t.typing.why)
	case t.typing.state == wrong:
		return d.th.Error.Render("✕ " + t.typing.why)
	}
	if at, ok := t.pending(); ok {
		return taking(at.String(), d.width, d.th)
	}
	chosen := t.chosen()
	said := d.th.Title.Render(chosen.String())
	if !t.months.none() {
		said += d.th.Muted.Render(" · ")
		if least, most := t.count(chosen); !chosen.any() {
			said += d.th.Number.Render(between(least, most)) + d.th.Muted.Render(" of ")
		}
		said += d.th.Muted.Render(documents(t.months.total()))
	}
	if t.drawing {
		said += d.th.Muted.Render(" · range not finished")
	}
	return said
}

// fitting returns the first of some parts of a line that there is room for, at least one of them.
func fitting(parts []string, width int) []string {
	for len(parts) > 1 && paint.Width(strings.Join(parts, " · ")) > width {
		parts = parts[:len(parts)-1]
	}
	return parts
}

func documents(n int) string { return text.Count(n, "document") }

// taking announces what enter would choose.
func taking(what string, width int, th theme.Theme) string {
	said := "enter selects "
	if paint.Width(said)+paint.Width(what) > width {
		said = "selects "
	}
	return th.Text.Render(said) + th.Title.Render(what)
}

// list draws the presets, scrolled where there is no room for all.
func (d drawing) list(rows int) []string {
	if rows <= 0 {
		return nil
	}
	t := d.t
	all := t.presets()
	t.preset.Of(len(all))
	from, to := t.preset.Window(rows)
	label := 0
	for _, preset := range all {
		label = max(label, paint.Width(preset.String()))
	}
	var lines []string
	for i := from; i < to; i++ {
		lines = append(lines, d.row(all[i], label, t.area == presets && i == t.preset.At))
	}
	return lines
}

// row draws a preset and, where months are counted, its number of documents, at least and at most.
func (d drawing) row(preset span, label int, under bool) string {
	const fixed = 4
	box, style := "( )", d.th.Text
	if preset.equal(d.t.chosen()) {
		box, style = "(●)", d.th.Title
	}
	row := style.Render(box + " " + preset.String())
	if least, most := d.t.count(preset); !d.t.months.none() {
		style, number := d.th.Number, between(least, most)
		if most == 0 {
			style = d.th.Disabled
		}
		if at := fixed + label + 2; at+len(number) < d.width {
			row += paint.Blank(at-paint.Width(row)) + style.Render(number)
		}
	}
	return panel.Row(row, under, d.width, d.th)
}

// plot is a chart with its place on the screen.
type plot struct {
	chart
	step     int // columns per bar, the gap after it included
	cursor   int // bar
	from, to int // bars of the chosen span; to is before from if none is
}

// plot lays the bars out over the width. Wide bars have gaps, so that they can be counted.
func (d drawing) plot() plot {
	const mostStep = 8
	p := plot{chart: d.t.months.chart(d.width)}
	p.step = max(1, min(d.width/len(p.bars), mostStep))
	p.cursor = p.bar(d.t.month)
	p.from, p.to = 0, -1
	chosen := d.t.chosen()
	if chosen.any() {
		return p
	}
	since, until := chosen.bounds(d.t.now)
	p.to = len(p.bars) - 1
	if !since.IsZero() {
		p.from = max(0, p.bar(monthOf(since)))
	}
	if !until.IsZero() {
		p.to = min(p.to, p.bar(monthOf(until)))
	}
	return p
}

// body is how many columns of a step the bar itself takes.
func (p plot) body() int {
	if p.step > 1 {
		return p.step - 1
	}
	return 1
}

// histogram draws the months into the given number of rows: a caption, the bars, the chosen range and the cursor below
// them, and the axis. With less room the caption goes first, then the axis.
func (d drawing) histogram(rows int) []string {
	const withCaption, withAxis, withRange = 6, 3, 2
	p := d.plot()
	var lines []string
	if rows >= withCaption {
		lines = append(lines, d.caption())
	}
	tall := rows - len(lines)
	if rows >= withRange {
		tall--
	}
	if rows >= withAxis {
		tall--
	}
	lines = append(lines, d.bars(p, tall, rows < withRange)...)
	if rows >= withRange {
		lines = append(lines, d.rangeRow(p))
	}
	if rows >= withAxis {
		lines = append(lines, d.th.Muted.Render(axis(p, d.width)))
	}
	return lines
}

// caption describes the bar under the cursor and the unit of the bars, as far as there is room.
func (d drawing) caption() string {
	p := d.plot()
	var parts []string
	if d.t.area == bars {
		parts = append(parts, p.span(p.cursor, p.cursor).String()+": "+documents(p.bars[p.cursor]))
	}
	parts = append(parts, "by "+unitName(p.unit))
	if d.t.months.undated > 0 {
		parts = append(parts, text.Number(d.t.months.undated)+" undated")
	}
	parts = append(parts, "most "+text.Number(p.largest()))
	parts = fitting(parts, d.width)
	said := d.th.Text.Render(parts[0])
	if len(parts) > 1 {
		said += d.th.Muted.Render(" · " + strings.Join(parts[1:], " · "))
	}
	return said
}

// bars draws bars over rows lines, the tallest as tall as all of them. What lies outside of a chosen range is dimmed.
func (d drawing) bars(p plot, rows int, markCursor bool) []string {
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	inside, outside, cursor := d.th.Bar, d.th.Disabled, d.th.MatchCurrent
	all := d.t.chosen().any()
	style := func(bar int) theme.Style {
		switch {
		case markCursor && bar == p.cursor:
			return cursor
		case all || bar >= p.from && bar <= p.to:
			return inside
		}
		return outside
	}
	largest := float64(p.largest())
	lines := make([]string, 0, max(0, rows))
	for row := rows - 1; row >= 0; row-- {
		var cells []rune
		for _, count := range p.bars {
			eighths := int(math.Ceil(float64(count) / largest * float64(rows*8)))
			block := blocks[max(0, min(8, eighths-row*8))]
			cells = append(cells, []rune(strings.Repeat(string(block), p.body())+paint.Blank(p.step-p.body()))...)
		}
		lines = append(lines, write(cells, func(at int) theme.Style { return style(at / p.step) }))
	}
	return lines
}

// rangeRow is the line under the bars: brackets around the chosen ones, and the cursor.
func (d drawing) rangeRow(p plot) string {
	cells := []rune(strings.Repeat("╌", len(p.bars)*p.step))
	if p.step > 1 {
		cells = cells[:len(cells)-1]
	}
	left, right := p.from*p.step, p.to*p.step+p.body()-1
	for i := left; i <= right; i++ {
		cells[i] = '━'
	}
	if left < right {
		cells[left], cells[right] = '[', ']'
	} else if left == right {
		cells[left] = '┃'
	}
	at := p.cursor*p.step + (p.body()-1)/2
	muted, bar, cursor := d.th.Border, d.th.Number, d.th.MatchCurrent
	if d.t.area == bars {
		cells[at] = '^'
	}
	return write(cells, func(i int) theme.Style {
		switch {
		case i == at && d.t.area == bars:
			return cursor
		case i >= left && i <= right:
			return bar
		}
		return muted
	})
}

// write writes each cell in its style.
func write(cells []rune, style func(at int) theme.Style) string {
	var line strings.Builder
	from := 0
	for i := 1; i <= len(cells); i++ {
		if i == len(cells) || style(i) != style(from) {
			line.WriteString(style(from).Render(string(cells[from:i])))
			from = i
		}
	}
	return line.String()
}

// axis labels the bars: years where they begin, the first bar, and months between them where there is room.
func axis(p plot, width int) string {
	const apart = 2 // a month right before the next year would be read as a month of it
	cells := []rune(strings.Repeat(" ", width))
	put := func(bar int, label string, after int) {
		at := bar * p.step
		end := at + len(label)
		if end > width {
			return
		}
		free := cells[max(0, at-1):min(width, end+after)]
		if strings.TrimSpace(string(free)) == "" {
			copy(cells[at:], []rune(label))
		}
	}
	label := func(layout string, every, after int) {
		for i := range p.bars {
			if month := p.first + i*p.unit; month%every == 0 {
				put(i, monthStart(month).Format(layout), after)
			}
		}
	}
	label("2006", 12, 1)
	for _, layout := range []string{"Jan 2006", "2006"} {
		put(0, monthStart(p.first).Format(layout), 1)
	}
	for _, every := range [...]int{6, 3, 1} {
		if p.unit <= every {
			label("Jan", every, apart)
		}
	}
	return string(cells)
}
