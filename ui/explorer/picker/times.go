package picker

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
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
	input
	typing reading // of the text; a whole one has precedence over the choice

	months  months
	matches map[string]int // as in Input
	columns int            // for bars, as drawn last
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
	t := &times{input: input{placeholder: "type 2026-01, 2026-01..2026-03, 30d"}, now: in.Now.UTC(), columns: 1 << 20,
		toggled: true}
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

func (t *times) title(bool) string { return "Time" }

func (t *times) update(in Input) {
	had := !t.months.none()
	t.exact, t.months, t.matches = in.Exact, months{}, in.Matches
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
	return append([]span{{}}, exslices.CastFunc(Lengths(), func(length string) span { return span{within: length} })...)
}

// Lengths returns the spans that are offered, as within: takes them.
func Lengths() []string { return []string{"7d", "30d", "90d", "1y"} }

// TimeOf returns the time filters of a query as the picker writes them.
func TimeOf(q client.Query) string { return spanOf(q).key() }

func (s span) key() string { return strings.Join(s.filters(), " ") }

// count returns how many documents a span has, at least and at most.
func (t *times) count(s span) (least, most int) {
	if n, counted := t.matches[s.key()]; counted {
		return n, n
	}
	return t.months.inside(s, t.now)
}

// chosen is the typed span, if the text means one, and else the choice.
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

// move goes row by row through the presets, and from area to area.
func (t *times) move(rows int) {
	for range max(rows, -rows) {
		t.step(cmp.Compare(rows, 0))
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
		if a != bars || !t.months.none() {
			t.area, t.toggled = a, true
			t.drawing = t.drawing && a == bars
			return
		}
	}
}

func (t *times) page(pages int) { t.move(pages * len(t.presets())) }

func (t *times) sideways(columns int, extend bool) {
	switch {
	case t.area == bars || extend && !t.months.none():
		t.area = bars
		t.along(columns, extend)
	case t.area == typing:
		t.input.sideways(columns)
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

func (t *times) toggle() {
	switch t.area {
	case typing:
		t.text.Insert(" ")
		t.typed()
	case presets:
		t.choose(t.presets()[t.preset.At])
	default:
		t.toggleBar()
	}
}

func (t *times) toggleBar() {
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
}

func (t *times) exclude() {}

func (t *times) cannotExclude() string { return "cannot exclude a time range" }

func (t *times) back() bool {
	if t.drawing {
		t.drawing = false
		t.choose(t.before)
		return true
	}
	return false
}

func (t *times) escape() string {
	if t.drawing {
		return panel.Cancel
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

func (t *times) confirm() {
	t.drawing = false
	if at, ok := t.pending(); ok {
		t.choose(at)
	}
}

func (t *times) typed() {
	t.area, t.drawing = typing, false
	t.typing = readDates(t.text.Text(), t.now)
}

func (t *times) problem() string {
	if t.typing.state == begun || t.typing.state == wrong {
		return t.typing.why
	}
	return ""
}

func (t *times) changes() Changes {
	chosen := t.chosen()
	if chosen.equal(t.was) {
		return Changes{}
	}
	return Changes{Fields: timeFields(), Raw: chosen.filters()}
}

func (t *times) summary() string { return t.chosen().String() }

func (t *times) mark() string {
	if t.chosen().any() {
		return ""
	}
	return "●"
}

// months counts documents by month. A month is its number since the year 0: 12 × year + month, January being 0.
type months struct {
	counts  []monthCount // ascending, each month once
	undated int
}

type monthCount struct{ month, count int }

// monthsOf reads the facets. What is no month is left out.
func monthsOf(facets wire.Facets) months {
	counts := map[int]int{}
	for _, facet := range facets.Months {
		if start, err := time.Parse("2006-01", facet.Month); err == nil && start.Year() >= 1 && facet.Count > 0 {
			counts[monthOf(start)] += facet.Count
		}
	}
	counted := func(month int) monthCount { return monthCount{month, counts[month]} }
	return months{exslices.CastFunc(slices.Sorted(maps.Keys(counts)), counted), max(0, facets.Undated)}
}

func monthOf(at time.Time) int { return at.UTC().Year()*12 + int(at.UTC().Month()) - 1 }

func monthStart(month int) time.Time {
	return time.Date(month/12, time.Month(month%12+1), 1, 0, 0, 0, 0, time.UTC)
}

func (m months) none() bool { return len(m.counts) == 0 }

// ends are the first and the last month that have a document.
func (m months) ends() (first, last int) {
	return m.counts[0].month, m.counts[len(m.counts)-1].month
}

func (m months) total() int {
	total := m.undated
	for _, one := range m.counts {
		total += one.count
	}
	return total
}

// undatedAge is how old servers take a document without a date to be, in a span that has a beginning and no end.
const undatedAge = 90 * 24 * time.Hour

// inside bounds the number of documents in a span: exact counts are not known for a span that begins or ends within a
// month.
func (m months) inside(s span, now time.Time) (least, most int) {
	if s.any() {
		return m.total(), m.total()
	}
	since, until := s.bounds(now)
	if until.IsZero() && since.Before(now.Add(-undatedAge)) {
		least, most = m.undated, m.undated
	}
	for _, one := range m.counts {
		start := monthStart(one.month)
		end := start.AddDate(0, 1, 0).Add(-time.Microsecond)
		if end.Before(since) || !until.IsZero() && start.After(until) {
			continue
		}
		most += one.count
		if !start.Before(since) && (until.IsZero() || !end.After(until)) {
			least += one.count
		}
	}
	return least, most
}

// between writes the bounds of a number.
func between(least, most int) string {
	if least == most {
		return text.Number(most)
	}
	return text.Number(least) + " to " + text.Number(most)
}

// chart is the months put together into bars of one width in time.
type chart struct {
	unit  int // months per bar
	first int // the month that the first bar begins with
	bars  []int
}

// chart makes the bars of all months from the first to the last, gaps included, in units that fit into the columns.
func (m months) chart(columns int) chart {
	first, last := m.ends()
	c := chart{unit: unitFor(first, last, columns)}
	c.first = first - first%c.unit
	c.bars = make([]int, (last-c.first)/c.unit+1)
	for _, one := range m.counts {
		c.bars[c.bar(one.month)] += one.count
	}
	return c
}

// unitFor finds the shortest unit in which the months from first to last take no more bars than there are columns.
func unitFor(first, last, columns int) int {
	units := []int{1, 3, 12, 60, 120, 600, 1200, 12_000, 120_000} // the last one is longer than all years
	return units[max(0, slices.IndexFunc(units, func(unit int) bool { return last/unit-first/unit < max(1, columns) }))]
}

// unitName names the unit of a bar.
func unitName(unit int) string {
	if name, ok := map[int]string{1: "month", 3: "quarter", 12: "year"}[unit]; ok {
		return name
	}
	return strconv.Itoa(unit/12) + " years"
}

// bar is the bar of a month, which may lie outside the chart.
func (c chart) bar(month int) int {
	if month < c.first {
		return -1
	}
	return (month - c.first) / c.unit
}

// span is the time from one bar to another, within the years that a query can name.
func (c chart) span(from, to int) span {
	const beforeAll, afterAll = 1 * 12, 10_000 * 12
	start, end := max(beforeAll, c.first+from*c.unit), min(afterAll, c.first+(to+1)*c.unit)
	return days(monthStart(start), monthStart(end).AddDate(0, 0, -1))
}

func (c chart) largest() int { return slices.Max(c.bars) }
