package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
)

// Federated is another search that runs beside ours, with its own permissions. It is safe for concurrent use.
type Federated interface {
	// Name labels the results.
	Name() string
	// Sources returns the sources it may have; nil if unknown: then it is always searched.
	Sources(ctx context.Context) []string
	// Timeout bounds a search; 0: as for a call of a model.
	Timeout() time.Duration
	// Search answers a request and applies its filters; its notes list those that it cannot apply. The request names
	// neither an agent nor a model. It returns ErrOutOfScope if no result is possible.
	Search(ctx context.Context, request wire.SearchRequest) (*wire.SearchResponse, error)
}

// ErrOutOfScope is returned by a federated source that cannot have a matching result.
var ErrOutOfScope = errors.New("nothing in scope")

// federatedWeight is the weight of a federated list in the fusion (Onyx: ORIGINAL_QUERY_WEIGHT).
const federatedWeight = 0.5

// Bounds of what a federated source may add. Clients bound the answers of this server, too.
const (
	maxRemotePassages = defaultSections
	maxRemoteContent  = 64 << 10 // bytes of one passage
	maxRemoteBytes    = 8 << 20  // of all sources together, including metadata
)

// chunkTokens is the size of a chunk, for passages without our chunks.
const chunkTokens = 512

// remotePassage is a passage of a federated source. Document ids and chunk numbers are the source's own.
type remotePassage struct {
	wire.SearchResult
	source string
}

// document identifies the document within the source. A bare Onyx sends no ids, but citation numbers.
func (p *remotePassage) document() documentKey {
	key := documentKey{origin: p.source, id: p.DocumentID}
	switch {
	case key.id != "":
	case p.CitationID != nil:
		key.id = fmt.Sprintf("citation %d", *p.CitationID)
	case p.Link != nil:
		key.id = *p.Link
	default:
		key.id = p.Title
	}
	return key
}

// chunks estimates the number of chunks it would fill.
func (p *remotePassage) chunks() int {
	return max(1, (text.EstimateTokens(p.Content)+chunkTokens-1)/chunkTokens)
}

// documentKey identifies a document of any source.
type documentKey struct {
	origin string // empty: ours
	id     string
}

// remoteList is the result of a federated source, best first.
type remoteList []*remotePassage

// federatedReply is the outcome of a federated search.
type federatedReply struct {
	response *wire.SearchResponse
	err      error
}

// retrieveAll searches the federated sources and this library at the same time. Streaming clients get the results of
// this library first.
func (r *run) retrieveAll() (skipped string) {
	sources := r.federated()
	if len(sources) == 0 {
		r.retrieve()
		return ""
	}
	calling, cancel := context.WithCancel(r.ctx)
	defer cancel()
	replies := make([]federatedReply, len(sources))
	calls, _ := guard.NewGroup(r.ctx)
	request := r.federatedRequest()
	for i, source := range sources {
		deadline := r.deadline(source.Timeout())
		calls.Run(func() {
			ask := func(ctx context.Context) (*wire.SearchResponse, error) { return askFederated(ctx, source, request) }
			replies[i].response, replies[i].err = guard.Within(calling, deadline, ask)
		})
	}
	r.retrieve()
	if r.early == nil || r.narrowed() {
		r.provisional(sectionsOf(fuse(r.rankings()), r.wanted()))
	}
	guard.Check(calls.Wait())
	guard.Check(r.ctx.Err())
	for i, source := range sources {
		r.stage.Detail += "; " + r.mergeReply(source.Name(), replies[i], maxRemoteBytes/len(sources))
	}
	return ""
}

// federated returns the sources to search. An agent's scope only exists in this library.
func (r *run) federated() []Federated {
	if r.Search.Instant || len(r.Federated) == 0 {
		return nil
	}
	why := ""
	switch {
	case r.Agent != nil:
		why = "the agent belongs to this library"
	case r.Search.WithoutModel():
		why = "lists and similar passages are of this library"
	default:
		return r.Federated
	}
	for _, source := range r.Federated {
		r.note(wire.NoteFilterIgnored, "%s was not searched: %s", source.Name(), why)
	}
	return nil
}

// federatedRequest returns the question with its filters, for another server.
func (r *run) federatedRequest() wire.SearchRequest {
	request := r.Search
	request.Stream, request.Explain, request.PersonaID, request.Provider, request.Model = false, false, nil, nil, nil
	request.Sources = r.filter.Any[field.Source]
	r.restorePlaces(&request)
	request.TimeCutoff, request.TimeCutoffDays, request.TimeUntil = nil, nil, nil
	if !r.filter.Since.IsZero() {
		request.TimeCutoff = &wire.Time{Time: r.filter.Since}
	}
	if !r.filter.Until.IsZero() {
		request.TimeUntil = &wire.Time{Time: r.filter.Until}
	}
	return request
}

// askFederated searches a source unless it has nothing in scope.
func askFederated(ctx context.Context, source Federated, request wire.SearchRequest) (*wire.SearchResponse, error) {
	if len(request.Sources) > 0 && outOfScope(source.Sources(ctx), request.Sources) {
		return nil, ErrOutOfScope
	}
	response, err := source.Search(ctx, request)
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(err, ErrOutOfScope):
		return nil, ctx.Err()
	case err == nil && response == nil:
		return nil, errors.New("empty answer")
	}
	return response, err
}

// outOfScope reports whether none of the requested sources can be available.
func outOfScope(there, asked []string) bool {
	return there != nil && !slices.ContainsFunc(asked, func(s string) bool { return slices.Contains(there, s) })
}

// mergeReply adds the results of a source, or a note that they are missing, and returns the detail for the stage.
func (r *run) mergeReply(name string, reply federatedReply, most int) string {
	if errors.Is(reply.err, ErrOutOfScope) {
		return name + ": not in scope"
	}
	r.response.Searched = append(r.response.Searched, name)
	if reply.err != nil {
		if r.Log != nil {
			r.Log.WarnContext(r.ctx, "federated search failed", "source", name, guard.Attr(reply.err))
		}
		if errors.Is(reply.err, context.DeadlineExceeded) {
			r.note(wire.NoteSourceFailed, "%s did not answer in time: its results are missing", name)
			return name + ": no answer in time"
		}
		r.note(wire.NoteSourceFailed, "%s could not be searched%s: its results are missing", name,
			r.reason(" (", reply.err, ")"))
		return name + ": failed"
	}
	for _, n := range reply.response.Notes {
		if n.Code == wire.NoteFilterIgnored || n.Code == wire.NoteSourceFailed {
			r.note(n.Code, "%s: %s", name, n.Text)
		}
	}
	list, left := boundPassages(name, reply.response.Results, &r.filter, most)
	if left > 0 {
		r.note(wire.NoteSourceFailed, "%s sent too many results: %d passages are missing", name, left)
	}
	r.remote = append(r.remote, list)
	return name + ": " + text.Count(len(list), "passage")
}

// boundPassages returns the passages in scope that fit into most bytes; left counts those that do not.
func boundPassages(name string, results []wire.SearchResult, within *index.Filter,
	most int) (list remoteList, left int) {
	for _, result := range results {
		if any := within.Any[field.Source]; len(any) > 0 && !slices.Contains(any, result.SourceType) ||
			slices.Contains(within.None[field.Source], result.SourceType) {
			continue
		}
		passage := &remotePassage{SearchResult: bounded(result), source: name}
		size := passage.bytes()
		if len(list) == maxRemotePassages || size > most {
			left++
			continue
		}
		most -= size
		list = append(list, passage)
	}
	return list, left
}

// bounded cuts a passage's content, and drops ranges beyond its end.
func bounded(result wire.SearchResult) wire.SearchResult {
	if len(result.Content) > maxRemoteContent {
		result.Content = strings.ToValidUTF8(result.Content[:maxRemoteContent], "")
	}
	inside := func(s wire.Span) bool { return 0 <= s[0] && s[0] <= s[1] && s[1] <= len(result.Content) }
	result.Highlights = slices.DeleteFunc(slices.Clone(result.Highlights), func(s wire.Span) bool { return !inside(s) })
	if !inside(result.BestPassage) {
		result.BestPassage = wire.Span{}
	}
	result.AlsoIn = result.AlsoIn[:min(len(result.AlsoIn), maxCopies)]
	return result
}

// bytes returns the size of a passage in the answer.
func (p *remotePassage) bytes() int {
	data, _ := json.Marshal(&p.SearchResult) // strings and numbers always encode
	return len(data)
}

// withRemote adds the passages of federated sources to a fused ranking, by the same formula. They are never merged with
// our chunks or with each other, whatever their ids.
func withRemote(ranked []fusedChunk, lists []remoteList) []fusedChunk {
	all := slices.Clone(ranked)
	for l, list := range lists {
		for i, p := range list {
			rank := i + 1
			all = append(all, fusedChunk{
				chunkID: chunkID{p.DocumentID, p.ChunkInd}, remote: p, fused: federatedWeight / float64(rrfK+rank),
				score: p.Score, weight: federatedWeight, firstAt: rank, firstIn: l,
			})
		}
	}
	slices.SortStableFunc(all, func(a, b fusedChunk) int { return cmp.Compare(b.fused, a.fused) })
	return all
}

// fusedSections returns the sections of all results in fused order.
func (r *run) fusedSections() []section {
	lists := r.rankings()
	ranked := r.inOrder(lists)
	page := r.page(ranked)
	r.paged = page
	if r.Search.Lists() {
		return page
	}
	if r.skipReason(r.Search.SkipDocumentSelection) != "" { // else a model selects among more
		ranked = onPage(ranked, page)
	}
	if len(r.remote) == 0 {
		return sectionsOf(ranked, r.wanted())
	}
	all := withRemote(ranked, r.remote)
	return ensureShares(sectionsOf(all, r.wanted()), all, min(r.wanted(), maxSelected),
		federatedShare(lists, r.remote))
}

// onPage returns the passages of a page's documents that score as high as the best of each, or among the first
// defaultSections of all where that is lower: passages behind those would only lengthen sections by what matches less.
func onPage(ranked []fusedChunk, page []section) (kept []fusedChunk) {
	met, missing := map[string]bool{}, len(page)
	for _, s := range page {
		met[s.document] = false
	}
	byScore := make([]int, len(ranked))
	for i := range byScore {
		byScore[i] = i
	}
	slices.SortStableFunc(byScore, func(i, j int) int { return cmp.Compare(ranked[j].fused, ranked[i].fused) })
	var good []int
	for rank, i := range byScore {
		if missing == 0 && rank >= defaultSections {
			break
		}
		document := ranked[i].document
		if before, shown := met[document]; shown {
			good, met[document] = append(good, i), true
			if !before {
				missing--
			}
		}
	}
	slices.Sort(good)
	for _, i := range good {
		kept = append(kept, ranked[i])
	}
	return kept
}

// federatedShare returns the share of one federated list in the total weight of all non-empty lists.
func federatedShare(ours []rankedList, remote []remoteList) float64 {
	whole := 0.0
	for _, list := range ours {
		if len(list.hits) > 0 {
			whole += list.weight
		}
	}
	for _, list := range remote {
		if len(list) > 0 {
			whole += federatedWeight
		}
	}
	if whole == 0 {
		return 0
	}
	return federatedWeight / whole
}

// ensureShares gives each federated source its share of the first places, by its weight: by rank alone, a hundred
// passages of the library would leave no place to a list of less than half its weight. Lifted passages come last among
// the first places and take at most half of them.
func ensureShares(sections []section, ranked []fusedChunk, places int, share float64) []section {
	if len(sections) <= places {
		return sections
	}
	due := int(share*float64(places)) + 1
	first, has, in := sections[:places], map[string]int{}, map[*remotePassage]bool{}
	for _, s := range first {
		if p := s.center.remote; p != nil {
			has[p.source]++
			in[p] = true
		}
	}
	var lifted []section
	for _, c := range ranked {
		if p := c.remote; p != nil && !in[p] && has[p.source] < due && len(in) < places/2 {
			has[p.source]++
			in[p] = true
			lifted = append(lifted, sectionOf(c, 0))
		}
	}
	stay := places - len(in) // places left for our sections
	var head, moved []section
	for _, s := range first {
		if s.center.remote == nil {
			if stay--; stay < 0 {
				moved = append(moved, s)
				continue
			}
		}
		head = append(head, s)
	}
	rest := slices.DeleteFunc(slices.Clone(sections[places:]), func(s section) bool { return in[s.center.remote] })
	all := slices.Concat(head, lifted, moved, rest)
	all = all[:min(len(all), len(sections))]
	for i := range all {
		all[i].rank = i
	}
	return all
}

// remoteResult returns a passage of a federated source as a result. If its server highlighted nothing, the words of the
// question are highlighted here.
func (r *run) remoteResult(s section, citation int) wire.SearchResult {
	p := s.center.remote
	result := p.SearchResult
	result.CitationID, result.Origin, result.Selected, result.Ranks = &citation, p.source, s.selected, nil
	result.Matches = false // of no total of this library
	if len(result.Highlights) == 0 && r.answer().Highlighter != nil {
		result.Highlights, result.BestPassage = r.highlight(result.Content, index.InLanguage(result.Language),
			wire.Span{0, len(result.Content)})
	}
	if result.Blurb == "" {
		result.Blurb = blurb(result.Content)
	}
	if r.Search.Explain {
		result.Ranks = map[string]int{r.Search.Query: s.center.firstAt}
	}
	wire.FillEmpty(&result)
	return result
}

// describeRemote is describe for a federated passage.
func describeRemote(p *remotePassage) wire.SearchResult {
	shown := wire.SearchResult{
		Title:      text.ClipTokens(oneLine(p.Title), titleTokens),
		SourceType: text.ClipTokens(oneLine(p.SourceType), titleTokens),
		Content:    text.ClipTokens(p.Content, passageTokens),
	}
	if p.UpdatedAt != nil && len(*p.UpdatedAt) <= len(time.RFC3339Nano) {
		shown.UpdatedAt = p.UpdatedAt
	}
	return shown
}
