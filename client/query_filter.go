package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
)

// longestFilterName bounds how far the parser looks for the colon of a filter, in bytes.
const longestFilterName = 16

// FilterSimilar is the filter that holds the ref of a passage, to find others like it. It is not offered while typing.
const FilterSimilar = "similar"

// FilterNames returns the names of the filters that are offered, in that order.
func FilterNames() []string {
	return []string{"source", "since", "until", "within", "agent", "set", "tag", "author", "type"}
}

// filterField returns the filter with a key, in any case; "" if there is none.
func filterField(key string) string {
	if key = strings.ToLower(key); key == FilterSimilar || slices.Contains(FilterNames(), key) {
		return key
	}
	return ""
}

// NegatableFilters returns the names of the filters that can exclude, as in -source:slack.
func NegatableFilters() []string { return []string{"source", "set", "tag", "author", "type"} }

// namedFilter is filterField for a key that may have a minus before it; "" for a filter that cannot exclude.
func namedFilter(key string) (field string, negated bool) {
	name, negated := strings.CutPrefix(key, "-")
	if field = filterField(name); negated && !slices.Contains(NegatableFilters(), field) {
		return "", false
	}
	return field, negated
}

// filter reads and applies a filter at a position; the width is 0 if the text there is not a filter.
func (p *queryParser) filter(at int) (width int) {
	rest := p.text[at:]
	colon := strings.IndexByte(rest[:min(len(rest), longestFilterName+1)], ':')
	if colon < 0 {
		return 0
	}
	field, negated := namedFilter(rest[:colon])
	if field == "" {
		return 0
	}
	values := readValues(rest[colon+1:])
	if values.open || len(values.all) == 0 || !p.apply(field, negated, values.all) {
		return 0
	}
	width = colon + 1 + values.width
	p.query.Chips = append(p.query.Chips, Chip{
		Field:   field,
		Negated: negated,
		Value:   strings.Join(values.all, ","),
		Raw:     rest[:width],
		Start:   at,
		End:     at + width,
	})
	return width
}

// apply adds the values of a filter to the query; it reports whether they are valid.
func (p *queryParser) apply(field string, negated bool, values []string) (valid bool) {
	if !slices.Contains(NegatableFilters(), field) {
		return len(values) == 1 && p.applyOne(field, values[0])
	}
	q := p.query
	given, valid := fieldValues(field, values)
	if !valid {
		return false
	}
	if negated {
		x := &q.Excluded
		x.Sources, x.DocumentSets = append(x.Sources, given.Sources...), append(x.DocumentSets, given.DocumentSets...)
		x.Authors, x.DocumentTypes = append(x.Authors, given.Authors...), append(x.DocumentTypes, given.DocumentTypes...)
		x.Tags = append(x.Tags, given.Tags...)
		return true
	}
	q.Sources, q.Sets = append(q.Sources, given.Sources...), append(q.Sets, given.DocumentSets...)
	q.Authors, q.Types = append(q.Authors, given.Authors...), append(q.Types, given.DocumentTypes...)
	q.Tags = append(q.Tags, given.Tags...)
	return true
}

// fieldValues returns the values of a filter in their field, of those that can be excluded.
func fieldValues(field string, values []string) (given wire.ExcludeFilters, valid bool) {
	switch field {
	case "source":
		for _, value := range values {
			given.Sources = append(given.Sources, sourceValue(value))
		}
	case "set":
		given.DocumentSets = values
	case "author":
		given.Authors = values
	case "type":
		for _, value := range values { // with or without the dot of an extension
			if value = strings.ToLower(strings.TrimLeft(value, ".")); value == "" {
				return given, false
			}
			given.DocumentTypes = append(given.DocumentTypes, value)
		}
	case "tag":
		for _, value := range values {
			key, text, ok := strings.Cut(value, "=")
			key, text = strings.TrimSpace(key), strings.TrimSpace(text)
			if !ok || key == "" || text == "" {
				return given, false
			}
			given.Tags = append(given.Tags, wire.Tag{Key: key, Value: text})
		}
	}
	return given, true
}

// valuesOf is the reverse of fieldValues.
func valuesOf(field string, given wire.ExcludeFilters) []string {
	switch field {
	case "source":
		return given.Sources
	case "set":
		return given.DocumentSets
	case "author":
		return given.Authors
	case "type":
		return given.DocumentTypes
	case "tag":
		return mapped(given.Tags, func(tag wire.Tag) string { return tag.Key + "=" + tag.Value })
	}
	return nil
}

// Values returns the values of a filter in the query, and those that it excludes. Tags are written key=value.
func (q Query) Values(field string) (given, excluded []string) {
	if field == "agent" && q.Agent != "" {
		return []string{q.Agent}, nil
	}
	return valuesOf(field, wire.ExcludeFilters{Sources: q.Sources, Authors: q.Authors, DocumentTypes: q.Types,
		DocumentSets: q.Sets, Tags: q.Tags}), valuesOf(field, q.Excluded)
}

// FilterValue returns a value as a filter reads back what QuoteValue writes: that may differ in case and white space. It
// returns false if the filter cannot have the value.
func FilterValue(field, value string) (string, bool) {
	if value = text.OneLine(value); value == "" || field == "agent" {
		return value, value != ""
	}
	given, valid := fieldValues(field, []string{value})
	read := valuesOf(field, given)
	if !valid || len(read) != 1 {
		return "", false
	}
	return read[0], true
}

// applyOne applies a filter with a single value.
func (p *queryParser) applyOne(field, value string) bool {
	q := p.query
	switch field {
	case "agent":
		q.Agent = value
	case FilterSimilar:
		if _, _, ok := wire.SplitRef(value); !ok || q.Similar != "" {
			return false
		}
		q.Similar = value
	case "since":
		first, _, ok := ParseDate(value)
		if !ok {
			return false
		}
		q.since(first)
	case "until":
		_, last, ok := ParseDate(value)
		if !ok {
			return false
		}
		if q.Until.IsZero() || last.Before(q.Until) {
			q.Until = last
		}
	case "within":
		start, ok := ago(value, p.now)
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

// sourceValue returns the source with a value or display name; other text is lower-cased.
func sourceValue(typed string) string {
	for _, source := range wire.Sources() {
		if strings.EqualFold(source.Value, typed) {
			return source.Value
		}
	}
	for _, source := range wire.Sources() {
		if strings.EqualFold(source.Name, typed) && !source.Internal {
			return source.Value
		}
	}
	return strings.ToLower(typed)
}

// ParseDate parses a year, a month or a day, in UTC, or a moment, and returns the first and the last moment of it: 2026,
// 2026-01, 2026-01-31 or 2026-01-31T08:00Z.
func ParseDate(text string) (first, last time.Time, ok bool) {
	text = strings.TrimSpace(text)
	for _, span := range []struct {
		layout              string
		years, months, days int
	}{{"2006", 1, 0, 0}, {"2006-01", 0, 1, 0}, {time.DateOnly, 0, 0, 1}} {
		if first, err := time.Parse(span.layout, text); err == nil {
			return first, first.AddDate(span.years, span.months, span.days).Add(-time.Microsecond), first.Year() >= 1
		}
	}
	const shortest = len("2006-01-02T15:04")
	if len(text) < shortest || text[4] != '-' || text[7] != '-' {
		return time.Time{}, time.Time{}, false
	}
	moment, err := wire.ParseTime(text)
	return moment, moment, err == nil
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
