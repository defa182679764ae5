package pipeline

import (
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/llm"
)

// assumedDocumentAge is how old a document without a date is taken to be when a search has a lower bound in time
// (Onyx: ASSUMED_DOCUMENT_AGE_DAYS).
const assumedDocumentAge = 90 * 24 * time.Hour

// Request is one search by one caller.
type Request struct {
	Search  wire.SearchRequest
	Access  index.Access
	Agent   *Agent // nil: the unscoped default agent
	Profile string // named in Searched and in each result's Origin; empty: there is nothing here but what others answer
	Now     time.Time

	Model         llm.Chat      // nil: none
	NoModelReason string        // why the configured model is not asked, where Model is nil for that
	Deadline      time.Duration // of one call of the model; 0: 8 s
	Embedder      llm.Embedder  // nil: none
	Vectors       *QueryVectors // that are known already; nil: none are remembered
	Caller        string        // whose Vectors are used; no two callers have the same
	// AutoDetectFilters lets the model limit the sources and the time that the question speaks of.
	AutoDetectFilters bool
	Sources           []string // those that hold what the caller may see, for AutoDetectFilters
	FileLinks         bool     // the caller is at the machine that files lie on
	Trusted           bool     // the caller may be told why the model or a federated source failed
	// Federated are asked beside the documents here. Their rights are their own: only who owns them may ask them.
	Federated []Federated
	Log       *slog.Logger
}

// Agent is what an agent imposes on a search.
type Agent struct {
	ID           int
	Name         string
	DocumentSets []string  // the scope unless the caller names sets
	Documents    []string  // attached documents, always in scope beside the sets
	Since        time.Time // a floor under the caller's own
}

// Filter turns the request's filters, the agent's scope and the caller's rights into what retrieval applies.
func Filter(r Request) index.Filter { return filterWithin(r, inferred{}) }

// filterWithin is Filter within what was inferred.
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

// timeRange is the span that the caller and the agent set.
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

// mediaTypes names the document types that have a media type of their own.
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

// appliedFilters names every filter that holds and who set it. A limit that was inferred stands in the place of what
// it narrows.
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
		if len(r.Agent.Documents) > 0 { // which they are, and how many, is not for everybody who may use the agent
			add("documents", setByAgent, "the attached documents")
		}
	}
	return applied
}

// Who sets a filter.
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

// Words is the query without the phrases and exclusions that the request lists beside it: one text serves servers
// that know those fields and servers that do not.
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

// longestFirst keeps a short exclusion from being cut out of the front of a longer one.
func longestFirst(a, b string) int { return len(b) - len(a) }

// cutOnce removes the first occurrence of the first spelling that stands by itself.
func cutOnce(text string, spellings ...string) string {
	for _, spelling := range spellings {
		for from := 0; from <= len(text)-len(spelling); {
			at := strings.Index(text[from:], spelling)
			if at < 0 {
				break
			}
			at += from
			end := at + len(spelling)
			if standsAlone(text, at, end) {
				return text[:at] + text[end:]
			}
			from = at + 1
		}
	}
	return text
}

func standsAlone(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return (start == 0 || unicode.IsSpace(before)) && (end == len(text) || unicode.IsSpace(after))
}

// wantsPrefix: while somebody types, the last word is unfinished unless a space, a phrase or an exclusion follows it.
func wantsPrefix(s wire.SearchRequest) bool {
	text := Words(s)
	last, size := utf8.DecodeLastRuneInString(text)
	return s.Instant && size > 0 && !unicode.IsSpace(last) && last != '"'
}
