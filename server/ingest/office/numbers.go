package office

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"quarry/internal/pattern"
)

// numberFormat is how a cell shows its number. The zero value shows it as it is.
type numberFormat struct {
	day, clock       bool   // of a point in time it shows the day, the time of day
	elapsed          string // the unit of a duration that may have any number: h, m or s; empty: it is none
	minutes, seconds bool   // below the hours of a duration
	percent          bool
}

// builtInFormats returns the formats of dates, times and shares that files name by a number only. 27 to 36 and 50 to 58
// are dates, in some languages times.
func builtInFormats() map[int]string {
	formats := map[int]string{9: "0%", 10: "0%", 22: "d h:mm", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss"}
	for id := 18; id <= 21; id++ {
		formats[id] = "h:mm"
	}
	for _, span := range [][2]int{{14, 17}, {27, 36}, {50, 58}} {
		for id := span[0]; id <= span[1]; id++ {
			formats[id] = "y/m/d h"
		}
	}
	return formats
}

// formatText matches what is no code in a format: text in quotes, behind a backslash, or only as wide as a character; a
// colour, condition or language in brackets; halves of the day, and decimals of seconds.
var formatText = pattern.Lazy(`"[^"]*"?|[\\_*].?|\[[^\]]*[^hms\]][^\]]*\]|am/pm|a/p|[.,]0+$`)

var elapsedUnit = pattern.Lazy(`\[(h+|m+|s+)\]`)

// parseFormat reads the format for positive numbers. One with another letter than those of dates, such as Standard,
// shows plain numbers, and so does one with digits.
func parseFormat(code string) (f numberFormat) {
	code, _, _ = strings.Cut(formatText().ReplaceAllString(strings.ToLower(code), ""), ";")
	const letters = "ymdhsbegajt" // j, t and a in German and French
	isOther := func(r rune) bool { return r >= 'a' && r <= 'z' && !strings.ContainsRune(letters, r) }
	switch unit := elapsedUnit().FindStringSubmatch(code); {
	case unit != nil:
		f.elapsed = unit[1][:1]
		f.minutes = f.elapsed == "h" && strings.Contains(code, "m")
		f.seconds = f.elapsed != "s" && strings.Contains(code, "s")
	case strings.ContainsFunc(code, isOther) || strings.ContainsAny(code, "0#?@"):
		f.percent = strings.Contains(code, "%")
	default:
		f.clock = strings.ContainsAny(code, "hs")
		f.day = strings.ContainsAny(code, "ydjt") || !f.clock && strings.Contains(code, "m")
	}
	return f
}

// show returns a number as a sheet shows it: days as in ISO 8601, durations, shares in percent, others with at most 15
// digits. from is the day 0.
func (f numberFormat) show(text string, from time.Time) string {
	const lastDay = 2_958_465 // of the year 9999
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return text
	}
	seconds := int64(math.Round(min(math.Abs(n), lastDay) * 24 * 60 * 60))
	t := from.Add(time.Duration(seconds) * time.Second)
	switch {
	case f.percent:
		return strconv.FormatFloat(n*100, 'f', decimals(n*100), 64) + "%"
	case math.Abs(n) > lastDay || n < 0 && f.elapsed == "" || !f.day && !f.clock && f.elapsed == "":
		return strconv.FormatFloat(n, 'f', decimals(n), 64)
	case f.elapsed != "" && n < 0:
		return "-" + f.duration(seconds)
	case f.elapsed != "":
		return f.duration(seconds)
	case n < 1 || !f.day:
		return t.Format(time.TimeOnly)
	case n == math.Trunc(n) || !f.clock:
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04")
}

func (f numberFormat) duration(seconds int64) string {
	text := strconv.FormatInt(seconds/map[string]int64{"h": 3600, "m": 60, "s": 1}[f.elapsed], 10)
	if f.minutes {
		text += fmt.Sprintf(":%02d", seconds/60%60)
	}
	if f.seconds {
		text += fmt.Sprintf(":%02d", seconds%60)
	}
	return text
}

// decimals returns how many decimals are within the precision of sheets; -1 for as many as needed.
func decimals(n float64) int {
	const precision = 15
	short, err := strconv.ParseFloat(strconv.FormatFloat(n, 'g', precision, 64), 64)
	if err != nil || short == n {
		return -1
	}
	text := strconv.FormatFloat(short, 'f', -1, 64)
	_, fraction, _ := strings.Cut(text, ".")
	return len(fraction)
}
