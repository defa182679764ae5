// Package passage says about a search result what every surface shows of it: what it is called, how old it is, which of
// its words were asked for, where to begin reading, and how to cite it. It knows text and bytes, not terminals.
package passage

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
)

// Title is the name of a result's document on one line; a document without one is called untitled.
func Title(r wire.SearchResult) string {
	if title := oneLine(r.Title); title != "" {
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
	then, err := wire.ParseTime(moment)
	if err != nil {
		return ""
	}
	days := daysSince(then, now)
	switch {
	case days < -1:
		return then.Format(time.DateOnly)
	case days < 1:
		return "today"
	case days < 2:
		return "yesterday"
	case days < 14:
		return fmt.Sprintf("%d days ago", days)
	case days < 60:
		return fmt.Sprintf("%d weeks ago", days/7)
	case days < 730:
		return fmt.Sprintf("%d months ago", days/30)
	}
	return fmt.Sprintf("%d years ago", days/365)
}

// ShortAge is Age where there is little room: "today", "3 d", "5 w", "8 mo", "2 y"; a date for what lies in the future.
func ShortAge(moment string, now time.Time) string {
	then, err := wire.ParseTime(moment)
	if err != nil {
		return ""
	}
	days := daysSince(then, now)
	switch {
	case days < -1:
		return then.Format(time.DateOnly)
	case days < 1:
		return "today"
	case days < 14:
		return strconv.Itoa(days) + " d"
	case days < 60:
		return strconv.Itoa(days/7) + " w"
	case days < 365:
		return strconv.Itoa(days/30) + " mo"
	}
	return strconv.Itoa(days/365) + " y"
}

func daysSince(then, now time.Time) int { return int(now.Sub(then) / (24 * time.Hour)) }

// Day is the date of a moment as a server wrote it; text that is no moment stays as it is.
func Day(moment string) string {
	if t, err := wire.ParseTime(moment); err == nil {
		return t.Format(time.DateOnly)
	}
	return oneLine(moment)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
