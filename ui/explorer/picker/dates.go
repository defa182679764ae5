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
	says  string // why it means nothing, or what is still to come
}

type readingState int

const (
	empty readingState = iota
	whole
	begun // goes on to mean something
	wrong
)

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
		return reading{state: begun, says: "a range has two dots: 2026-01..2026-03"}
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
		return reading{state: begun, says: "a date before or after the dots"}
	}
	var result reading
	if from != "" {
		start := readDay(from, now)
		if start.state != whole {
			return start
		}
		result = start
		result.span.until = time.Time{}
	}
	if to != "" {
		end := readDay(to, now)
		if end.state != whole {
			return end
		}
		result.state, result.span.until = whole, end.span.until
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
				return reading{state: begun, says: "since: or until: and a date"}
			}
			return reading{state: wrong, says: quoted(word) + " is not since:, until: or within:"}
		}
		if one := result.add(field, value, now); one.state != whole {
			return one
		}
	}
	return result.ordered()
}

// add applies one filter to a reading; what it gives is whole unless the filter is not.
func (r *reading) add(field, value string, now time.Time) reading {
	if field != "since" && field != "until" && field != "within" {
		return reading{state: wrong, says: quoted(field+":") + " is not since:, until: or within:"}
	}
	if value == "" {
		return reading{state: begun, says: "a value after " + field + ":"}
	}
	if field == "within" {
		one, ok := readLength(value, now)
		switch {
		case !ok:
			return reading{state: wrong, says: "within: takes a length such as 30d"}
		case one.state == whole && !r.span.any():
			return reading{state: wrong, says: "within: cannot be combined with since: or until:"}
		case one.state == whole:
			r.span = one.span
		}
		return one
	}
	if r.span.within != "" {
		return reading{state: wrong, says: "within: cannot be combined with since: or until:"}
	}
	one := readDay(value, now)
	if one.state == whole && field == "since" {
		r.span.since = one.span.since
	} else if one.state == whole {
		r.span.until = one.span.until
	}
	return one
}

// ordered refuses a span that ends before it begins.
func (r reading) ordered() reading {
	if r.state == whole && !r.span.until.IsZero() && r.span.until.Before(r.span.since) {
		return reading{state: wrong, says: "ends before it begins"}
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
			return reading{state: wrong, says: "a year has four digits"}, true
		}
		return reading{state: begun, says: "add a unit such as " + digits + "d (d, w, m, y); a year has four digits"}, true
	}
	if client.ParseQuery("within:"+text, now).Since.IsZero() {
		return reading{state: wrong, says: "not a length of 1 day to 100 years"}, true
	}
	return reading{state: whole, span: span{within: text}}, true
}

// readDay reads a day, a month or a year as the days that it covers.
func readDay(text string, now time.Time) reading {
	today := dayOf(now)
	switch {
	case text == "today":
		return reading{state: whole, span: days(today, today)}
	case text == "yesterday":
		return reading{state: whole, span: days(today.AddDate(0, 0, -1), today.AddDate(0, 0, -1))}
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
			return reading{state: wrong, says: "there is no " + [...]string{"year", "month", "day"}[i] + " " + part}
		}
		if number == 0 || i == 0 && len(part) < 4 {
			return reading{state: begun, says: "a date is written 2026-01-15"}
		}
		numbers[i] = int(number)
	}
	return readDate(len(parts), numbers[0], numbers[1], numbers[2])
}

// readDate makes the days of a year, of a month in it, or of a day in that, by how many parts are given.
func readDate(parts, year, month, day int) reading {
	first := time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC)
	if parts == 1 {
		return reading{state: whole, span: days(first, first.AddDate(1, 0, -1))}
	}
	if month > 12 {
		return reading{state: wrong, says: fmt.Sprintf("there is no month %d", month)}
	}
	first = first.AddDate(0, month-1, 0)
	last := first.AddDate(0, 1, -1)
	if parts == 2 {
		return reading{state: whole, span: days(first, last)}
	}
	if day > last.Day() {
		return reading{state: wrong, says: first.Format("January 2006") + " has " + strconv.Itoa(last.Day()) + " days"}
	}
	first = first.AddDate(0, 0, day-1)
	return reading{state: whole, span: days(first, first)}
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
			return reading{state: begun, says: month.String() + ": add a year"}
		case err == nil && len(year) == 4 && number > 0:
			return readDate(2, int(number), int(month), 0)
		}
		return nonsense(text)
	}
	if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, text) }) {
		return reading{state: begun, says: "a date, a length such as 30d, since: or until:"}
	}
	return nonsense(text)
}

func nonsense(text string) reading {
	return reading{state: wrong, says: quoted(text) + " is not a date; try 2026-01-15, 2026-01, 2026 or 30d"}
}

// quoted is a typed text in a message, cut where it would push the message away.
func quoted(typed string) string { return `"` + text.Shorten(typed, 24) + `"` }
