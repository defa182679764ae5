// Package pipeline turns a search request into cited passages: understand, retrieve, fuse, select, expand, cite. Each
// stage is a small pure piece; Run strings them together, times them, and lets the stages that need a model be skipped
// where there is none.
package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"quarry/client/wire"
	"quarry/server/index"
)

// questionWeight is the weight of the question as it was asked, under the weights called literal, which hold where no
// model is configured.
const questionWeight = 1.3

// The kinds of queries.
const kindOriginal = "original"

// maxFacetValues bounds each field of the facets that travel; the counts themselves are exact.
const maxFacetValues = 1000

// run carries one search through its stages.
type run struct {
	Request
	snapshot index.Snapshot
	emit     func(wire.SearchEvent)
	filter   index.Filter
	response *wire.SearchResponse

	found   []index.Result // by query
	lists   []rankedList
	ranked  []fusedChunk
	chosen  []section
	queries []wire.ExecutedQuery
}

// Run answers one search on a snapshot. It reports the start and end of each stage to emit, which may be nil, and
// returns an error only when nothing can be answered: the index failed or ctx ended.
func Run(ctx context.Context, snapshot index.Snapshot, request Request, emit func(wire.SearchEvent)) (
	*wire.SearchResponse, error) {
	if emit == nil {
		emit = func(wire.SearchEvent) {}
	}
	r := &run{Request: request, snapshot: snapshot, emit: emit, filter: Filter(request), response: emptyResponse()}
	r.response.Searched = []string{request.Profile}
	r.response.AppliedFilters = AppliedFilters(request)
	stages := []struct {
		name string
		do   func(context.Context) (outcome, detail string, err error)
	}{
		{"understand", r.understand},
		{"retrieve", r.retrieve},
		{"fuse", r.fuse},
		{"select", r.selectSections},
		{"expand", r.expand},
		{"cite", r.cite},
	}
	for _, stage := range stages {
		if err := r.time(ctx, stage.name, stage.do); err != nil {
			return nil, err
		}
	}
	return r.response, nil
}

func emptyResponse() *wire.SearchResponse {
	return &wire.SearchResponse{
		Results:         []wire.SearchResult{},
		CitationMapping: map[string]string{},
		QueryExpansion:  wire.QueryExpansion{SemanticQueries: []string{}, KeywordQueries: []string{}},
		Queries:         []wire.ExecutedQuery{},
		AppliedFilters:  []wire.AppliedFilter{},
		Facets:          WireFacets(index.Counts{}),
		Stages:          []wire.Stage{},
		Notes:           []wire.Note{},
		Searched:        []string{},
	}
}

// time runs one stage and records how long it took and how it ended.
func (r *run) time(ctx context.Context, name string, do func(context.Context) (string, string, error)) error {
	r.emit(wire.SearchEvent{Type: wire.EventStage, Name: name, State: "start"})
	start := time.Now()
	outcome, detail, err := do(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	ms := float64(max(1, time.Since(start).Microseconds())) / 1000 // a stage that ended took some time
	r.response.Stages = append(r.response.Stages, wire.Stage{Name: name, MS: ms, Outcome: outcome, Detail: detail})
	r.emit(wire.SearchEvent{
		Type: wire.EventStage, Name: name, State: "end", MS: ms, Outcome: outcome, Detail: detail,
	})
	return nil
}

func (r *run) note(code, format string, args ...any) {
	r.response.Notes = append(r.response.Notes, wire.Note{Code: code, Text: fmt.Sprintf(format, args...)})
}

// understand would add a model's queries and filters to the question.
func (r *run) understand(context.Context) (string, string, error) {
	r.queries = []wire.ExecutedQuery{{Query: r.Search.Query, Kind: kindOriginal, Weight: questionWeight}}
	r.response.Queries = r.queries
	switch {
	case r.Search.Instant:
		return wire.OutcomeSkipped, "instant search", nil
	case r.Search.SkipQueryExpansion:
		return wire.OutcomeSkipped, "asked to skip", nil
	}
	r.note(wire.NoteNoModel, "no language model is configured: the question was searched as it stands")
	return wire.OutcomeSkipped, "no model", nil
}

// retrieve runs every query under the caller's rights and filters.
func (r *run) retrieve(ctx context.Context) (string, string, error) {
	limit := hitsPerSection * max(defaultSections, r.wanted())
	r.found = make([]index.Result, len(r.queries))
	group, ctx := errgroup.WithContext(ctx)
	for i, q := range r.queries {
		group.Go(func() error {
			result, err := r.snapshot.Search(ctx, r.indexQuery(q, limit))
			r.found[i] = result
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return "", "", err
	}
	hits := 0
	for i, q := range r.queries {
		r.lists = append(r.lists, rankedList{query: q.Query, weight: q.Weight, hits: r.found[i].Hits})
		hits += len(r.found[i].Hits)
	}
	for _, c := range r.found[0].Corrections {
		r.note(wire.NoteTypoCorrected, "nothing matched “%s”; searched for “%s”", c.From, c.To)
	}
	return wire.OutcomeOK, fmt.Sprintf("%d %s from %d %s", hits, plural(hits, "passage", "passages"),
		len(r.queries), plural(len(r.queries), "query", "queries")), nil
}

// wanted is how many sections the answer should have, if there are that many.
func (r *run) wanted() int {
	if n := r.Search.NumResults; n != nil {
		return *n
	}
	return maxSelected
}

func (r *run) indexQuery(q wire.ExecutedQuery, limit int) index.Query {
	query := index.Query{
		Text: q.Query, Filter: r.filter, Limit: limit, PerDocument: hitsPerDocument, Exclude: r.Search.Exclude,
		Explain: r.Search.Explain,
	}
	if q.Kind == kindOriginal {
		query.Text = words(r.Search)
		query.Phrases = r.Search.Phrases
		query.Prefix = wantsPrefix(r.Search)
		query.Count = true
	}
	return query
}

func (r *run) fuse(ctx context.Context) (string, string, error) {
	r.ranked = fuse(r.lists)
	r.chosen = sectionsOf(r.ranked, r.wanted())
	if err := r.provisional(ctx); err != nil {
		return "", "", err
	}
	n := len(r.chosen)
	return wire.OutcomeOK, fmt.Sprintf("%d %s, weights literal", n, plural(n, "section", "sections")), nil
}

func (r *run) selectSections(context.Context) (string, string, error) {
	r.chosen = selectFirst(r.chosen, r.Search.NumResults)
	detail := "no model: the first " + fmt.Sprint(maxSelected) + " are kept"
	if r.Search.SkipDocumentSelection || r.Search.Instant {
		detail = "asked to skip"
	}
	return wire.OutcomeSkipped, detail, nil
}

// expand would add the neighbours that a model asks for; what there is of them is kept within the caller's bound.
func (r *run) expand(context.Context) (string, string, error) {
	r.chosen = onlyWanted(r.chosen, r.Search)
	return wire.OutcomeSkipped, "no model", nil
}

// onlyWanted keeps sections within the caller's bound on context, and those that were not selected only where a number
// of results was asked for.
func onlyWanted(sections []section, search wire.SearchRequest) []section {
	limit := wire.DefaultContextLimit
	if search.MaxContextChunks != nil {
		limit = *search.MaxContextChunks
	}
	bounded := boundContext(sections, limit)
	if search.NumResults == nil {
		bounded = onlySelected(bounded)
	}
	return bounded
}

func onlySelected(sections []section) []section {
	selected := sections[:0:0]
	for _, s := range sections {
		if s.selected {
			selected = append(selected, s)
		}
	}
	return selected
}

// count fills the totals and facets; what is returned is always among what is counted.
func (r *run) count(ctx context.Context, response *wire.SearchResponse, sections []section) error {
	if r.found[0].Matched == nil {
		return nil
	}
	returned := make([]string, 0, len(sections))
	for _, s := range sections {
		returned = append(returned, s.document)
	}
	counts, err := r.found[0].Matched.Count(ctx, returned)
	if err != nil {
		return fmt.Errorf("count what matched: %w", err)
	}
	response.TotalMatches = counts.Documents
	response.Facets = WireFacets(counts)
	return nil
}

// noteEmptySources tells which of the sources that were asked for hold nothing that the caller may see.
func (r *run) noteEmptySources(ctx context.Context) error {
	if len(r.response.Results) > 0 || len(r.Search.Sources) == 0 {
		return nil
	}
	counts, err := r.snapshot.Facets(ctx, index.Filter{Access: r.Access})
	if err != nil {
		return fmt.Errorf("list the sources: %w", err)
	}
	present := map[string]bool{}
	for _, v := range counts.Sources {
		present[v.Value] = true
	}
	for _, s := range r.Search.Sources {
		if !present[s] {
			r.note(wire.NoteSourceEmpty, "nothing from %s is in reach of this search", s)
		}
	}
	return nil
}

// WireFacets brings counts into the form in which they travel. The least frequent values beyond 1,000 of a field are
// left out.
func WireFacets(c index.Counts) wire.Facets {
	f := wire.Facets{
		Sources: facetValues(c.Sources), Authors: facetValues(c.Authors), Types: facetValues(c.Types),
		DocumentSets: facetValues(c.Sets), Tags: []wire.FacetTag{}, Months: []wire.FacetMonth{}, Undated: c.Undated,
	}
	for _, t := range c.Tags[:min(len(c.Tags), maxFacetValues)] {
		f.Tags = append(f.Tags, wire.FacetTag{Key: t.Key, Value: t.Value, Count: t.Count})
	}
	for _, m := range c.Months[max(0, len(c.Months)-maxFacetValues):] {
		f.Months = append(f.Months, wire.FacetMonth{Month: m.Value, Count: m.Count})
	}
	return f
}

func facetValues(counts []index.ValueCount) []wire.FacetValue {
	values := make([]wire.FacetValue, 0, min(len(counts), maxFacetValues))
	for _, v := range counts[:min(len(counts), maxFacetValues)] {
		values = append(values, wire.FacetValue{Value: v.Value, Count: v.Count})
	}
	return values
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// blurbRunes is about 128 tokens, the length of Onyx's blurbs.
const blurbRunes = 400

func blurb(text string) string {
	if longest := 16 * blurbRunes; len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= blurbRunes {
		return text
	}
	cut := string(runes[:blurbRunes])
	if space := strings.LastIndexByte(cut, ' '); space > blurbRunes/2 {
		cut = cut[:space]
	}
	return cut + "…"
}
