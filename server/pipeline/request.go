package pipeline

import (
	"fmt"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/server/index"
)

// assumedDocumentAge is how old a document without a date is taken to be when a search has a lower bound in time
// (Onyx: ASSUMED_DOCUMENT_AGE_DAYS).
const assumedDocumentAge = 90 * 24 * time.Hour

// Request is one search by one caller.
type Request struct {
	Search  wire.SearchRequest
	Access  index.Access
	Agent   *Agent // nil: the unscoped default agent
	Profile string // named in Searched and in each result's Origin
	Now     time.Time
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
func Filter(r Request) index.Filter {
	s := r.Search
	f := index.Filter{Access: r.Access, Sources: s.Sources, Authors: s.Authors, Types: documentTypes(s.DocumentTypes)}
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
	f.Since, f.Until = timeRange(r)
	f.KeepUndated = f.Until.IsZero() && f.Since.Before(r.Now.Add(-assumedDocumentAge))
	return f
}

func timeRange(r Request) (since, until time.Time) {
	switch s := r.Search; {
	case s.TimeCutoff != nil:
		since = s.TimeCutoff.Time
	case s.TimeCutoffDays != nil:
		since = r.Now.AddDate(0, 0, -*s.TimeCutoffDays)
	}
	if r.Agent != nil && r.Agent.Since.After(since) {
		since = r.Agent.Since
	}
	if r.Search.TimeUntil != nil {
		until = r.Search.TimeUntil.Time
	}
	return since, until
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

// AppliedFilters names every filter that holds and who set it.
func AppliedFilters(r Request) []wire.AppliedFilter {
	applied := []wire.AppliedFilter{}
	add := func(field, by string, values ...string) {
		for _, v := range values {
			applied = append(applied, wire.AppliedFilter{Field: field, Value: v, SetBy: by})
		}
	}
	s := r.Search
	add("sources", "user", s.Sources...)
	add("document_sets", "user", s.DocumentSets...)
	for _, t := range s.Tags {
		add("tags", "user", t.Key+"="+t.Value)
	}
	add("authors", "user", s.Authors...)
	add("document_types", "user", s.DocumentTypes...)
	since, until := timeRange(r)
	if !since.IsZero() {
		by := "user"
		if r.Agent != nil && r.Agent.Since.Equal(since) {
			by = "agent"
		}
		add("time_cutoff", by, since.UTC().Format(time.RFC3339))
	}
	if !until.IsZero() {
		add("time_until", "user", until.UTC().Format(time.RFC3339))
	}
	if r.Agent != nil {
		if len(s.DocumentSets) == 0 {
			add("document_sets", "agent", r.Agent.DocumentSets...)
		}
		if n := len(r.Agent.Documents); n > 0 { // their ids are not for everybody who may use the agent
			add("documents", "agent", fmt.Sprintf("%d attached %s", n, plural(n, "document", "documents")))
		}
	}
	return applied
}

// words is the query without the phrases and exclusions that the request lists beside it: one text serves servers
// that know those fields and servers that do not.
func words(s wire.SearchRequest) string {
	text := s.Query
	for _, phrase := range longestFirst(s.Exclude) {
		text = cutOnce(text, `-"`+phrase+`"`, `-“`+phrase+`”`, `-`+phrase)
	}
	for _, phrase := range longestFirst(s.Phrases) {
		text = cutOnce(text, `"`+phrase+`"`, `“`+phrase+`”`)
	}
	return text
}

// longestFirst keeps a short exclusion from being cut out of the front of a longer one.
func longestFirst(list []string) []string {
	sorted := append([]string(nil), list...)
	sort.SliceStable(sorted, func(i, j int) bool { return len(sorted[i]) > len(sorted[j]) })
	return sorted
}

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
	text := words(s)
	last, size := utf8.DecodeLastRuneInString(text)
	return s.Instant && size > 0 && !unicode.IsSpace(last) && last != '"'
}
