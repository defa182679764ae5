// Package passage says about a search result what every surface shows of it: what it is called, how old it is, which of
// its words were asked for, where to begin reading, and how to cite it. It knows text and bytes, not terminals.
package passage

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Title is the name of a result's document on one line; a document without one is called untitled.
func Title(r wire.SearchResult) string {
	if title := text.OneLine(r.Title); title != "" {
		return title
	}
	return "(untitled)"
}

// Citation is the number of a result's document, or a dash where the server gave none.
func Citation(r wire.SearchResult) string {
	if r.CitationID == nil {
		return "-"
	}
	return strconv.Itoa(*r.CitationID)
}

// Age says how long ago a moment was, relative to now ("4 days ago"); empty for a moment that cannot be read.
func Age(moment string, now time.Time) string {
	return age(moment, now, func(days int, in ageUnits) string {
		if days == 1 {
			return "yesterday"
		}
		return fmt.Sprintf("%d %s ago", days/in.long.days, in.long.name)
	})
}

// ShortAge is Age where there is little room: "today", "3 d", "5 w", "8 mo", "2 y"; a date for what lies in the future.
func ShortAge(moment string, now time.Time) string {
	return age(moment, now, func(days int, in ageUnits) string {
		return strconv.Itoa(days/in.short.days) + " " + in.short.name
	})
}

// ageUnits are what ages below a number of days are told in. With room, the second year is told in months.
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

// age spells the days between a moment and now. Tomorrow, by the clock of another place, is today.
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

// Day is the date of a moment as a server wrote it; text that is no moment stays as it is.
func Day(moment string) string {
	if t, err := wire.ParseTime(moment); err == nil {
		return t.Format(time.DateOnly)
	}
	return text.OneLine(moment)
}
