package pipeline

import (
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/pattern"
	"quarry/server/index"
	"quarry/server/llm"
)

// assumedDocumentAge is the assumed age of documents without a date, for searches with a lower bound in time (Onyx:
// ASSUMED_DOCUMENT_AGE_DAYS).
const assumedDocumentAge = 90 * 24 * time.Hour

// Request is one search of one caller.
type Request struct {
	Search  wire.SearchRequest
	Access  index.Access
	Agent   *Agent // nil: the default agent, without a scope
	Profile string // Origin of the results; empty: only federated sources are searched
	Now     time.Time

	Model         llm.Chat      // nil: none
	NoModelReason string        // if Model is nil although one is configured
	Deadline      time.Duration // of one call of a model; 0: 8 s
	Embedder      llm.Embedder  // nil: none
	Cache         *Cache        // nil: only for this search
	Caller        string        // owner of entries in Cache
	Sources       []string      // visible to the caller, of which the model may infer some from the question
	FileLinks     bool          // the caller can open file: links
	// Name returns the id of a document as citations have it; nil: as it is.
	Name    func(id string) string
	Trusted bool // the caller may see why the model or a federated source failed
	// Federated sources are searched beside this library, with their own permissions: only their owner may use them.
	Federated []Federated
	Log       *slog.Logger
}

// Agent is the scope of an agent.
type Agent struct {
	ID           int
	Name         string
	DocumentSets []string  // unless the caller names sets
	Documents    []string  // attached documents, in scope beside the sets
	Since        time.Time // minimum of the caller's own
}

// Filter combines the request's filters, the agent's scope and the caller's permissions.
func Filter(r Request) index.Filter { return filterWithin(r, inferred{}) }

// filterWithin is Filter with inferred limits.
func filterWithin(r Request, limit inferred) index.Filter {
	s := r.Search
	f := index.Filter{Access: r.Access, Any: field.KeysOf(s.Filters), None: field.KeysOf(s.ExcludeFilters)}
	if len(limit.sources) > 0 {
		f.Any[field.Source] = limit.sources
	}
	if r.Agent != nil {
		if len(f.Any[field.Set]) == 0 {
			f.Any[field.Set] = r.Agent.DocumentSets
		}
		f.Documents = r.Agent.Documents
	}
	if s.AddedSince != nil {
		f.AddedSince = s.AddedSince.Time
	}
	span := limit.and(timeRange(r))
	f.Since, f.Until = span.since, span.until
	f.KeepUndated = f.Until.IsZero() && f.Since.Before(r.Now.Add(-assumedDocumentAge))
	return f
}

// scopeOf returns what the level of a question is decided in: what the caller and the agent may see, whatever the
// request narrows it to.
func scopeOf(r Request) *index.Filter {
	return new(Filter(Request{Access: r.Access, Agent: r.Agent, Now: r.Now}))
}

// timeRange returns the time range of the caller and the agent.
func timeRange(r Request) (w window) {
	switch s := r.Search; {
	case s.TimeCutoff != nil:
		w.since = s.TimeCutoff.Time
	case s.TimeCutoffDays != nil:
		w.since = r.Now.AddDate(0, 0, -*s.TimeCutoffDays)
	}
	if r.Agent != nil && r.Agent.Since.After(w.since) {
		w.since = r.Agent.Since
	}
	if r.Search.TimeUntil != nil {
		w.until = r.Search.TimeUntil.Time
	}
	return w
}

// appliedFilters lists every filter and who set it. An inferred limit replaces the one that it narrows.
func appliedFilters(r Request, limit inferred) []wire.AppliedFilter {
	applied := []wire.AppliedFilter{}
	add := func(field, by string, values ...string) {
		for _, v := range values {
			applied = append(applied, wire.AppliedFilter{Field: field, Value: v, SetBy: by})
		}
	}
	s := r.Search
	for _, row := range field.All() {
		if row.ID == field.Source && len(limit.sources) > 0 {
			add(row.Key, setByModel, limit.sources...)
		} else {
			add(row.Key, setByUser, row.Of(s.Filters)...)
		}
	}
	span := limit.and(timeRange(r))
	addTime := func(field, by string, at time.Time) {
		if !at.IsZero() {
			add(field, by, at.UTC().Format(time.RFC3339))
		}
	}
	addTime("time_cutoff", sinceSetBy(r, limit), span.since)
	untilSetBy := setByUser
	if !limit.until.IsZero() {
		untilSetBy = setByModel
	}
	addTime("time_until", untilSetBy, span.until)
	if s.AddedSince != nil {
		addTime("added_since", setByUser, s.AddedSince.Time)
	}
	if s.SimilarTo != "" {
		add("similar_to", setByUser, s.SimilarTo)
	}
	if r.Agent != nil {
		if len(s.DocumentSets) == 0 {
			add(field.Of(field.Set).Key, setByAgent, r.Agent.DocumentSets...)
		}
		if len(r.Agent.Documents) > 0 { // which they are, and how many, is not visible to every user of the agent
			add("documents", setByAgent, "the attached documents")
		}
	}
	first := len(applied)
	for _, row := range field.All() {
		add(row.Key, setByUser, row.Of(s.ExcludeFilters)...)
	}
	for i := range applied[first:] {
		applied[first+i].Negated = true
	}
	return applied
}

// Who set a filter.
const (
	setByUser  = "user"
	setByAgent = "agent"
	setByModel = "model"
)

func sinceSetBy(r Request, limit inferred) string {
	switch {
	case !limit.since.IsZero():
		return setByModel
	case r.Agent != nil && r.Agent.Since.Equal(timeRange(r).since):
		return setByAgent
	}
	return setByUser
}

// Words returns the query without the phrases and exclusions that the request also lists: the same text works for
// servers with and without those fields.
func Words(s wire.SearchRequest) string {
	text := s.Query
	for _, phrase := range slices.SortedStableFunc(slices.Values(s.Exclude), longestFirst) {
		text = cutOnce(text, `-"`+phrase+`"`, `-“`+phrase+`”`, `-`+phrase)
	}
	for _, phrase := range slices.SortedStableFunc(slices.Values(s.Phrases), longestFirst) {
		text = cutOnce(text, `"`+phrase+`"`, `“`+phrase+`”`)
	}
	return text
}

// longestFirst orders phrases so that a short one is not cut out of a longer one.
func longestFirst(a, b string) int { return len(b) - len(a) }

// cutOnce removes the first spelling that is delimited by spaces.
func cutOnce(text string, spellings ...string) string {
	for i, spelling := range spellings {
		// As the expression sees such bytes in text.
		spellings[i] = regexp.QuoteMeta(strings.ToValidUTF8(spelling, "\uFFFD"))
	}
	const space = `[\s\pZ\v\x{85}]`
	delimited := regexp.MustCompile("(?:^|" + space + ")(" + strings.Join(spellings, "|") + ")(?:$|" + space + ")")
	if at := delimited.FindStringSubmatchIndex(text); at != nil {
		return text[:at[2]] + text[at[3]:]
	}
	return text
}

// endsInWord reports whether the last word may be unfinished: no space, phrase or exclusion follows it.
func endsInWord(s wire.SearchRequest) bool {
	text := Words(s)
	last, size := utf8.DecodeLastRuneInString(text)
	return size > 0 && !unicode.IsSpace(last) && last != '"'
}

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
		asked := len(r.Search.Sources) == 0 || slices.Contains(r.Search.Sources, s)
		if asked && !slices.Contains(r.Search.ExcludeFilters.Sources, s) && sourceName().MatchString(s) {
			candidates = append(candidates, s)
		}
	}
	return candidates
}

// sourceName excludes other text from prompts.
var sourceName = pattern.Lazy(`^[a-z0-9_]+$`)

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

// parseTime parses the first pair of valid bounds, such as "updated (2025-03-01, None)". A start in the future, and an
// end that is not over, are open. Of a creation time only the start is used: a document is not changed before it was
// created. ok is false without such a pair.
func parseTime(reply string, now time.Time) (w window, ok bool) {
	pair := regexp.MustCompile(`([A-Za-z]*)[ \t]*\(([^(),\n]{0,40}),([^(),\n]{0,40})\)`)
	for _, match := range pair.FindAllStringSubmatch(reply, -1) {
		since, isBound := parseBound(match[2], now)
		until, areBoth := parseBound(match[3], now)
		if !isBound || !areBoth {
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
