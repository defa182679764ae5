package pipeline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
)

// inferred holds limits that a model read from a question, beyond the caller's.
type inferred struct {
	sources []string // empty: all
	window
}

// window is a time range including both ends; zero ends are open.
type window struct{ since, until time.Time }

// candidateSources returns the sources that a model may choose: those visible to the caller and in the request.
func candidateSources(r Request) []string {
	var candidates []string
	for _, s := range r.Sources {
		if (len(r.Search.Sources) == 0 || slices.Contains(r.Search.Sources, s)) && sourceName.MatchString(s) {
			candidates = append(candidates, s)
		}
	}
	return candidates
}

// sourceName excludes other text from prompts.
var sourceName = regexp.MustCompile(`^[a-z0-9_]+$`)

// sourceLine is a source in a prompt.
type sourceLine struct{ Value, Name string }

func sourceLines(values []string) []sourceLine {
	var lines []sourceLine
	for _, value := range values {
		line := sourceLine{value, value}
		if s, ok := wire.LookupSource(value); ok {
			line.Name = s.Name
		}
		lines = append(lines, line)
	}
	return lines
}

// parseSources parses the last list in brackets. Names that are not among the candidates are dropped; all candidates
// are no limit. ok is false without a list.
func parseSources(reply string, candidates []string) (sources []string, ok bool) {
	end := strings.LastIndexByte(reply, ']')
	if end < 0 {
		return nil, false
	}
	start := strings.LastIndexByte(reply[:end], '[')
	if start < 0 {
		return nil, false
	}
	for name := range strings.SplitSeq(reply[start+1:end], ",") {
		name = strings.Trim(oneLine(name), "\"'` ")
		at := slices.IndexFunc(candidates, func(c string) bool { return isNameOf(name, c) })
		if at >= 0 && !slices.Contains(sources, candidates[at]) {
			sources = append(sources, candidates[at])
		}
	}
	if len(sources) == len(candidates) {
		sources = nil
	}
	return sources, true
}

// isNameOf reports whether name is a source's value or display name.
func isNameOf(name, source string) bool {
	known, ok := wire.LookupSource(source)
	return strings.EqualFold(name, source) || ok && strings.EqualFold(name, known.Name)
}

// timePair matches a possible pair of bounds and the word before it.
func timePair() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z]*)[ \t]*\(([^(),\n]{0,40}),([^(),\n]{0,40})\)`)
}

// parseTime parses the first pair of valid bounds, such as "updated (2025-03-01, None)". A start in the future, and an
// end that is not over, are open. Of a creation time only the start is used: a document is not changed before it was
// created. ok is false without such a pair.
func parseTime(reply string, now time.Time) (w window, ok bool) {
	for _, match := range timePair().FindAllStringSubmatch(reply, -1) {
		since, valid := parseBound(match[2], now)
		if !valid {
			continue
		}
		until, valid := parseBound(match[3], now)
		if !valid {
			continue
		}
		if since.After(now) {
			since = time.Time{}
		}
		if !until.IsZero() {
			until = until.AddDate(0, 0, 1).Add(-time.Microsecond)
		}
		if !until.Before(now) || strings.EqualFold(match[1], "created") {
			until = time.Time{}
		}
		if !until.IsZero() && since.After(until) {
			return window{}, true
		}
		return window{since, until}, true
	}
	return window{}, false
}

// parseBound parses a day, a time before today, or an open end (zero). Days begin at midnight UTC.
func parseBound(text string, now time.Time) (day time.Time, valid bool) {
	text = strings.ToUpper(strings.Trim(text, "\"'` \t"))
	if text == "NONE" || text == "NULL" {
		return time.Time{}, true
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, day.Year() > 0
	}
	const most = 36_500
	match := regexp.MustCompile(`^-P(\d{1,9})([DWMY])$`).FindStringSubmatch(text)
	if match == nil {
		return time.Time{}, false
	}
	n, err := strconv.Atoi(match[1])
	if err != nil || n > most {
		return time.Time{}, false
	}
	today := now.UTC().Truncate(24 * time.Hour)
	switch match[2] {
	case "D":
		day = today.AddDate(0, 0, -n)
	case "W":
		day = today.AddDate(0, 0, -7*n)
	case "M":
		day = monthsBefore(today, n)
	case "Y":
		day = monthsBefore(today, 12*n)
	}
	return day, day.Year() > 0
}

// monthsBefore subtracts months; if that month is too short, it returns its last day.
func monthsBefore(day time.Time, months int) time.Time {
	before := day.AddDate(0, -months, 0)
	if before.Day() != day.Day() {
		before = before.AddDate(0, 0, -before.Day())
	}
	return before
}

// within limits a window to another one and drops ends that no longer limit anything; it returns zero if they do not
// overlap.
func (w window) within(outer window) window {
	if !w.since.After(outer.since) {
		w.since = time.Time{}
	}
	if !w.until.IsZero() && !outer.until.IsZero() && !w.until.Before(outer.until) {
		w.until = time.Time{}
	}
	if both := w.and(outer); !both.until.IsZero() && both.since.After(both.until) {
		return window{}
	}
	return w
}

// and returns the intersection of two windows.
func (w window) and(other window) window {
	if other.since.After(w.since) {
		w.since = other.since
	}
	if w.until.IsZero() || !other.until.IsZero() && other.until.Before(w.until) {
		w.until = other.until
	}
	return w
}
