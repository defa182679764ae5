package picker

import (
	"math"
	"strconv"
	"strings"

	"quarry/internal/text"
	"quarry/ui/explorer/paint"
)

// plot is a chart with its place on the screen.
type plot struct {
	chart
	step     int // columns per bar, the gap after it included
	cursor   int // bar
	from, to int // bars of the chosen span; to is before from if none is
}

// plot lays the bars out over the width. Wide bars stand apart, so that they can be counted.
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

// histogram draws the months into so many rows: a caption, the bars, the chosen range and the cursor below them, and
// the axis. With less room the caption goes first, then the axis.
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

// caption says what the bar under the cursor stands for, and what the bars are, as far as there is room.
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
	for len(parts) > 1 && paint.Width(strings.Join(parts, " · ")) > d.width {
		parts = parts[:len(parts)-1]
	}
	said := d.th.Text.Render(parts[0])
	if len(parts) > 1 {
		said += d.th.Muted.Render(" · " + strings.Join(parts[1:], " · "))
	}
	return said
}

// bars draws so many rows of bars, the tallest as tall as all of them. What lies outside of a chosen range is dimmed.
func (d drawing) bars(p plot, rows int, markCursor bool) []string {
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	inside, outside, cursor := paint.PenOf(d.th.Bar), paint.PenOf(d.th.Disabled), paint.PenOf(d.th.MatchCurrent)
	all := d.t.chosen().any()
	pen := func(bar int) paint.Pen {
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
		lines = append(lines, write(cells, func(at int) paint.Pen { return pen(at / p.step) }))
	}
	return lines
}

// rangeRow is the line under the bars: brackets around the chosen ones, and the cursor.
func (d drawing) rangeRow(p plot) string {
	cells := []rune(strings.Repeat("╌", len(p.bars)*p.step))
	if p.step > 1 {
		cells = cells[:len(cells)-1]
	}
	chosen := make([]bool, len(cells))
	for i := p.from * p.step; p.to >= p.from && i <= min(p.to*p.step+p.body()-1, len(cells)-1); i++ {
		cells[i], chosen[i] = '━', true
	}
	if p.to >= p.from {
		left, right := p.from*p.step, p.to*p.step+p.body()-1
		cells[left], cells[right] = '[', ']'
		if left == right {
			cells[left] = '┃'
		}
	}
	at := p.cursor*p.step + (p.body()-1)/2
	muted, bar, cursor := paint.PenOf(d.th.Border), paint.PenOf(d.th.Number), paint.PenOf(d.th.MatchCurrent)
	if d.t.area == bars {
		cells[at] = '^'
	}
	return write(cells, func(i int) paint.Pen {
		switch {
		case i == at && d.t.area == bars:
			return cursor
		case chosen[i]:
			return bar
		}
		return muted
	})
}

// write writes each cell with its pen.
func write(cells []rune, pen func(at int) paint.Pen) string {
	var line strings.Builder
	from := 0
	for i := 1; i <= len(cells); i++ {
		if i == len(cells) || pen(i) != pen(from) {
			line.WriteString(pen(from).Write(string(cells[from:i])))
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
	for i := range p.bars {
		if month := p.first + i*p.unit; month%12 == 0 {
			put(i, strconv.Itoa(month/12), 1)
		}
	}
	for _, layout := range []string{"Jan 2006", "2006"} {
		put(0, monthStart(p.first).Format(layout), 1)
	}
	for _, every := range [...]int{6, 3, 1} {
		for i := range p.bars {
			if month := p.first + i*p.unit; month%12%every == 0 && p.unit <= every {
				put(i, monthStart(month).Format("Jan"), apart)
			}
		}
	}
	return string(cells)
}
