package picker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/client"
	"quarry/internal/text"
)

// reading is what a typed text means as a span of time.
type reading struct {
	state readingState
	span  span   // of a whole one
	why   string // it means nothing, or what is missing
}

type readingState int

const (
	empty readingState = iota
	whole
	begun // the beginning of something that has a meaning
	wrong
)

func unfinished(why string) reading  { return reading{state: begun, why: why} }
func meaningless(why string) reading { return reading{state: wrong, why: why} }
func ofSpan(s span) reading          { return reading{state: whole, span: s} }

// readDates reads 2026, 2026-01, 2026-01-15, March 2026, today, 30d, two of them with .. between, and the filters
// since:, until: and within:, which take the shorter forms of a date here as well.
func readDates(text string, now time.Time) reading {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	switch {
	case text == "":
		return reading{}
	case strings.Contains(text, ":"):
		return readFilters(text, now)
	case strings.Contains(text, ".."):
		from, to, _ := strings.Cut(text, "..")
		return readRange(from, strings.TrimLeft(to, "."), now)
	case strings.HasSuffix(text, "."):
		return unfinished("a range has two dots: 2026-01..2026-03")
	}
	if within, ok := readLength(text, now); ok {
		return within
	}
	return readDay(text, now)
}

// readRange reads two dates; either may be missing, not both.
func readRange(from, to string, now time.Time) reading {
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if from == "" && to == "" {
		return unfinished("a date before or after the dots")
	}
	result := reading{state: whole}
	for i, value := range [...]string{from, to} {
		if value == "" {
			continue
		}
		if one := result.add(timeFields()[i], value, now); one.state != whole {
			return one
		}
	}
	return result.ordered()
}

// readFilters reads what would be filters in the query.
func readFilters(text string, now time.Time) reading {
	result := reading{state: whole}
	for _, word := range strings.Fields(text) {
		field, value, found := strings.Cut(word, ":")
		if !found {
			if strings.HasPrefix("since", word) || strings.HasPrefix("until", word) {
				return unfinished("since: or until: and a date")
			}
			return meaningless(quoted(word) + " is not since:, until: or within:")
		}
		if one := result.add(field, value, now); one.state != whole {
			return one
		}
	}
	return result.ordered()
}

// add applies one filter to a reading; what it gives is whole unless the filter is not.
func (r *reading) add(field, value string, now time.Time) reading {
	if !slices.Contains(timeFields(), field) {
		return meaningless(quoted(field+":") + " is not since:, until: or within:")
	}
	if value == "" {
		return unfinished("a value after " + field + ":")
	}
	var one reading
	isLength := true
	if field == "within" {
		one, isLength = readLength(value, now)
	} else {
		one = readDay(value, now)
	}
	switch {
	case !isLength:
		return meaningless("within: takes a length such as 30d")
	case one.state != whole:
	case field == "within" && !r.span.any() || r.span.within != "":
		return meaningless("within: cannot be combined with since: or until:")
	case field == "within":
		r.span = one.span
	case field == "since":
		r.span.since = one.span.since
	default:
		r.span.until = one.span.until
	}
	return one
}

// ordered refuses a span that ends before it begins.
func (r reading) ordered() reading {
	if r.state == whole && !r.span.until.IsZero() && r.span.until.Before(r.span.since) {
		return meaningless("ends before it begins")
	}
	return r
}

// readLength reads 30d, 2w, 3m, 1y. False if the text is nothing like a length.
func readLength(text string, now time.Time) (reading, bool) {
	digits := strings.TrimRight(text, "dwmy")
	if len(text)-len(digits) > 1 || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return reading{}, false
	}
	if len(digits) == len(text) {
		if len(digits) == 4 {
			return reading{}, false
		}
		if len(digits) > 5 {
			return meaningless("a year has four digits"), true
		}
		return unfinished("add a unit such as " + digits + "d (d, w, m, y); a year has four digits"), true
	}
	if client.ParseQuery("within:"+text, now).Since.IsZero() {
		return meaningless("not a length of 1 day to 100 years"), true
	}
	return ofSpan(span{within: text}), true
}

// readDay reads a day, a month or a year as the days that it covers.
func readDay(text string, now time.Time) reading {
	today := dayOf(now)
	switch {
	case text == "today":
		return ofSpan(days(today, today))
	case text == "yesterday":
		return ofSpan(days(today.AddDate(0, 0, -1), today.AddDate(0, 0, -1)))
	case text[0] >= '0' && text[0] <= '9':
		return readNumbers(text)
	}
	return readWords(text)
}

// readNumbers reads 2026, 2026-01 and 2026-01-15. A dash at the end is on its way to more and means no less.
func readNumbers(text string) reading {
	parts := strings.Split(strings.TrimSuffix(text, "-"), "-")
	if len(parts) > 3 {
		return nonsense(text)
	}
	var numbers [3]int
	for i, part := range parts {
		number, err := strconv.ParseUint(part, 10, 16)
		if err != nil || i == 0 && len(part) > 4 || i > 0 && len(part) > 2 {
			return nonsense(text)
		}
		if number == 0 && (i == 0 && len(part) == 4 || i > 0 && len(part) == 2) {
			return meaningless("there is no " + [...]string{"year", "month", "day"}[i] + " " + part)
		}
		if number == 0 || i == 0 && len(part) < 4 {
			return unfinished("a date is written 2026-01-15")
		}
		numbers[i] = int(number)
	}
	return readDate(len(parts), numbers[0], numbers[1], numbers[2])
}

// readDate makes the days of a year, of a month in it, or of a day in that, by how many parts are given.
func readDate(parts, year, month, day int) reading {
	first := time.Date(year, time.Month(max(1, month)), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1) // of the month
	switch {
	case month > 12:
		return meaningless(fmt.Sprintf("there is no month %d", month))
	case day > last.Day():
		return meaningless(first.Format("January 2006") + " has " + strconv.Itoa(last.Day()) + " days")
	case parts == 1:
		last = first.AddDate(1, 0, -1)
	case parts == 3:
		first = first.AddDate(0, 0, day-1)
		last = first
	}
	return ofSpan(days(first, last))
}

// readWords reads a month by its name and year, and knows what may still become something.
func readWords(text string) reading {
	name, year, _ := strings.Cut(text, " ")
	words := []string{"today", "yesterday", "since:", "until:", "within:"}
	for month := time.January; month <= time.December; month++ {
		full := strings.ToLower(month.String())
		words = append(words, full)
		if len(name) < 3 || !strings.HasPrefix(full, strings.TrimSuffix(name, ".")) {
			continue
		}
		number, err := strconv.ParseUint(year, 10, 16)
		switch {
		case year == "" || err == nil && len(year) < 4:
			return unfinished(month.String() + ": add a year")
		case err == nil && len(year) == 4 && number > 0:
			return readDate(2, int(number), int(month), 0)
		}
		return nonsense(text)
	}
	if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, text) }) {
		return unfinished("a date, a length such as 30d, since: or until:")
	}
	return nonsense(text)
}

func nonsense(text string) reading {
	return meaningless(quoted(text) + " is not a date; try 2026-01-15, 2026-01, 2026 or 30d")
}

// quoted is a typed text in a message, cut where it would push the message away.
func quoted(typed string) string { return `"` + text.Shorten(typed, 24) + `"` }

// span is a choice of time: any at all, the last so and so long, or bounds.
type span struct {
	within       string    // 30d, which moves along with the clock; then there are no bounds
	since, until time.Time // UTC, both inclusive; zero means unbounded
}

// days is the span from the first to the last day, both included. A zero day means unbounded.
func days(first, last time.Time) span {
	if !last.IsZero() {
		last = last.AddDate(0, 0, 1).Add(-time.Microsecond)
	}
	return span{since: first, until: last}
}

// spanOf returns the span of a query. A length of time stays one as long as nothing else bounds the query.
func spanOf(q client.Query) span {
	isOther := func(chip client.Chip) bool { return !slices.Contains(timeFields(), chip.Field) }
	if limits := slices.DeleteFunc(slices.Clone(q.Chips), isOther); len(limits) == 1 && limits[0].Field == "within" {
		return span{within: strings.ToLower(limits[0].Value)}
	}
	return span{since: sameDay(q.Since), until: sameDay(q.Until.Add(time.Microsecond)).Add(-time.Microsecond)}.orOpen(q)
}

// orOpen leaves the bounds open that a query has not.
func (s span) orOpen(q client.Query) span {
	if q.Since.IsZero() {
		s.since = time.Time{}
	}
	if q.Until.IsZero() {
		s.until = time.Time{}
	}
	return s
}

// sameDay returns the beginning of the day in UTC for the beginning of one in another zone: here days have no zone, and
// the query language reads them in the person's own. Other moments are returned in UTC.
func sameDay(moment time.Time) time.Time {
	if hour, minute, second := moment.Clock(); hour+minute+second+moment.Nanosecond() == 0 {
		return time.Date(moment.Year(), moment.Month(), moment.Day(), 0, 0, 0, 0, time.UTC)
	}
	return moment.UTC()
}

// timeFields are the filters that a span becomes.
func timeFields() []string { return []string{"since", "until", "within"} }

func (s span) equal(other span) bool {
	return s.within == other.within && s.since.Equal(other.since) && s.until.Equal(other.until)
}

func (s span) any() bool { return s.equal(span{}) }

// filters writes the span in the query language.
func (s span) filters() []string {
	if s.within != "" {
		return []string{"within:" + s.within}
	}
	var filters []string
	since, until := s.format(time.DateOnly, time.RFC3339Nano)
	if !s.since.IsZero() {
		filters = append(filters, "since:"+since)
	}
	if !s.until.IsZero() {
		filters = append(filters, "until:"+until)
	}
	return filters
}

// format formats the bounds by the layout for days where they are those of whole days.
func (s span) format(day, moment string) (since, until string) {
	layouts := map[bool]string{true: day, false: moment}
	return s.since.Format(layouts[wholeSince(s.since)]), s.until.Format(layouts[wholeUntil(s.until)])
}

// bounds are the moments that the span means now.
func (s span) bounds(now time.Time) (since, until time.Time) {
	if s.within == "" {
		return s.since, s.until
	}
	return client.ParseQuery("within:"+s.within, now).Since, time.Time{}
}

// wholeSince reports whether a lower bound is the beginning of its day.
func wholeSince(moment time.Time) bool { return moment.Equal(dayOf(moment)) }

// wholeUntil reports whether an upper bound is the end of its day.
func wholeUntil(moment time.Time) bool { return wholeSince(moment.Add(time.Microsecond)) }

func dayOf(moment time.Time) time.Time {
	year, month, day := moment.UTC().Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// String returns the span as people write it: "last 30 days", "Jan – Mar 2026", "since 15 Jan 2026".
func (s span) String() string {
	since, until := s.format("2 Jan 2006", "2 Jan 2006 15:04")
	switch {
	case s.any():
		return "any time"
	case s.within != "":
		return text.Lately(s.within)
	case s.until.IsZero():
		return "since " + since
	case s.since.IsZero():
		return "until " + until
	case !wholeSince(s.since) || !wholeUntil(s.until):
		return since + " – " + until
	}
	return period(s.since, s.until.Add(time.Microsecond))
}

// period describes whole days, from the first to the one before the end, in the shortest way.
func period(first, end time.Time) string {
	last := end.AddDate(0, 0, -1)
	wholeMonths := first.Day() == 1 && end.Day() == 1
	layout := "2 Jan 2006"
	switch {
	case wholeMonths && first.Month() == time.January && end.Month() == time.January:
		layout = "2006"
	case wholeMonths && first.Format("2006-01") == last.Format("2006-01"):
		layout = "January 2006"
	case wholeMonths:
		layout = "Jan 2006"
	}
	from, to := first.Format(layout), last.Format(layout)
	if from == to {
		return from
	}
	if first.Year() == last.Year() {
		from = strings.TrimSuffix(from, first.Format(" 2006"))
	}
	return from + " – " + to
}
