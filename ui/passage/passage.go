// Package passage formats search results for all user interfaces: title, age, highlights, snippets, excerpts and citations.
// It handles text and bytes, not terminals.
package passage

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Title returns the title of a result on one line, or "(untitled)".
func Title(r wire.SearchResult) string {
	if title := text.OneLine(r.Title); title != "" {
		return title
	}
	return "(untitled)"
}

// Citation returns the citation number of a result, or "-" if the server sent none.
func Citation(r wire.SearchResult) string {
	if r.CitationID == nil {
		return "-"
	}
	return strconv.Itoa(*r.CitationID)
}

// Age returns how long ago a time was ("4 days ago"), or "" if it cannot be parsed.
func Age(moment string, now time.Time) string {
	return age(moment, now, func(days int, in ageUnits) string {
		if days == 1 {
			return "yesterday"
		}
		return fmt.Sprintf("%d %s ago", days/in.long.days, in.long.name)
	})
}

// ShortAge is Age in short form: "today", "3 d", "5 w", "8 mo", "2 y"; a date for a time in the future.
func ShortAge(moment string, now time.Time) string {
	return age(moment, now, func(days int, in ageUnits) string {
		return strconv.Itoa(days/in.short.days) + " " + in.short.name
	})
}

// ageUnits are the units of ages below a number of days. The long form of the second year is in months.
type ageUnits struct {
	below       int
	long, short ageUnit
}

type ageUnit struct {
	days int
	name string
}

func ageTable() [5]ageUnits {
	return [...]ageUnits{
		{14, ageUnit{1, "days"}, ageUnit{1, "d"}},
		{60, ageUnit{7, "weeks"}, ageUnit{7, "w"}},
		{365, ageUnit{30, "months"}, ageUnit{30, "mo"}},
		{730, ageUnit{30, "months"}, ageUnit{365, "y"}},
		{math.MaxInt, ageUnit{365, "years"}, ageUnit{365, "y"}},
	}
}

// age formats the days between a time and now. Tomorrow, by the clock of another place, counts as today.
func age(moment string, now time.Time, spell func(days int, in ageUnits) string) string {
	then, err := wire.ParseTime(moment)
	if err != nil {
		return ""
	}
	days := int(now.Sub(then) / (24 * time.Hour))
	switch {
	case days < -1:
		return then.Format(time.DateOnly)
	case days < 1:
		return "today"
	}
	table := ageTable()
	at := 0
	for days >= table[at].below {
		at++
	}
	return spell(days, table[at])
}

// Day returns the date of a time as the server sent it. Other text stays as it is.
func Day(moment string) string {
	if t, err := wire.ParseTime(moment); err == nil {
		return t.Format(time.DateOnly)
	}
	return text.OneLine(moment)
}
