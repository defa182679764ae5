package picker

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
)

// months counts documents by month. A month is its number since the year 0: 12 × year + month, January being 0.
type months struct {
	counts  []monthCount // ascending, each month once
	undated int
}

type monthCount struct{ month, count int }

// monthsOf reads the facets. What is no month is left out.
func monthsOf(facets wire.Facets) months {
	read := months{undated: max(0, facets.Undated)}
	for _, facet := range facets.Months {
		if start, err := time.Parse("2006-01", facet.Month); err == nil && start.Year() >= 1 && facet.Count > 0 {
			read.counts = append(read.counts, monthCount{monthOf(start), facet.Count})
		}
	}
	slices.SortStableFunc(read.counts, func(a, b monthCount) int { return cmp.Compare(a.month, b.month) })
	merged := read.counts[:0]
	for _, one := range read.counts {
		if last := len(merged) - 1; last >= 0 && merged[last].month == one.month {
			merged[last].count += one.count
		} else {
			merged = append(merged, one)
		}
	}
	read.counts = merged
	return read
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

// inside bounds the number of documents in a span: months tell no more than that about a span that cuts through one.
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
	fits := func(unit int) bool { return last/unit-first/unit+1 <= max(1, columns) }
	for _, unit := range [...]int{1, 3, 12, 60, 120, 600} {
		if fits(unit) {
			return unit
		}
	}
	unit := 1200
	for !fits(unit) {
		unit *= 10
	}
	return unit
}

// unitName says what a bar stands for.
func unitName(unit int) string {
	switch unit {
	case 1:
		return "month"
	case 3:
		return "quarter"
	case 12:
		return "year"
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

// span is the time that the bars from one to another stand for, within the years that a query can name.
func (c chart) span(from, to int) span {
	const beforeAll, afterAll = 1 * 12, 10_000 * 12
	start, end := max(beforeAll, c.first+from*c.unit), min(afterAll, c.first+(to+1)*c.unit)
	return days(monthStart(start), monthStart(end).AddDate(0, 0, -1))
}

func (c chart) largest() int { return slices.Max(c.bars) }
