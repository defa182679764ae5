package mailmime

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// zones are the hours of the zone names of RFC 5322, and of those in use whose meaning is the same everywhere. Others,
// also the military letters, mean an unknown zone there, which is read as UTC.
var zones = map[string]float64{
	"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
	"AKST": -9, "AKDT": -8, "HST": -10, "NST": -3.5, "NDT": -2.5, "AST": -4, "ADT": -3,
	"WEST": 1, "CET": 1, "MET": 1, "MEZ": 1, "CEST": 2, "MEST": 2, "MESZ": 2, "EET": 2, "EEST": 3, "MSK": 3,
	"JST": 9, "KST": 9, "HKT": 8, "SGT": 8, "AWST": 8, "ACST": 9.5, "ACDT": 10.5, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}

var (
	zoneAtEnd = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(.*?\d[:.]\d\d(?:[:.]\d\d)?(?:[.,]\d+)?(?:\s*[ap]\.?m\.?)?)\s*` +
			`(?:(?:GMT|UTC?|Z)?\s*([+-])(\d{1,2}):?(\d\d)?)?\s*\(?([a-z]{1,5})?\)?$`)
	})
	// yearAtEnd matches the dates of programs in C: Tue Mar 5 14:30:00 EST 2024.
	yearAtEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*\d:\d\d(?::\d\d)?)\s+(\S+)\s+(\d{4})$`) })
	sentDate  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:\pL+\.?\s*,?\s+)?(?:(\d{1,2})[\s-]+([a-z]{3})[a-z]*\.?|([a-z]{3})[a-z]*\.?\s+(\d{1,2})),?[\s-]+` +
			`(\d{2,4}),?\s+(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:[.,]\d+)?\s*(?:([ap])\.?m\.?)?$`)
	})
	clockYear = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*?)\s+(\d{1,2}:\d\d(?::\d\d)?)\s+(\d{4})$`) })
	comments  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\([^()]*\)`) })
)

// CutZone cuts the zone off the end of a date with a time of day: -0500, +02:00, GMT+2, EST, or an offset and a name,
// of which the offset counts. A zone name whose meaning is not known is UTC. found is false without a time of day and a
// zone.
func CutZone(date string) (local string, offset time.Duration, found bool) {
	date = strings.TrimSpace(date)
	if parts := yearAtEnd().FindStringSubmatch(date); parts != nil && !strings.Contains(parts[2], ":") {
		if local, offset, found := CutZone(parts[1] + " " + parts[2]); found {
			return local + " " + parts[3], offset, true
		}
	}
	parts := zoneAtEnd().FindStringSubmatch(date)
	if parts == nil || parts[2] == "" && parts[5] == "" {
		return date, 0, false
	}
	if name := strings.ToUpper(parts[5]); parts[2] == "" {
		return parts[1], time.Duration(zones[name] * float64(time.Hour)), true
	}
	hours, _ := strconv.Atoi(parts[3]) // digits
	minutes, _ := strconv.Atoi(parts[4])
	offset = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if parts[2] == "-" {
		offset = -offset
	}
	return parts[1], offset, offset.Abs() < 24*time.Hour
}

// ParseDate parses the date of a message or of a line before one in a mailbox, as programs write them. Without a zone
// it is in UTC (RFC 5322 requires one; -0000 stands for an unknown one).
func ParseDate(date string) (time.Time, bool) {
	for range 4 { // comments may be in comments
		date = comments().ReplaceAllString(date, " ")
	}
	local, offset, _ := CutZone(strings.Join(strings.Fields(date), " "))
	for _, layout := range [...]string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, local); err == nil {
			return t.Add(-offset), true
		}
	}
	if parts := clockYear().FindStringSubmatch(local); parts != nil { // Tue Mar 5 14:30:00 2024
		local = parts[1] + " " + parts[3] + " " + parts[2]
	}
	parts := sentDate().FindStringSubmatch(local)
	if parts == nil {
		return time.Time{}, false
	}
	month, err := time.Parse("Jan", parts[2]+parts[3])
	number := func(i int) int { n, _ := strconv.Atoi(parts[i]); return n } // digits, or empty
	day, year, hour := number(1)+number(4), number(5), number(6)
	switch { // RFC 5322 4.3
	case len(parts[5]) == 2 && year < 50:
		year += 2000
	case len(parts[5]) < 4:
		year += 1900
	}
	if parts[9] != "" {
		hour = hour%12 + map[string]int{"a": 0, "p": 12}[strings.ToLower(parts[9])]
	}
	t := time.Date(year, month.Month(), day, hour, number(7), min(number(8), 59), 0, time.UTC) // a leap second is one too many
	return t.Add(-offset), err == nil && t.Day() == day && hour < 24 && number(7) < 60
}
