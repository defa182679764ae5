package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
)

// Federated is somebody else's search that is asked while ours runs, under its own rights. It is safe for concurrent
// use.
type Federated interface {
	// Name is what its results are labelled with.
	Name() string
	// Sources are those that it may hold; nil: not known, so that it is asked whatever the search is limited to.
	Sources(ctx context.Context) []string
	// Patience is how long it may take; 0: as long as a call of a model.
	Timeout() time.Duration
	// Search answers a request whose filters it applies itself; what it could not apply it says in its notes. The request
	// names neither an agent nor a model. ErrOutOfScope tells that nothing it has can be meant.
	Search(ctx context.Context, request wire.SearchRequest) (*wire.SearchResponse, error)
}

// ErrOutOfScope is the answer of a federated source that holds nothing of the kind that is asked for.
var ErrOutOfScope = errors.New("nothing there is in scope")

// federatedWeight is that of a federated list in the fusion (Onyx: ORIGINAL_QUERY_WEIGHT).
const federatedWeight = 0.5

// What is taken of a federated source at most. Answers of this server are read by clients that bound them, too.
const (
	maxRemotePassages = defaultSections
	maxRemoteContent  = 64 << 10 // bytes of one passage
	maxRemoteBytes    = 8 << 20  // of all sources together, content and the rest
)

// chunkTokens is the length of a chunk, for the size of passages whose chunks are not ours.
const chunkTokens = 512

// remotePassage is a passage of a federated source. Its document's id and its chunk's number mean something there only.
type remotePassage struct {
	wire.SearchResult
	source string
}

// document tells the documents of a source apart. A bare Onyx tells no ids, but numbers documents in its citations.
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

// chunks is about how many of our chunks it would fill.
func (p *remotePassage) chunks() int {
	return max(1, (text.EstimateTokens(p.Content)+chunkTokens-1)/chunkTokens)
}

// documentKey names a document whatever it came from.
type documentKey struct {
	origin string // empty: ours
	id     string
}

// remoteList is what a federated source found, best first.
type remoteList []*remotePassage

// replied is how a federated source ended.
type federatedReply struct {
	response *wire.SearchResponse
	err      error
}

// retrieveEverywhere asks the federated sources while the documents here are searched. Whoever reads along gets what is
// found here first.
func (r *run) retrieveAll(ctx context.Context) (string, string, error) {
	sources := r.federated()
	if len(sources) == 0 {
		return r.retrieve(ctx)
	}
	questionVectors, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := make([]federatedReply, len(sources))
	var calls sync.WaitGroup
	request := r.federatedRequest()
	for i, source := range sources {
		deadline := r.timeoutOf(ctx, source)
		calls.Go(guard.Func(func() {
			replies[i].response, replies[i].err = guard.Within(questionVectors, deadline, func(ctx context.Context) (*wire.SearchResponse, error) {
				return askFederated(ctx, source, request)
			})
		}, func(err error) { replies[i].err = err }))
	}
	outcome, detail, err := r.retrieve(ctx)
	if err != nil {
		return "", "", err
	}
	if r.early == nil || r.narrowed() {
		chosen, rest := firstSections(sectionsOf(fuse(r.rankings()), r.wanted()), r.Search.NumResults)
		if err := r.provisional(ctx, arrange(chosen, rest, r.Search)); err != nil {
			return "", "", err
		}
	}
	calls.Wait()
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	for i, source := range sources {
		detail += "; " + r.mergeReply(ctx, source.Name(), replies[i], maxRemoteBytes/len(sources))
	}
	return outcome, detail, nil
}

// federated lists the sources to ask. What an agent limits a search to is known here only.
func (r *run) federated() []Federated {
	if r.Search.Instant || len(r.Federated) == 0 {
		return nil
	}
	if r.Agent != nil {
		for _, source := range r.Federated {
			r.note(wire.NoteFilterIgnored, "%s was not searched: the agent is of this library only", source.Name())
		}
		return nil
	}
	return r.Federated
}

// federatedRequest is the question with its limits, as another server understands them.
func (r *run) federatedRequest() wire.SearchRequest {
	request := r.Search
	request.Stream, request.Explain, request.PersonaID, request.Provider, request.Model = false, false, nil, nil, nil
	request.Sources = r.filter.Sources
	request.TimeCutoff, request.TimeCutoffDays, request.TimeUntil = nil, nil, nil
	if !r.filter.Since.IsZero() {
		request.TimeCutoff = &wire.Time{Time: r.filter.Since}
	}
	if !r.filter.Until.IsZero() {
		request.TimeUntil = &wire.Time{Time: r.filter.Until}
	}
	return request
}

// patience is how long a source may take, but at most half of the time that is left.
func (r *run) timeoutOf(ctx context.Context, source Federated) time.Duration {
	limit := source.Timeout()
	if limit <= 0 {
		return r.callDeadline(ctx)
	}
	if end, bounded := ctx.Deadline(); bounded {
		limit = min(limit, time.Until(end)/2)
	}
	return limit
}

// askFederated asks a source, unless it is known to have nothing in scope.
func askFederated(ctx context.Context, source Federated, request wire.SearchRequest) (*wire.SearchResponse, error) {
	if len(request.Sources) > 0 && outOfScope(source.Sources(ctx), request.Sources) {
		return nil, ErrOutOfScope
	}
	response, err := source.Search(ctx, request)
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(err, ErrOutOfScope):
		return nil, ctx.Err()
	case err == nil && response == nil:
		return nil, errors.New("it answered nothing")
	}
	return response, err
}

// outOfScope reports whether nothing of what is asked for can be among what there is.
func outOfScope(there, asked []string) bool {
	return there != nil && !slices.ContainsFunc(asked, func(s string) bool { return slices.Contains(there, s) })
}

// takeReply takes what a source found, or notes that it is missing, and says in short what came of it.
func (r *run) mergeReply(ctx context.Context, name string, reply federatedReply, most int) string {
	if errors.Is(reply.err, ErrOutOfScope) {
		return name + ": not in scope"
	}
	r.response.Searched = append(r.response.Searched, name)
	if reply.err != nil {
		if r.Log != nil {
			r.Log.WarnContext(ctx, "federated search failed", "source", name, guard.Attr(reply.err))
		}
		if errors.Is(reply.err, context.DeadlineExceeded) {
			r.note(wire.NoteSourceFailed, "%s did not answer in time: its results are missing", name)
			return name + ": no answer in time"
		}
		r.note(wire.NoteSourceFailed, "%s could not be searched%s: its results are missing", name, r.reason(" (", reply.err, ")"))
		return name + ": failed"
	}
	for _, n := range reply.response.Notes {
		if n.Code == wire.NoteFilterIgnored || n.Code == wire.NoteSourceFailed {
			r.note(n.Code, "%s: %s", name, n.Text)
		}
	}
	list, left := boundPassages(name, reply.response.Results, r.filter.Sources, most)
	if left > 0 {
		r.note(wire.NoteSourceFailed, "%s sent more than is taken of one source: %d of its passages are missing", name, left)
	}
	r.remote = append(r.remote, list)
	return name + ": " + text.Count(len(list), "passage")
}

// takePassages takes what is in scope of what a source sent, and no more than fits: at most so many bytes. left are
// those that do not fit.
func boundPassages(name string, results []wire.SearchResult, sources []string, most int) (list remoteList, left int) {
	for _, result := range results {
		if len(sources) > 0 && !slices.Contains(sources, result.SourceType) {
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

// bounded cuts a passage's content, and leaves out what pointed behind its end.
func bounded(result wire.SearchResult) wire.SearchResult {
	if len(result.Content) > maxRemoteContent {
		result.Content = strings.ToValidUTF8(result.Content[:maxRemoteContent], "")
	}
	inside := func(s wire.Span) bool { return 0 <= s[0] && s[0] <= s[1] && s[1] <= len(result.Content) }
	result.Highlights = slices.DeleteFunc(slices.Clone(result.Highlights), func(s wire.Span) bool { return !inside(s) })
	if !inside(result.BestPassage) {
		result.BestPassage = wire.Span{}
	}
	return result
}

// bytes is about how much a passage adds to an answer.
func (p *remotePassage) bytes() int {
	data, err := json.Marshal(p.SearchResult)
	if err != nil {
		return len(p.Content) // strings and finite numbers always encode
	}
	return len(data)
}

// withRemote adds the passages of federated sources to a fused ranking, by the same formula. None of them is any of our
// chunks, nor of another source, whatever its id.
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

// fusedSections are the sections of everything that was found, in their order.
func (r *run) fusedSections() []section {
	lists := r.rankings()
	ranked := fuse(lists)
	if len(r.remote) == 0 {
		return sectionsOf(ranked, r.wanted())
	}
	all := withRemote(ranked, r.remote)
	return ensureShares(sectionsOf(all, r.wanted()), all, min(r.wanted(), maxSelected), federatedShare(lists, r.remote))
}

// federatedShare is the part that one federated list has of the weight of all lists that found something.
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

// represent sees to it that each federated source has its share of the first places, which is that of its weight: by
// rank alone, a library that finds a hundred passages leaves no place to a list of less than half its weight. What is
// lifted stands at the end of the first places, and takes at most half of them.
func ensureShares(sections []section, ranked []fusedChunk, places int, share float64) []section {
	if len(sections) <= places {
		return sections
	}
	due := int(share*float64(places)) + 1
	first, remotes, has := sections[:places], 0, map[string]int{}
	in := map[*remotePassage]bool{}
	for _, s := range first {
		if p := s.center.remote; p != nil {
			remotes++
			has[p.source]++
			in[p] = true
		}
	}
	var lifted []section
	for _, c := range ranked {
		if p := c.remote; p != nil && !in[p] && has[p.source] < due && remotes < places/2 {
			remotes++
			has[p.source]++
			in[p] = true
			lifted = append(lifted, section{document: c.document, start: c.chunk, end: c.chunk, center: c})
		}
	}
	stay := places - remotes // of our sections
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

// remoteResult is a passage of a federated source in an answer of ours. Where its server marked nothing, the words of
// the question are marked here.
func (r *run) remoteResult(s section, citation int) wire.SearchResult {
	p := s.center.remote
	result := p.SearchResult
	result.CitationID, result.Origin, result.Selected, result.Ranks = &citation, p.source, s.selected, nil
	if len(result.Highlights) == 0 && r.found[r.question].Highlighter != nil {
		result.Highlights, result.BestPassage = r.highlight(result.Content)
	}
	if result.Blurb == "" {
		result.Blurb = blurb(result.Content)
	}
	if r.Search.Explain {
		result.Ranks = map[string]int{r.Search.Query: s.center.firstAt}
	}
	result.FillEmpty()
	return result
}

// describeRemote bounds what is told of a passage beside its text, as describe does.
func describeRemote(id int, p *remotePassage) shownSection {
	shown := shownSection{
		ID: id, Title: text.ClipTokens(oneLine(p.Title), titleTokens), SourceType: text.ClipTokens(oneLine(p.SourceType), titleTokens),
		Content: text.ClipTokens(p.Content, passageTokens),
	}
	if p.UpdatedAt != nil && len(*p.UpdatedAt) <= len(time.RFC3339Nano) {
		shown.UpdatedAt = p.UpdatedAt
	}
	return shown
}
