package picker

import (
	"strings"
	"time"

	"quarry/client"
)

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

// spanOf is what a query holds. A length of time stays one as long as nothing else bounds the query.
func spanOf(q client.Query) span {
	var within []string
	dated := false
	for _, chip := range q.Chips {
		switch chip.Field {
		case "within":
			within = append(within, strings.ToLower(chip.Value))
		case "since", "until":
			dated = true
		}
	}
	if len(within) == 1 && !dated {
		return span{within: within[0]}
	}
	return span{since: q.Since.UTC(), until: q.Until.UTC()}
}

func (s span) equal(other span) bool {
	return s.within == other.within && s.since.Equal(other.since) && s.until.Equal(other.until)
}

func (s span) any() bool { return s.equal(span{}) }

// filters writes the span in the query language.
func (s span) filters() []string {
	var filters []string
	if s.within != "" {
		return append(filters, "within:"+s.within)
	}
	if !s.since.IsZero() {
		filters = append(filters, "since:"+s.written(s.since, wholeSince(s.since)))
	}
	if !s.until.IsZero() {
		filters = append(filters, "until:"+s.written(s.until, wholeUntil(s.until)))
	}
	return filters
}

func (span) written(moment time.Time, wholeDay bool) string {
	if wholeDay {
		return moment.Format(time.DateOnly)
	}
	return moment.Format(time.RFC3339Nano)
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
	switch {
	case s.any():
		return "any time"
	case s.within != "":
		return length(s.within)
	case s.until.IsZero():
		return "since " + moment(s.since, wholeSince(s.since))
	case s.since.IsZero():
		return "until " + moment(s.until, wholeUntil(s.until))
	}
	if !wholeSince(s.since) || !wholeUntil(s.until) {
		return moment(s.since, wholeSince(s.since)) + " – " + moment(s.until, wholeUntil(s.until))
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

func moment(at time.Time, wholeDay bool) string {
	if wholeDay {
		return at.Format("2 Jan 2006")
	}
	return at.Format("2 Jan 2006 15:04")
}

// length describes a length of time such as 30d in words. "Last year" would be the one that ended in December.
func length(within string) string {
	number, unit := within[:len(within)-1], within[len(within)-1:]
	word := map[string]string{"d": "day", "w": "week", "m": "month", "y": "year"}[unit]
	number = strings.TrimLeft(number, "0")
	if number == "1" {
		return "past " + word
	}
	return "last " + number + " " + word + "s"
}
