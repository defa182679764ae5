package picker

import (
	"time"

	"quarry/ui/explorer/panel"
)

// area is the part of the tab of times that keys go to.
type area int

const (
	typing area = iota
	bars
	presets
)

// times is the tab in which a span of time is chosen: typed, drawn on the histogram of the months, or from a list.
type times struct {
	now    time.Time
	was    span // of the query that the picker was opened with
	choice span
	field
	typing reading // of the text; a whole one stands before the choice

	months  months
	columns int // for bars, as drawn last
	exact   bool

	area    area
	month   int  // the cursor in the histogram
	anchor  int  // the month that a range being drawn began with
	before  span // what was chosen until then
	drawing bool
	preset  panel.Choice // the cursor in the list
	toggled bool         // chosen since the cursor came into the list: enter takes nothing more
}

func newTimes(in Input) *times {
	t := &times{field: field{placeholder: "type 2026-01, 2026-01..2026-03, 30d"}, now: in.Now.UTC(), columns: 1 << 20, toggled: true}
	t.was = spanOf(in.Query)
	t.choice = t.was
	t.area = presets
	t.update(in)
	if !t.months.none() {
		t.area = bars
	}
	for i, preset := range t.presets() {
		if preset.equal(t.choice) {
			t.preset.At = i
		}
	}
	return t
}

func (t *times) title() string { return "Time" }

func (t *times) update(in Input) {
	had := !t.months.none()
	t.exact, t.months = in.Exact, months{}
	if in.Exact {
		t.months = monthsOf(in.Facets)
	}
	if t.months.none() {
		t.drawing = false
		if t.area == bars {
			t.area = presets
		}
		return
	}
	first, last := t.months.ends()
	if !had {
		t.month = last
		if _, until := t.choice.bounds(t.now); !until.IsZero() {
			t.month = monthOf(until)
		}
	}
	t.month = max(first, min(t.month, last))
}

// presets are the spans of the list.
func (t *times) presets() []span {
	return []span{{}, {within: "7d"}, {within: "30d"}, {within: "90d"}, {within: "1y"}}
}

// chosen is what holds: what is typed, if it means something, and else what was chosen.
func (t *times) chosen() span {
	if t.typing.state == whole {
		return t.typing.span
	}
	return t.choice
}

// choose takes a span that was not typed, and drops what was.
func (t *times) choose(s span) {
	t.text.Clear()
	t.typing = reading{}
	t.choice = s
	t.toggled = true
}

// has reports whether there is an area.
func (t *times) has(a area) bool { return a != bars || !t.months.none() }

// move goes row by row through the presets, and from area to area.
func (t *times) move(rows int) {
	for ; rows < 0; rows++ {
		t.step(-1)
	}
	for ; rows > 0; rows-- {
		t.step(1)
	}
}

func (t *times) step(by int) {
	if at := t.preset.At + by; t.area == presets && at >= 0 {
		if at < len(t.presets()) {
			t.preset.At, t.toggled = at, false
		}
		return
	}
	for a := t.area + area(by); a >= typing && a <= presets; a += area(by) {
		if t.has(a) {
			t.area, t.toggled = a, true
			t.drawing = t.drawing && a == bars
			return
		}
	}
}

func (t *times) page(pages int) { t.move(pages * len(t.presets())) }

func (t *times) sideways(columns int, extend bool) {
	switch {
	case t.area == bars || extend && t.has(bars):
		t.area = bars
		t.along(columns, extend)
	case t.area == typing:
		t.field.sideways(columns)
	}
}

func (t *times) chart() chart { return t.months.chart(t.columns) }

// along moves the cursor of the histogram by bars. A range that is being drawn follows.
func (t *times) along(steps int, extend bool) {
	chart := t.chart()
	before := chart.bar(t.month)
	at := max(0, min(before+steps, len(chart.bars)-1))
	if extend && !t.drawing {
		t.begin()
	}
	if at == before && !extend {
		return
	}
	if at != before {
		first, last := t.months.ends()
		t.month = max(first, min(chart.first+at*chart.unit, last))
	}
	if t.drawing {
		t.choose(t.drawn(chart))
	}
}

// begin begins a range at the cursor.
func (t *times) begin() {
	t.before, t.anchor, t.drawing = t.chosen(), t.month, true
}

// drawn is the range between where it began and the cursor.
func (t *times) drawn(c chart) span {
	from, to := c.bar(t.anchor), c.bar(t.month)
	return c.span(max(0, min(from, to)), min(max(from, to), len(c.bars)-1))
}

func (t *times) toggle() (changed bool, message string) {
	switch t.area {
	case typing:
		t.text.Insert(" ")
		t.typed()
		return true, ""
	case presets:
		t.choose(t.presets()[t.preset.At])
		return true, ""
	}
	chart := t.chart()
	at := chart.bar(t.month)
	switch {
	case t.drawing:
		t.drawing = false
	case t.chosen().equal(chart.span(at, at)):
		t.choose(span{})
	default:
		t.begin()
		t.choose(t.drawn(chart))
	}
	return true, ""
}

func (t *times) invert() (changed bool, message string) {
	return false, "a time range cannot be inverted"
}

func (t *times) back() bool {
	switch {
	case t.drawing:
		t.drawing = false
		t.choose(t.before)
	case t.text.Text() != "":
		t.text.Clear()
		t.typed()
	default:
		return false
	}
	return true
}

func (t *times) escape() string {
	switch {
	case t.drawing:
		return panel.Cancel
	case t.text.Text() != "":
		return clearing
	}
	return panel.Close
}

// pending is the preset that enter would choose, because the cursor was moved to it.
func (t *times) pending() (span, bool) {
	if t.area != presets || t.toggled {
		return span{}, false
	}
	at := t.presets()[t.preset.At]
	return at, !at.equal(t.chosen())
}

func (t *times) confirm() bool {
	t.drawing = false
	at, ok := t.pending()
	if ok {
		t.choose(at)
	}
	return ok
}

func (t *times) typed() {
	t.area, t.drawing = typing, false
	t.typing = readDates(t.text.Text(), t.now)
}

func (t *times) problem() string {
	if t.typing.state == begun || t.typing.state == wrong {
		return t.typing.says
	}
	return ""
}

func (t *times) changes() Changes {
	chosen := t.chosen()
	if chosen.equal(t.was) {
		return Changes{}
	}
	return Changes{Fields: []string{"since", "until", "within"}, Raw: chosen.filters()}
}

func (t *times) summary() string { return t.chosen().String() }

func (t *times) mark() string {
	if t.chosen().any() {
		return ""
	}
	return "●"
}
