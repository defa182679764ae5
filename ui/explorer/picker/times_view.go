package picker

import (
	"strings"

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
	lines := []string{field, d.says()}
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

// noHistogram says why there is none.
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
	var drawn panel.Body
	head := d.says()
	if d.t.area == bars && !d.t.drawing && d.message == "" {
		head = d.caption()
	}
	if d.t.area == typing {
		head, drawn.X = d.t.line(d.width, d.th)
		drawn.Cursor = true
	}
	lines := []string{head}
	if height == 1 && d.t.area != typing {
		lines = nil
	}
	switch rest := height - len(lines); {
	case rest == 0:
	case d.t.area == typing:
		lines = append(lines, d.says())
	case d.t.area == bars:
		lines = append(lines, d.histogram(rest)...)
	default:
		lines = append(lines, d.list(rest)...)
	}
	drawn.Lines = lines
	return drawn
}

// both draws the histogram and the list below it, with air between them where there is some.
func (d drawing) both(height int) []string {
	const mostHistogram = 15
	list := d.list(len(d.t.presets()))
	room := height - len(list)
	var lines []string
	if room > 8 {
		lines = append(lines, "")
	}
	gap := 0
	if room > 6 {
		gap = 1
	}
	lines = append(lines, d.histogram(min(mostHistogram, room-len(lines)-gap))...)
	if gap > 0 {
		lines = append(lines, "")
	}
	return append(lines, list...)
}

// either draws the part that keys go to, and a glimpse of the other where there is some room.
func (d drawing) either(height int) []string {
	const leastBars, leastWithNames = 2, 5
	list := len(d.t.presets())
	switch {
	case d.t.area != presets && height < leastWithNames:
		return d.histogram(height)
	case d.t.area != presets:
		names := make([]string, 0, list)
		for _, preset := range d.t.presets() {
			names = append(names, preset.String())
		}
		return append(d.histogram(height-1), d.th.Muted.Render("› "+strings.Join(names, " · ")))
	case height >= list+leastBars:
		return append(d.histogram(height-list), d.list(list)...)
	}
	return d.list(height)
}

// says describes the choice and how many documents it holds, or what is wrong with what was typed.
func (d drawing) says() string {
	t := d.t
	switch {
	case d.message != "":
		return d.th.Warning.Render(d.message)
	case t.typing.state == begun:
		return d.th.Muted.Render("… " + t.typing.says)
	case t.typing.state == wrong:
		return d.th.Error.Render("✕ " + t.typing.says)
	}
	if at, ok := t.pending(); ok {
		return taking(at.String(), d.width, d.th)
	}
	chosen := t.chosen()
	said := d.th.Title.Render(chosen.String())
	if !t.months.none() {
		said += d.th.Muted.Render(" · ")
		if least, most := t.months.inside(chosen, t.now); !chosen.any() {
			said += d.th.Number.Render(between(least, most)) + d.th.Muted.Render(" of ")
		}
		said += d.th.Muted.Render(documents(t.months.total()))
	}
	if t.drawing {
		said += d.th.Muted.Render(" · range not finished")
	}
	return said
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
	from, to := t.preset.Window(len(all), rows)
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

// row draws a preset and, where months are counted, how many documents it holds at least and at most.
func (d drawing) row(preset span, label int, under bool) string {
	const fixed = 5
	mark, box, style := " ", "( )", d.th.Text
	if under {
		mark = "▌"
	}
	if preset.equal(d.t.chosen()) {
		box, style = "(●)", d.th.Title
	}
	row := d.th.Prompt.Render(mark) + style.Render(box+" "+preset.String())
	if least, most := d.t.months.inside(preset, d.t.now); !d.t.months.none() {
		style, number := d.th.Number, between(least, most)
		if most == 0 {
			style = d.th.Disabled
		}
		if at := fixed + label + 2; at+len(number) <= d.width {
			row += paint.Blank(at-paint.Width(row)) + style.Render(number)
		}
	}
	row = paint.Fit(row, d.width)
	if under {
		return paint.Under(row, d.th.Selected)
	}
	return row
}
