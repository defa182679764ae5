// Package wire defines the types of the search API: Onyx's own fields, and the additional ones of quarry servers. The
// client and the server share them; the package imports neither.
//
// Fields of Onyx's own contract are present even when null. Additional fields are always sent by a quarry server and
// are absent from a bare Onyx, so their zero value means "unknown".
package wire

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of searches.
const (
	MaxQueryRunes       = 2048
	MaxNumResults       = 100
	DefaultNumResults   = 10
	MaxTimeCutoffDays   = 36_500
	DefaultContextLimit = 25  // chunks, the default of max_context_chunks
	MaxContextChunks    = 100 // chunks
	MaxChunksPerRequest = 200 // of GET /document/chunks
	MaxSuggestions      = 50
	MaxOffset           = math.MaxInt32
	MaxFacetValues      = 1000 // per facet, the most frequent ones
)

// SearchRequest is the body of POST /search.
type SearchRequest struct {
	Query string `json:"query"`
	Filters
	TimeCutoff         *Time     `json:"time_cutoff,omitempty"`
	PersonaID          *int      `json:"persona_id,omitempty"`
	Provider           *string   `json:"provider,omitempty"`
	Model              *string   `json:"model,omitempty"`
	SkipQueryExpansion bool      `json:"skip_query_expansion,omitempty"`
	MessageHistory     []Message `json:"message_history,omitempty"`

	// The fields below are unknown to Onyx, which ignores them.

	NumResults            *int     `json:"num_results,omitempty"`
	TimeCutoffDays        *int     `json:"time_cutoff_days,omitempty"`
	TimeUntil             *Time    `json:"time_until,omitempty"`
	SkipDocumentSelection bool     `json:"skip_document_selection,omitempty"`
	MaxContextChunks      *int     `json:"max_context_chunks,omitempty"`
	Instant               bool     `json:"instant,omitempty"`
	Exclude               []string `json:"exclude,omitempty"`
	Phrases               []string `json:"phrases,omitempty"`
	Explain               bool     `json:"explain,omitempty"`
	Stream                bool     `json:"stream,omitempty"`
	ExcludeFilters        Filters  `json:"exclude_filters,omitzero"` // rule out documents that have any of the values

	// With Offset, Sort or Browse only matched documents are listed, one result each, and every page has the same
	// counts.
	Offset *int   `json:"offset,omitempty"` // documents to skip
	Sort   string `json:"sort,omitempty"`   // relevance (default), newest, oldest
	// Without words: all documents that the filters leave, newest first.
	Browse     bool   `json:"browse,omitempty"`
	AddedSince *Time  `json:"added_since,omitempty"` // first stored after that
	SimilarTo  string `json:"similar_to,omitempty"`  // a ref: passages like that one
	FacetPlace string `json:"facet_place,omitempty"` // counts what is in it; "/": the top; empty: where matches divide
	// The last word also counts as a prefix if it is no word of the library.
	Prefix bool `json:"prefix,omitempty"`
}

// The orders of results.
const (
	SortRelevance = "relevance"
	SortNewest    = "newest"
	SortOldest    = "oldest"
)

// Lists reports whether the response lists matched documents in one order.
func (r SearchRequest) Lists() bool {
	return r.Offset != nil || r.Browse || r.Sort == SortNewest || r.Sort == SortOldest
}

// WithoutModel reports whether no language model takes part, although one may be configured.
func (r SearchRequest) WithoutModel() bool { return r.Lists() || r.SimilarTo != "" }

// Filters are the values of each field; package field has a row for every list. Onyx knows the first three as filters
// of a search.
type Filters struct {
	Sources       []string `json:"sources,omitempty"`
	DocumentSets  []string `json:"document_sets,omitempty"`
	Tags          []Tag    `json:"tags,omitempty"`
	Authors       []string `json:"authors,omitempty"`
	DocumentTypes []string `json:"document_types,omitempty"`
	Languages     []string `json:"languages,omitempty"`
	Places        []string `json:"places,omitempty"`
}

// Tag is one key and value of a document's metadata.
type Tag struct {
	Key   string `json:"tag_key"`
	Value string `json:"tag_value"`
}

// Message is a message of the conversation that a question belongs to. Type is one of system, user, assistant,
// tool_call_response, user_reminder.
type Message struct {
	Message string `json:"message"`
	Type    string `json:"message_type"`
}

// SearchResponse is the answer of POST /search.
type SearchResponse struct {
	Results         []SearchResult    `json:"results"`
	CitationMapping map[string]string `json:"citation_mapping"`
	LLMFacingText   string            `json:"llm_facing_text"`
	QueryExpansion  QueryExpansion    `json:"query_expansion"`
	Queries         []ExecutedQuery   `json:"queries"`
	AppliedFilters  []AppliedFilter   `json:"applied_filters"`
	Facets          Facets            `json:"facets"`
	TotalMatches    int               `json:"total_matches"`
	Matched         Matched           `json:"matched"`
	Stages          []Stage           `json:"stages"`
	Notes           []Note            `json:"notes"`
	Searched        []string          `json:"searched"`
}

// SearchResult is one passage. Its own JSON is that of the API, of which the first six fields are Onyx's; the profiles
// are its other forms, and their schemas have the descriptions.
type SearchResult struct {
	CitationID *int    `json:"citation_id" jsonschema:"number to cite, one per document"` // 1-based
	Title      string  `json:"title"`
	Content    string  `json:"content" jsonschema:"text of the passage"`
	Link       *string `json:"link"`
	SourceType string  `json:"source_type"`
	UpdatedAt  *string `json:"updated_at" jsonschema:"ISO 8601"` // with offset

	DocumentID string `json:"document_id"`
	Ref        string `json:"ref" jsonschema:"argument of quarry read"` // "<document_id>#<chunk_ind>"
	ShortRef   string `json:"short_ref" jsonschema:"the same, shorter"` // empty: the server has none
	Citation   string `json:"citation" jsonschema:"for others: an address, else place:line"`
	ChunkInd   int    `json:"chunk_ind" jsonschema:"chunk that matched best"`
	ChunkStart int    `json:"chunk_start" jsonschema:"first chunk of the passage, from 0"`
	ChunkEnd   int    `json:"chunk_end" jsonschema:"last chunk of the passage"` // inclusive
	ChunkCount int    `json:"chunk_count" jsonschema:"chunks of the document"`
	// It depends on the whole tenant.
	Score        float64             `json:"score" jsonschema:"comparable within one search"`
	Blurb        string              `json:"blurb"`
	Highlights   []Span              `json:"highlights" jsonschema:"matches, as ranges of bytes in content"`
	BestPassage  Span                `json:"best_passage" jsonschema:"best part, as a range of bytes in content"`
	HeadingPath  []string            `json:"heading_path"`
	Metadata     map[string]Metadata `json:"metadata"`
	Authors      []string            `json:"authors"`
	DocumentType string              `json:"document_type"`
	Place        string              `json:"place" jsonschema:"names joined by /, as in places"`   // empty: unknown
	Language     string              `json:"language" jsonschema:"ISO 639-1, und if undetermined"` // empty: unknown
	Selected     bool                `json:"selected" jsonschema:"false if the selection did not keep the result"`
	Origin       string              `json:"origin" jsonschema:"profile of the result, for --profile"`
	// Empty without one.
	Lines       []int          `json:"lines" jsonschema:"first and last line in the source file"`
	Bytes       []int          `json:"bytes" jsonschema:"half-open range of bytes in the source file"` // likewise
	AlsoIn      []DocumentCopy `json:"also_in" jsonschema:"matching documents with the same text"`
	AlsoInCount int            `json:"also_in_count" jsonschema:"how many there are"`
	Matches     bool           `json:"matches" jsonschema:"false if the document is not one of total_matches"`
	Missing     []string       `json:"missing" jsonschema:"words of the query that the document lacks"`
	FoundBy     string         `json:"found_by" jsonschema:"meaning or model, if the document does not match"`
	Newer       *NewerDocument `json:"newer" jsonschema:"the latest version, if this is an older one"`
	Ranks       map[string]int `json:"ranks,omitzero" jsonschema:"rank in each query's results"` // with explain only
	// Partial reports that the document matches without Missing, which are words of a short query. Clients set it.
	Partial bool `json:"-"`
	// Secondary is how many of the last Authors are secondary owners.
	Secondary int `json:"-"`
}

// SandboxResponse is the answer of POST /build/sandbox/search; its results are of SandboxResult.
type SandboxResponse struct {
	Results         []json.RawMessage `json:"results"`
	LLMFacingText   string            `json:"llm_facing_text"` // Markdown
	CitationMapping map[string]string `json:"citation_mapping"`
}

// What finds documents that do not match.
const (
	FoundByMeaning = "meaning"
	FoundByModel   = "model"
)

// Matched says which documents match: those with all words of the query that count, most or any, whichever first has a
// document. All is how many of them have all words.
type Matched struct {
	Level     string `json:"level" jsonschema:"all, most or any of the words; empty without words"`
	Documents int    `json:"documents"`
	All       int    `json:"all"`
}

// Counted reports whether totals, facets and what matches are of one set of documents. Servers without FeatureResultSet
// count what they list beside that.
func (r *SearchResponse) Counted() bool { return r.Matched != Matched{} || r.TotalMatches == 0 }

// HasElsewhere reports whether a document has a word that a result lacks; of one that none has a note says so.
func (r *SearchResponse) HasElsewhere(word string) bool {
	return !slices.ContainsFunc(r.Notes, func(n Note) bool {
		return n.Code == NoteWordMissing && strings.Contains(n.Text, "“"+word)
	})
}

// Next returns the offset of the page behind one that begins at an offset.
func (r *SearchResponse) Next(offset int) int {
	seen := map[string]bool{}
	for _, result := range r.Results {
		if result.Matches && !seen[result.DocumentID] {
			seen[result.DocumentID] = true
			offset += 1 + result.AlsoInCount
		}
	}
	return offset
}

// DocumentCopy is a document with the text of another one that is not a result of its own.
type DocumentCopy struct {
	DocumentID string  `json:"document_id"`
	Title      string  `json:"title"`
	Link       *string `json:"link"`
	SourceType string  `json:"source_type"`
}

// NewerDocument is the latest version of a document.
type NewerDocument struct {
	DocumentID string  `json:"document_id"`
	Title      string  `json:"title"`
	UpdatedAt  *string `json:"updated_at"` // ISO 8601 with offset
}

// Span is a half-open range [start, end) of bytes.
type Span [2]int

// QueryExpansion has the queries that a model added to the question.
type QueryExpansion struct {
	SemanticQueries []string `json:"semantic_queries"`
	KeywordQueries  []string `json:"keyword_queries"`
}

// ExecutedQuery is one query that ran, with its weight in the fusion.
type ExecutedQuery struct {
	Query  string  `json:"query"`
	Kind   string  `json:"kind" jsonschema:"original, semantic or keyword"`
	Weight float64 `json:"weight" jsonschema:"in the fusion of the rankings"`
}

// AppliedFilter is a filter that was applied, and who set it.
type AppliedFilter struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	SetBy   string `json:"set_by" jsonschema:"user, agent or model"`
	Negated bool   `json:"negated,omitempty" jsonschema:"excludes documents with the value"`
}

// Facets count the matching documents by the values of their fields. The counts of a field ignore the filters
// on that field.
type Facets struct {
	Sources      []FacetValue `json:"sources"`
	Authors      []FacetValue `json:"authors"`
	Types        []FacetValue `json:"types"`
	DocumentSets []FacetValue `json:"document_sets"`
	Languages    []FacetValue `json:"languages"`
	Places       []FacetValue `json:"places" jsonschema:"of one level"`
	Tags         []FacetTag   `json:"tags"`
	Months       []FacetMonth `json:"months" jsonschema:"of the last update, ascending"`
	Undated      int          `json:"undated" jsonschema:"documents without a date"`
}

// FacetValue is a value of a field and the number of matching documents that have it.
type FacetValue struct {
	Value string `json:"value"`
	Count int    `json:"count" jsonschema:"matching documents"`
}

// FacetTag is a tag and the number of matching documents that have it.
type FacetTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Count int    `json:"count"`
}

// FacetMonth is a month ("2026-03", UTC) and the number of matching documents last updated in it.
type FacetMonth struct {
	Month string `json:"month"`
	Count int    `json:"count"`
}

// Stage reports one stage of the pipeline: understand, retrieve, fuse, select, expand, cite.
type Stage struct {
	Name    string  `json:"name" jsonschema:"understand, retrieve, fuse, select, expand or cite"`
	MS      float64 `json:"ms"`
	Outcome string  `json:"outcome" jsonschema:"ok, skipped, failed or timeout"`
	Detail  string  `json:"detail"`
}

// The outcomes of a stage.
const (
	OutcomeOK      = "ok"
	OutcomeSkipped = "skipped"
	OutcomeFailed  = "failed"
	OutcomeTimeout = "timeout"
)

// Note informs the caller about the search.
type Note struct {
	Code string `json:"code" jsonschema:"such as no_model, filter_ignored or typo_corrected; docs/json.md has all"`
	Text string `json:"text"`
}

// The codes of notes.
const (
	NoteNoModel       = "no_model"
	NoteStageFailed   = "stage_failed"
	NoteStageTimeout  = "stage_timeout"
	NoteSourceFailed  = "source_failed"
	NoteSourceEmpty   = "source_empty"
	NoteFilterIgnored = "filter_ignored"
	NoteTypoCorrected = "typo_corrected"
	NoteWordMissing   = "word_missing" // words of the query are in no document
	// The last word is not one of the library's, and was searched for as a prefix.
	NotePrefixKept = "prefix_kept"
	NoteEstimated  = "counts_estimated" // totals and facets are lower bounds
	NoteBehind     = "index_behind"     // more changes are not indexed than a search reads
	NoteDamaged    = "damaged"          // stored data could not be read, so the answer is incomplete
)

// SearchEvent is one line of a streamed search. Type is stage, provisional, final or error; final or error comes last,
// exactly once.
type SearchEvent struct {
	Type string `json:"type"`

	Name    string  `json:"name,omitempty"`
	State   string  `json:"state,omitempty"` // start, end
	MS      float64 `json:"ms,omitempty"`
	Outcome string  `json:"outcome,omitempty"`

	Response *SearchResponse `json:"response,omitempty"`

	ErrorCode string `json:"error_code,omitempty"`
	Detail    string `json:"detail,omitempty"` // of a stage or an error
}

// The types of search events.
const (
	EventStage       = "stage"
	EventProvisional = "provisional"
	EventFinal       = "final"
	EventError       = "error"
)

// Media types of the API.
const (
	MediaTypeJSON   = "application/json"
	MediaTypeNDJSON = "application/x-ndjson"
	MediaTypeEvents = "text/event-stream" // of a chat, whose lines are those of NDJSON
)

// OrderSpans returns the parts of spans that lie within a text, widened to whole characters, sorted, and merged where
// they touch or overlap.
func OrderSpans(text string, spans []Span) []Span {
	ordered := make([]Span, 0, len(spans))
	for _, span := range spans {
		from, to := max(0, span[0]), min(span[1], len(text))
		if from >= to {
			continue
		}
		from, _ = characterAround(text, from)
		_, to = characterAround(text, to)
		ordered = append(ordered, Span{from, to})
	}
	slices.SortFunc(ordered, func(a, b Span) int { return a[0] - b[0] })
	return merge(ordered)
}

// characterAround returns the bounds of the character that an offset cuts, or the offset twice if it cuts none. Bytes
// that are not valid UTF-8 are characters of their own.
func characterAround(text string, at int) (from, to int) {
	for from = at - 1; from >= max(0, at-utf8.UTFMax+1); from-- {
		if utf8.RuneStart(text[from]) {
			if _, width := utf8.DecodeRuneInString(text[from:]); from+width > at {
				return from, from + width
			}
			break
		}
	}
	return at, at
}

// merge joins sorted spans that touch or overlap, in place.
func merge(spans []Span) []Span {
	kept := spans[:0]
	for _, span := range spans {
		if last := len(kept) - 1; last >= 0 && span[0] <= kept[last][1] {
			kept[last][1] = max(kept[last][1], span[1])
			continue
		}
		kept = append(kept, span)
	}
	return kept
}

// SpanMover moves spans of a text while the text is edited from its beginning to its end. The zero value has none.
type SpanMover struct {
	spans []Span // ordered
	at    int    // the first one that does not end before the edit
	begun bool   // its beginning was passed
	from  int    // where that is in the edited text
	moved []Span
}

// NewSpanMover takes spans in any order; they may overlap or lie outside of the text.
func NewSpanMover(text string, spans []Span) *SpanMover {
	return &SpanMover{spans: OrderSpans(text, spans), moved: make([]Span, 0, len(spans))}
}

// Replace notes that the bytes [from, to) of the text became the bytes [newFrom, newTo). A span that has a part of them
// has all of them, which keeps whole characters.
func (m *SpanMover) Replace(from, to, newFrom, newTo int) {
	for m.at < len(m.spans) && m.spans[m.at][0] < to {
		if !m.begun {
			m.begun, m.from = true, newFrom
		}
		if m.spans[m.at][1] > to {
			return
		}
		m.end(newTo)
	}
}

// Keep notes that the bytes [from, to) of the text are unchanged and begin at newFrom.
func (m *SpanMover) Keep(from, to, newFrom int) {
	for m.at < len(m.spans) && m.spans[m.at][0] < to {
		span := m.spans[m.at]
		if !m.begun {
			m.begun, m.from = true, newFrom+span[0]-from
		}
		if span[1] > to {
			return
		}
		m.end(newFrom + span[1] - from)
	}
}

// end ends the span that the edit has reached.
func (m *SpanMover) end(to int) {
	if m.from < to {
		m.moved = append(m.moved, Span{m.from, to})
	}
	m.at, m.begun = m.at+1, false
}

// Spans returns the spans of the edited text, ordered.
func (m *SpanMover) Spans() []Span { return merge(m.moved) }
