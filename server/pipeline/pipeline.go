// Package pipeline turns a search request into cited passages. Its stages are understand, retrieve, fuse, select,
// expand and cite. Stages that need a model are skipped without one.
package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/llm"
)

// run is the state of one search. Its methods abort the stage at hand with their error, see guard.Abort.
type run struct {
	Request
	ctx      context.Context
	snapshot index.Snapshot
	emit     func(wire.SearchEvent)
	filter   index.Filter
	places   [2][]string // asked for and excluded, as they were written; those of the request are what they mean
	limit    inferred    // inferred by the model
	response *wire.SearchResponse
	stage    wire.Stage // that runs

	weights         weights
	queries         []wire.ExecutedQuery
	question        int                 // index of the question in queries
	early           *index.Result       // result of the question before the model answered
	found           []index.Result      // by query
	questionVectors <-chan vectorAnswer // nil: not requested
	near            [][]index.Hit       // by query; empty without vectors
	mixed           []mixed             // by query; see mixedOf
	worth           []float64           // by query: the share of its weight that counts; empty before all have run
	similar         index.Vector        // of the passage that others shall be like; no values without one
	embedding       llm.Usage           // of the embedding model
	remote          []remoteList        // one for each federated source that answered
	sections        []section           // in fused order
	paged           []section           // one of each document of the page
	chosen, rest    []section
	final           []section
	described       map[string]*index.Stored // by id; nil: removed meanwhile, or not visible to the caller
	standings       map[string]standing      // of the documents that are ranked
	numbers         map[string]int           // of the documents of a list: the same on every page
	same            map[string][]string      // the matching documents with the text of one, itself too
	copies          map[string][]string      // likewise without itself, of those that are listed
	newer           map[string]string        // the latest version of a superseded document
	modelIsSilent   bool                     // no response in a whole stage
}

// Run answers one search on a snapshot. It calls emit, which may be nil, at the start and end of each stage. It returns
// an error only if no answer is possible: the index failed or ctx ended.
func Run(ctx context.Context, snapshot index.Snapshot, request Request, emit func(wire.SearchEvent)) (
	_ *wire.SearchResponse, err error) {
	defer guard.End(&err)
	if emit == nil {
		emit = func(wire.SearchEvent) {}
	}
	if request.Cache == nil {
		request.Cache = NewCache()
	}
	if request.Search.WithoutModel() {
		request.Model, request.NoModelReason = nil, ""
	}
	places := [2][]string{request.Search.Filters.Places, request.Search.ExcludeFilters.Places}
	request = withPlaces(ctx, snapshot, request)
	r := &run{
		Request: request, ctx: ctx, places: places, snapshot: snapshot, emit: emit, filter: Filter(request),
		response: &wire.SearchResponse{},
		weights:  literal(), described: map[string]*index.Stored{},
	}
	guard.While("similar_to", guard.Ended(r.like))
	wire.FillEmpty(r.response)
	r.response.Searched = []string{request.Profile}
	r.response.AppliedFilters = appliedFilters(request, inferred{})
	stages := []struct {
		name string
		do   func() (skipped string)
	}{
		{"understand", r.understand},
		{"retrieve", r.retrieveAll},
		{"fuse", r.fuse},
		{"select", r.selectSections},
		{"expand", r.expand},
		{"cite", r.cite},
	}
	for _, stage := range stages {
		r.time(stage.name, stage.do)
	}
	return r.response, nil
}

// time runs a stage and records its duration and outcome. do returns why it did nothing, or "".
func (r *run) time(name string, do func() (skipped string)) {
	r.emit(wire.SearchEvent{Type: wire.EventStage, Name: name, State: "start"})
	start := time.Now()
	r.stage = wire.Stage{Name: name, Outcome: wire.OutcomeOK}
	skipped := ""
	guard.While(name, guard.Ended(func() { skipped = do() }))
	if skipped != "" {
		r.stage.Outcome, r.stage.Detail = wire.OutcomeSkipped, skipped
	}
	r.stage.MS = float64(max(1, time.Since(start).Microseconds())) / 1000 // never 0 for a finished stage
	r.response.Stages = append(r.response.Stages, r.stage)
	r.emit(wire.SearchEvent{Type: wire.EventStage, Name: name, State: "end", MS: r.stage.MS, Outcome: r.stage.Outcome,
		Detail: r.stage.Detail})
}

func (r *run) note(code, format string, args ...any) {
	r.response.Notes = append(r.response.Notes, wire.Note{Code: code, Text: fmt.Sprintf(format, args...)})
}

// retrieve runs every query with the caller's permissions and filters. The early result of the question is reused
// unless the model narrowed the search.
func (r *run) retrieve() {
	r.found = make([]index.Result, len(r.queries))
	group, within := guard.NewGroup(r.ctx)
	group.Run(func() { r.retrieveByVector(within) })
	for i, q := range r.queries {
		if i == r.question && r.early != nil && !r.narrowed() {
			r.found[i] = *r.early
			continue
		}
		group.Run(func() { r.found[i] = guard.Must(r.snapshot.Search(within, r.indexQuery(q))) })
	}
	guard.Check(group.Wait())
	r.mixed = nil // what was found at once was found by words
	r.weighRewrites()
	r.followUp()
	hits := 0
	for _, found := range r.found {
		hits += len(found.Hits)
	}
	if slices.ContainsFunc(r.found, func(found index.Result) bool { return found.Behind }) {
		r.note(wire.NoteBehind,
			"documents that were added or changed a moment ago may be missing: they are not indexed on all nodes yet")
	}
	for _, c := range r.answer().Corrections {
		r.note(wire.NoteTypoCorrected, showingInstead, c.From, c.To)
	}
	if len(r.federated()) == 0 { // others may have them
		r.noteMissing(*r.answer())
	}
	if kept := r.answer().Kept; kept != "" {
		r.note(wire.NotePrefixKept, "“%s” is not a known word: matched as a prefix", kept)
	}
	detail := text.Count(hits, "passage") + " from " + text.Count(len(r.queries), "query")
	if engine, ok := r.snapshot.(interface{ Engine() string }); ok {
		detail += " by " + engine.Engine()
	}
	r.stage.Detail = r.withVectorDetail(detail)
}

const showingInstead = "no document has “%s”; showing “%s”"

// noteMissing names the words that are in no document, and what was searched for instead of them.
func (r *run) noteMissing(found index.Result) {
	missing := slices.Clone(found.Missing)
	for _, c := range found.Instead {
		r.note(wire.NoteWordMissing, showingInstead, c.From, c.To)
		missing = slices.DeleteFunc(missing, func(word string) bool { return word == c.From })
	}
	if len(missing) > 0 {
		r.note(wire.NoteWordMissing, "no document has “%s”", strings.Join(missing, "” or “"))
	}
}

// withVectorDetail adds the results by vector to the detail of retrieve.
func (r *run) withVectorDetail(detail string) string {
	if r.questionVectors == nil {
		return detail
	}
	near := 0
	for _, hits := range r.near {
		near += len(hits)
	}
	detail += fmt.Sprintf(", %d by vector", near)
	if r.Search.Explain && r.embedding != (llm.Usage{}) {
		detail += fmt.Sprintf("; %s: %s, %s in", r.Embedder.Name(), text.Count(r.embedding.Calls, "call"),
			text.Count(r.embedding.Prompt, "token"))
	}
	return detail
}

// answer returns what was found for the question.
func (r *run) answer() *index.Result { return &r.found[r.question] }

// narrowed reports whether the model limited the search.
func (r *run) narrowed() bool { return len(r.limit.sources) > 0 || r.limit.window != window{} }

// rankings returns the lists to fuse, one for each query.
func (r *run) rankings() []rankedList {
	lists := make([]rankedList, len(r.queries))
	for i, q := range r.queries {
		weight := q.Weight
		if i < len(r.worth) {
			weight = max(weight*r.worth[i], trailingWeight)
		}
		lists[i] = rankedList{weight, r.listOf(i)}
	}
	return lists
}

// listOf returns the hits of a query by words and, after retrieve, by vector.
func (r *run) listOf(query int) []index.Hit { return r.mixedOf(query).hits }

// mixedOf also returns what speaks for each document where vectors do.
func (r *run) mixedOf(query int) mixed {
	if r.mixed == nil {
		r.mixed = make([]mixed, len(r.queries))
	}
	m := &r.mixed[query]
	if m.hits == nil {
		unrelated := -1.0
		if r.Embedder != nil && len(r.similar.Values) == 0 {
			unrelated = r.Embedder.Unrelated()
		}
		m.hits, m.documents = byScore(r.found[query].Hits, r.nearTo(query), unrelated, r.trust(r.queries[query]))
	}
	return *m
}

// wanted returns the requested number of sections.
func (r *run) wanted() int {
	if n := r.Search.NumResults; n != nil {
		return *n
	}
	return maxSelected
}

func (r *run) indexQuery(q wire.ExecutedQuery) index.Query {
	scope := scopeOf(r.Request)
	scope.NoDocuments = r.filter.NoDocuments
	query := index.Query{
		Text: q.Query, Filter: r.filter, Scope: scope, Limit: hitsPerQuery, PerDocument: hitsPerDocument,
		Exclude: r.Search.Exclude, Phrases: r.Search.Phrases, Explain: r.Search.Explain,
	}
	if q.Kind == kindOriginal {
		query.Text = Words(r.Search)
		if endsInWord(r.Search) {
			query.Prefix, query.PrefixIfUnknown = r.Search.Instant && !r.Search.Prefix, r.Search.Prefix
		}
	}
	query.Count = q.Kind == kindOriginal || q.Kind == kindSemantic && len(earlierTurns(r.Search)) > 0
	if r.inTime() {
		query.List = &index.List{
			Offset: r.offset(), Documents: r.wanted(), Order: listOrder(r.Search), Browse: r.Search.Browse,
		}
	}
	return query
}

// inTime reports whether the answer is a list of documents in an order of time, or of all of them.
func (r *run) inTime() bool { return r.Search.Browse || listOrder(r.Search) != index.ByScore }

// offset returns the number of documents before the first result.
func (r *run) offset() int {
	if n := r.Search.Offset; n != nil {
		return *n
	}
	return 0
}

func listOrder(s wire.SearchRequest) index.Order {
	switch {
	case s.Sort == wire.SortOldest:
		return index.Oldest
	case s.Sort == wire.SortNewest || s.Browse && s.Sort == "":
		return index.Newest
	}
	return index.ByScore
}

// fuse merges the results of the queries into one ranking, and sends it to streaming clients if it is new.
func (r *run) fuse() (skipped string) {
	if r.inTime() {
		r.judge()
		hits := r.foldedList()
		r.sections = listedSections(hits)
		r.findNewer(fuse([]rankedList{{1, hits}}))
		return "one list"
	}
	r.sections = r.fusedSections()
	if r.early == nil || r.narrowed() || len(r.queries) > 1 || len(r.remote)+len(r.near) > 0 {
		r.provisional(r.sections)
	}
	r.stage.Detail = r.withWorth(text.Count(len(r.sections), "section") + ", weights " + r.weights.name)
	if len(r.copies) > 0 {
		r.stage.Detail += fmt.Sprintf(", %s with copies elsewhere", text.Count(len(r.copies), "document"))
	}
	if len(r.newer) > 0 {
		r.stage.Detail += fmt.Sprintf(", %s with a newer version", text.Count(len(r.newer), "document"))
	}
	return ""
}

// count fills in totals and facets: of the documents of this library that match.
func (r *run) count(ctx context.Context, response *wire.SearchResponse) {
	found := *r.answer()
	if found.Matched == nil {
		return
	}
	counts, err := found.Matched.Count(ctx)
	guard.While("count what matched", err)
	response.TotalMatches = counts.Documents
	if !r.inTime() {
		found.Level = max(found.Level, index.LevelAny)
	}
	response.Matched = wire.Matched{Level: found.Level.String(), Documents: counts.Documents, All: found.All}
	if counts.Estimated {
		r.note(wire.NoteEstimated, "too many documents match to count them all: totals and facets are lower bounds")
	}
	response.Facets = WireFacets(counts, r.Search.FacetPlace)
}

// Facets counts the documents that the filters of a request leave: those that browsing lists.
func Facets(ctx context.Context, snapshot index.Snapshot, request Request) (_ index.Counts, err error) {
	defer guard.End(&err)
	request = withPlaces(ctx, snapshot, request)
	found := guard.Must(snapshot.Search(ctx, index.Query{Filter: Filter(request), Scope: scopeOf(request), Count: true,
		List: &index.List{Order: index.Newest, Browse: true}}))
	return found.Matched.Count(ctx)
}

// noteEmptySources adds a note for each requested source without documents that the caller may see.
func (r *run) noteEmptySources() {
	if len(r.response.Results) > 0 || len(r.Search.Sources) == 0 {
		return
	}
	counts, err := r.snapshot.Facets(r.ctx, index.Filter{Access: r.Access})
	guard.While("list the sources", err)
	for _, s := range r.Search.Sources {
		if !slices.ContainsFunc(counts.Values[field.Source], func(v index.ValueCount) bool { return v.Value == s }) {
			r.note(wire.NoteSourceEmpty, "no accessible documents from %s", s)
		}
	}
}

// WireFacets converts counts to their wire form, without the least frequent values beyond 1,000 per facet. Places are
// those of one level: see wire.SearchRequest.FacetPlace.
func WireFacets(c index.Counts, place string) wire.Facets {
	f := wire.Facets{Undated: c.Undated}
	c.Values[field.Place] = placeLevel(c.Values[field.Place], place)
	for id := range field.N {
		values, list := c.Values[id], field.Of(id).Counts(&f)
		for _, v := range values[:min(len(values), wire.MaxFacetValues)] {
			list.Put(v.Value, v.Count)
		}
	}
	for _, m := range c.Months[max(0, len(c.Months)-wire.MaxFacetValues):] {
		f.Months = append(f.Months, wire.FacetMonth{Month: m.Value, Count: m.Count})
	}
	wire.FillEmpty(&f)
	return f
}

// blurbRunes is about 128 tokens, the length of Onyx's blurbs.
const blurbRunes = 400

func blurb(passage string) string {
	var line strings.Builder
	line.Grow(blurbRunes + len("…"))
	runes := 0
	for word := range strings.FieldsSeq(strings.ToValidUTF8(text.Clip(passage, 16*blurbRunes), "")) {
		if runes > 0 {
			line.WriteByte(' ')
			runes++
		}
		line.WriteString(word)
		if runes += utf8.RuneCountInString(word); runes > blurbRunes {
			break
		}
	}
	whole := line.String()
	short := text.Shorten(whole, blurbRunes)
	if space := strings.LastIndexByte(short, ' '); short != whole && space > blurbRunes/2 {
		return short[:space] + "…"
	}
	return short
}
