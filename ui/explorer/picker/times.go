package picker

import (
	"time"

	"quarry/ui/explorer/line"
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
	text   line.Editor
	typing reading // of the text; a whole one stands before the choice

	months  months
	columns int // for bars, as drawn last
	exact   bool

	area    area
	month   int  // the cursor in the histogram
	anchor  int  // the month that a range being drawn began with
	before  span // what was chosen until then
	drawing bool
	preset  int  // the cursor in the list
	settled bool // chosen since the cursor came into the list: enter takes nothing more
	room    [3]bool
	top     int
}

func newTimes(in Input) *times {
	t := &times{now: in.Now.UTC(), columns: 1 << 20, settled: true}
	t.was = spanOf(in.Query)
	t.choice = t.was
	t.area = presets
	t.update(in)
	if !t.months.none() {
		t.area = bars
	}
	t.room = [3]bool{true, true, true}
	for i, preset := range t.presets() {
		if preset.equal(t.choice) {
			t.preset = i
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
	t.settled = true
}

// hasRoom tells whether an area is there and drawn.
func (t *times) hasRoom(a area) bool {
	return t.room[a] && (a != bars || !t.months.none())
}

func (t *times) move(rows int) bool {
	moved := false
	for ; rows < 0; rows++ {
		moved = t.up() || moved
	}
	for ; rows > 0; rows-- {
		moved = t.down() || moved
	}
	return moved
}

func (t *times) up() bool {
	if t.area == presets && t.preset > 0 {
		t.preset--
		t.settled = false
		return true
	}
	return t.enter(t.area-1, -1)
}

func (t *times) down() bool {
	if t.area != presets {
		return t.enter(t.area+1, 1)
	}
	if t.preset+1 >= len(t.presets()) {
		return false
	}
	t.preset++
	t.settled = false
	return true
}

// enter moves into an area, or into the next one in the same direction that is there.
func (t *times) enter(a area, direction area) bool {
	for ; a >= typing && a <= presets; a += direction {
		if t.hasRoom(a) {
			t.area, t.settled = a, true
			t.drawing = t.drawing && a == bars
			return true
		}
	}
	return false
}

func (t *times) page(pages int) bool { return t.move(pages * len(t.presets())) }

func (t *times) sideways(columns int, extend bool) bool {
	switch {
	case t.area == bars || extend && t.hasRoom(bars):
		t.area = bars
		return t.along(columns, extend)
	case t.area == typing && columns < 0:
		return t.text.Left()
	case t.area == typing:
		return t.text.Right()
	}
	return false
}

func (t *times) chart() chart { return t.months.chart(t.columns) }

// along moves the cursor of the histogram by bars. A range that is being drawn follows.
func (t *times) along(steps int, extend bool) bool {
	chart := t.chart()
	before := chart.bar(t.month)
	at := max(0, min(before+steps, len(chart.bars)-1))
	if extend && !t.drawing {
		t.begin()
	}
	if at == before && !extend {
		return false
	}
	if at != before {
		first, last := t.months.ends()
		t.month = max(first, min(chart.first+at*chart.unit, last))
	}
	if t.drawing {
		t.choose(t.drawn(chart))
	}
	return true
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
		t.choose(t.presets()[t.preset])
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
	return false, "a span of time has no inverse that a query can say"
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

// pending is the preset that enter would choose, because the cursor was moved to it.
func (t *times) pending() (span, bool) {
	if t.area != presets || t.settled {
		return span{}, false
	}
	at := t.presets()[t.preset]
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

func (t *times) editor() *line.Editor { return &t.text }

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
