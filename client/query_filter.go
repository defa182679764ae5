package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/text"
)

// FilterAgent is the filter that names an agent.
const FilterAgent = "agent"

// FilterSimilar is the filter that holds the ref of a passage, to find others like it. It is not offered while typing.
const FilterSimilar = "similar"

// FilterNames returns the names of the filters that are offered, in that order.
func FilterNames() []string {
	names := NegatableFilters()
	return slices.Insert(names, 1, "since", "until", "within", FilterAgent)
}

// NegatableFilters returns the names of the filters that can exclude, as in -source:slack.
func NegatableFilters() []string {
	return exslices.CastFunc(field.All(), func(row field.Field) string { return row.Name })
}

// filterField returns the filter with a key, in any case; "" if there is none.
func filterField(key string) string {
	if key = strings.ToLower(key); key == FilterSimilar || slices.Contains(FilterNames(), key) {
		return key
	}
	return ""
}

// namedFilter is filterField for a key that may have a minus before it; "" for a filter that cannot exclude.
func namedFilter(key string) (name string, negated bool) {
	name, negated = strings.CutPrefix(key, "-")
	name = filterField(name)
	if _, isField := field.Named(name); negated && !isField {
		return "", false
	}
	return name, negated
}

// filter reads and applies a filter at a position; the width is 0 if the text there is not a filter.
func (p *queryParser) filter(at int) (width int) {
	t, values := tokenAt(p.text, at)
	if t.Field == "" || t.Open || len(values) == 0 || !p.apply(t.Field, t.Negated, values) {
		return 0
	}
	p.query.Chips = append(p.query.Chips, Chip{
		Field:   t.Field,
		Negated: t.Negated,
		Value:   strings.Join(values, ","),
		Raw:     p.text[at:t.End],
		Start:   at,
		End:     t.End,
	})
	return t.End - at
}

// apply adds the values of a filter to the query; it reports whether they are valid.
func (p *queryParser) apply(name string, negated bool, values []string) (valid bool) {
	row, isField := field.Named(name)
	if !isField {
		return len(values) == 1 && p.applyOne(name, values[0])
	}
	into := &p.query.Filters
	if negated {
		into = &p.query.Excluded
	}
	return row.Request(into).Add(values...)
}

// Values returns the values of a filter in the query, and those that it excludes. Tags are written key=value.
func (q Query) Values(name string) (given, excluded []string) {
	if row, isField := field.Named(name); isField {
		return row.Of(q.Filters), row.Of(q.Excluded)
	}
	if name == FilterAgent && q.Agent != "" {
		return []string{q.Agent}, nil
	}
	return nil, nil
}

// FilterValue returns a value as a filter reads back what QuoteValue writes: that may differ in case and white space.
// It returns false if the filter cannot have the value.
func FilterValue(name, value string) (string, bool) {
	row, isField := field.Named(name)
	switch value = text.OneLine(value); {
	case value == "" || !isField && name != FilterAgent:
		return "", false
	case !isField:
		return value, true
	}
	return row.Read(value)
}

// applyOne applies a filter with a single value.
func (p *queryParser) applyOne(name, value string) bool {
	q := p.query
	switch name {
	case FilterAgent:
		q.Agent = value
	case FilterSimilar:
		if _, _, ok := wire.SplitRef(value); !ok || q.Similar != "" {
			return false
		}
		q.Similar = value
	case "since":
		first, _, ok := ParseDate(value, p.now.Location())
		if !ok {
			return false
		}
		q.since(first)
	case "until":
		_, last, ok := ParseDate(value, p.now.Location())
		if !ok {
			return false
		}
		if q.Until.IsZero() || last.Before(q.Until) {
			q.Until = last
		}
	case "within":
		start, ok := ago(value, p.now.UTC())
		if !ok {
			return false
		}
		q.since(start)
	}
	return true
}

// since sets the lower bound, unless there is a later one.
func (q *Query) since(moment time.Time) {
	if moment.After(q.Since) {
		q.Since = moment
	}
}

// ParseDate parses a year, a month or a day in a zone, or a moment, and returns the first and the last moment of it:
// 2026, 2026-01, 2026-01-31 or 2026-01-31T08:00Z.
func ParseDate(text string, zone *time.Location) (first, last time.Time, ok bool) {
	text = strings.TrimSpace(text)
	for _, span := range []struct {
		layout              string
		years, months, days int
	}{{"2006", 1, 0, 0}, {"2006-01", 0, 1, 0}, {time.DateOnly, 0, 0, 1}} {
		if first, err := time.ParseInLocation(span.layout, text, zone); err == nil {
			next := wire.InZone(first.AddDate(span.years, span.months, span.days))
			return dayBound(first), dayBound(next.Add(-time.Microsecond)), first.Year() >= 1
		}
	}
	const shortest = len("2006-01-02T15:04")
	if len(text) < shortest || text[4] != '-' || text[7] != '-' {
		return time.Time{}, time.Time{}, false
	}
	moment, err := wire.ParseTime(text)
	return moment, moment, err == nil
}

// dayBound returns a bound of a day: in UTC where that is its zone, else with the offset of the zone.
func dayBound(t time.Time) time.Time {
	if _, offset := t.Zone(); offset == 0 {
		return t.UTC()
	}
	return wire.InZone(t)
}

// ago subtracts a number of days, weeks, months or years, such as 30d, from now.
func ago(text string, now time.Time) (time.Time, bool) {
	if len(text) < 2 {
		return time.Time{}, false
	}
	number, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if err != nil || number == 0 || number > wire.MaxTimeCutoffDays {
		return time.Time{}, false
	}
	n := int(number)
	var start time.Time
	switch text[len(text)-1] {
	case 'd', 'D':
		start = now.AddDate(0, 0, -n)
	case 'w', 'W':
		start = now.AddDate(0, 0, -7*n)
	case 'm', 'M':
		start = now.AddDate(0, -n, 0)
	case 'y', 'Y':
		start = now.AddDate(-n, 0, 0)
	}
	earliest := now.AddDate(0, 0, -wire.MaxTimeCutoffDays)
	return start, !start.IsZero() && !start.Before(earliest)
}
