package pipeline

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
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
	Vectors       *QueryVectors // cache; nil: none
	Caller        string        // owner of entries in Vectors
	// AutoDetectFilters lets the model infer sources and time from the question.
	AutoDetectFilters bool
	Sources           []string // visible to the caller, for AutoDetectFilters
	FileLinks         bool     // the caller can open file: links
	Trusted           bool     // the caller may see why the model or a federated source failed
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
	f := index.Filter{Access: r.Access, Sources: s.Sources, Authors: s.Authors, Types: documentTypes(s.DocumentTypes)}
	if len(limit.sources) > 0 {
		f.Sources = limit.sources
	}
	for _, t := range s.Tags {
		f.Tags = append(f.Tags, index.Tag{Key: t.Key, Value: t.Value})
	}
	f.Sets = s.DocumentSets
	if r.Agent != nil {
		if len(f.Sets) == 0 {
			f.Sets = r.Agent.DocumentSets
		}
		f.Documents = r.Agent.Documents
	}
	span := limit.and(timeRange(r))
	f.Since, f.Until = span.since, span.until
	f.KeepUndated = f.Until.IsZero() && f.Since.Before(r.Now.Add(-assumedDocumentAge))
	return f
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

// mediaTypes maps media types to document types.
var mediaTypes = map[string]string{
	"application/pdf": "pdf", "text/markdown": "md", "text/html": "html", "text/plain": "txt", "text/csv": "csv",
	"message/rfc822": "eml", "application/json": "json", "application/epub+zip": "epub", "text/calendar": "ics",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "docx",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "xlsx",
	"application/vnd.oasis.opendocument.text":                                   "odt",
}

func documentTypes(asked []string) []string {
	types := make([]string, 0, len(asked))
	for _, t := range asked {
		t = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(t)), ".")
		if extension, ok := mediaTypes[t]; ok {
			t = extension
		}
		types = append(types, t)
	}
	return types
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
	if len(limit.sources) > 0 {
		add("sources", setByModel, limit.sources...)
	} else {
		add("sources", setByUser, s.Sources...)
	}
	add("document_sets", setByUser, s.DocumentSets...)
	for _, t := range s.Tags {
		add("tags", setByUser, t.Key+"="+t.Value)
	}
	add("authors", setByUser, s.Authors...)
	add("document_types", setByUser, s.DocumentTypes...)
	span := limit.and(timeRange(r))
	if !span.since.IsZero() {
		add("time_cutoff", sinceSetBy(r, limit), span.since.UTC().Format(time.RFC3339))
	}
	if !span.until.IsZero() {
		by := setByUser
		if !limit.until.IsZero() {
			by = setByModel
		}
		add("time_until", by, span.until.UTC().Format(time.RFC3339))
	}
	if r.Agent != nil {
		if len(s.DocumentSets) == 0 {
			add("document_sets", setByAgent, r.Agent.DocumentSets...)
		}
		if len(r.Agent.Documents) > 0 { // which they are, and how many, is not visible to every user of the agent
			add("documents", setByAgent, "the attached documents")
		}
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
		spellings[i] = regexp.QuoteMeta(spelling)
	}
	const space = `[\s\pZ\v\x{85}]`
	delimited := regexp.MustCompile("(?:^|" + space + ")(" + strings.Join(spellings, "|") + ")(?:$|" + space + ")")
	if at := delimited.FindStringSubmatchIndex(text); at != nil {
		return text[:at[2]] + text[at[3]:]
	}
	return text
}

// wantsPrefix reports whether the last word may be unfinished: in instant search, unless a space, a phrase or an
// exclusion follows it.
func wantsPrefix(s wire.SearchRequest) bool {
	text := Words(s)
	last, size := utf8.DecodeLastRuneInString(text)
	return s.Instant && size > 0 && !unicode.IsSpace(last) && last != '"'
}
