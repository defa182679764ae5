package weaviate

import (
	"context"
	"slices"
	"strings"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/lexical"
	"quarry/server/index/segment"
)

// maxListed bounds the documents in Stats.
const maxListed = 10

// snapshot implements index.Snapshot. It shows the documents of one state; what Weaviate has of other states is left
// out, and what it lacks is added.
type snapshot struct {
	*documents.Snapshot
	index    *Index
	class    string
	position int64            // of the class in the log
	replicas map[string]int64 // those of its replicas, by node; nil: all have what position says
	stats    segment.Stats
	hidden   int // documents
}

// Snapshot implements index.Index.
func (x *Index) Snapshot(ctx context.Context) (_ index.Snapshot, err error) {
	inner, err := x.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	s := &snapshot{Snapshot: inner, index: x}
	if err := guard.Ended(func() {
		var err error
		s.stats, s.hidden, err = inner.Words(ctx)
		guard.Check(err)
		s.class, s.position = x.searched(ctx, inner)
		s.replicas = guard.Must(inner.Followers(ctx, x.follower(s.class)+"/"))
	}); err != nil {
		inner.Close()
		return nil, err
	}
	if x.even(s.position, s.replicas) {
		s.replicas = nil
	}
	return s, nil
}

func (r *reach) searcher() *lexical.Searcher { return lexical.NewElsewhere(r.s.stats, r) }

// Search implements index.Snapshot.
func (s *snapshot) Search(ctx context.Context, query index.Query) (result index.Result, err error) {
	defer guard.End(&err)
	query = guard.Must(query.Resolve(ctx, s.resolve))
	r := s.reach(ctx, query.Filter.Access)
	r.host = hostOf(&query)
	if query.Scope != nil {
		r.floor = times(query.Scope)
	}
	if r.loadChanged(); !r.everything() {
		r.warm(&query)
	}
	query.Count = query.Count || query.List != nil
	result = guard.Must(r.searcher().Search(ctx, query))
	if r.rest && len(result.Hits) < query.List.Documents {
		s.listRest(ctx, r, query, &result)
	}
	if result.Behind = r.lost; result.Matched != nil {
		result.Matched = &matched{result.Matched, r}
	}
	return result, nil
}

// Engine names what found the passages.
func (s *snapshot) Engine() string { return "Weaviate" }

// Stats implements index.Snapshot.
func (s *snapshot) Stats(ctx context.Context) (index.Stats, error) {
	stats, err := s.Snapshot.Stats(ctx)
	stats.Engine = "weaviate " + strings.Join(s.index.client.cluster.Hosts, ",")
	if list := s.unfinished(); len(list) > 0 {
		stats.Engine += " (" + strings.Join(list, ", ") + ")"
	}
	if s.class != className(s.State.Model) {
		stats.Engine += " (words only, while the collection of " + s.State.Model + " is filled)"
	}
	if err != nil {
		return stats, err
	}
	stats.UnindexedFirst, stats.Unindexed, err = s.Refused(ctx, s.index.follower(s.class), maxListed)
	return stats, err
}

// matched counts what was fetched, and says whether that is all.
type matched struct {
	index.Matched // where documents that were not read are not known to match
	reach         *reach
}

// Count implements index.Matched.
func (m *matched) Count(ctx context.Context) (counts index.Counts, err error) {
	defer guard.End(&err)
	r := m.reach.s.reach(ctx, m.reach.access)
	r.changed = m.reach.changed
	if m.reach.incomplete && m.reach.listed.exact && m.reach.listed.List != nil {
		counts = r.aggregate(&m.reach.listed.Filter, m.reach.listed.filter...)
		counts.Estimated = len(r.changed) > 0 // they are not counted
		return counts, nil
	}
	estimated := m.reach.incomplete || m.reach.behind
	var unread []string
	if estimated && m.reach.listed.exact && len(r.changed) == 0 && m.reach.total <= maxCounted {
		r.listed = m.reach.listed
		matching, complete := r.matching()
		unread, estimated = matching, !complete || len(r.changed) > 0
	}
	more := r.parts(slices.DeleteFunc(unread, func(id string) bool { return m.reach.fetched[id] }))
	counts = guard.Must(lexical.Extend(m.Matched, more).Count(ctx))
	if estimated {
		counts.Estimated, counts.Documents = true, max(counts.Documents, int(m.reach.total))
	}
	return counts, nil
}

// Twins implements index.Matched: of the documents that were read, if they are all.
func (m *matched) Twins(ctx context.Context) ([][]string, error) {
	if m.reach.incomplete {
		return nil, nil
	}
	return m.Matched.Twins(ctx)
}

// matching returns all documents that the last search matches; complete: none is missing. Its filters exclude some
// whose values are counted, too.
func (r *reach) matching() (ids []string, complete bool) {
	filters := variants(&r.listed.Filter, true)
	if len(filters) > 1 {
		return nil, false
	}
	ids, full := r.ask(&pb.SearchRequest{Limit: maxCounted + 1,
		Filters: all(slices.Concat([]*pb.Filters{whole()}, filters[0], r.listed.filter, r.without())...)})
	return ids, !full
}

// resolve is Resolve for a filter of which objects have all fields.
func (s *snapshot) resolve(ctx context.Context, f index.Filter) (index.Filter, error) {
	if err := f.Check(knows); err != nil {
		return f, err
	}
	return s.Resolve(ctx, f)
}

// Facets implements index.Snapshot.
func (s *snapshot) Facets(ctx context.Context, filter index.Filter) (counts index.Counts, err error) {
	defer guard.End(&err)
	guard.Check(ctx.Err())
	filter = guard.Must(s.resolve(ctx, filter))
	r := s.reach(ctx, filter.Access)
	r.loadChanged()
	wanted := lexical.Wanted{Filter: filter, Count: true, List: &index.List{Browse: true, Order: index.Newest}}
	parts, _ := r.fetch(listing{&wanted, []*pb.Filters{}, !r.behind})
	if r.incomplete && !r.behind {
		counts, parts = r.aggregate(&filter), r.parts(r.changed)
	}
	counts = sum(counts, guard.Must(lexical.NewSearcher(parts, lexical.DefaultParams()).Facets(ctx, filter)))
	counts.Estimated = r.behind // Weaviate has counted what is missing otherwise
	return counts, nil
}

// Suggest implements index.Snapshot.
func (s *snapshot) Suggest(ctx context.Context, prefix string, access index.Access,
	limit int) (_ index.Suggestions, err error) {
	defer guard.End(&err)
	r := s.reach(ctx, access)
	r.loadChanged()
	return r.searcher().Suggest(ctx, prefix, access, limit)
}

// Like implements index.Snapshot.
func (s *snapshot) Like(ctx context.Context, id string, chunk int, access index.Access) (index.Likeness, error) {
	return s.Likeness(ctx, id, chunk, access, func(text string) ([]string, error) {
		return s.reach(ctx, access).searcher().RareWords(ctx, text, access)
	})
}

// Nearest implements index.Snapshot.
func (s *snapshot) Nearest(ctx context.Context, wanted index.Vector, query index.Query) (_ []index.Hit, err error) {
	defer guard.End(&err)
	limit := max(0, min(query.Limit, candidates))
	if wanted.Model != s.State.Model || s.class != className(s.State.Model) || limit == 0 || len(wanted.Values) == 0 {
		return nil, ctx.Err()
	}
	query.Filter = guard.Must(s.resolve(ctx, query.Filter))
	r := s.reach(ctx, query.Filter.Access)
	for depth := 2 * limit; ; depth *= 4 {
		found := r.near(wanted, &query, depth)
		full := len(found) >= depth
		kept := r.keep(wanted, query, found)
		if len(kept) >= limit || !full || depth > 10*candidates {
			return kept[:min(len(kept), limit)], nil
		}
	}
}

// near returns what Weaviate finds near a vector.
func (r *reach) near(wanted index.Vector, query *index.Query, depth int) (hits []index.Hit) {
	reply := r.search(&pb.SearchRequest{Limit: uint32(depth), Filters: all(variants(&query.Filter, false)[0]...),
		NearVector: &pb.NearVector{Vectors: []*pb.Vectors{{Type: pb.Vectors_VECTOR_TYPE_SINGLE_FP32,
			VectorBytes: documents.AppendVector(nil, wanted.Values)}}},
		Properties: &pb.PropertiesRequest{NonRefProperties: []string{propDocument, propOrdinal}},
		Metadata:   &pb.MetadataRequest{Distance: true}})
	for _, found := range reply.GetResults() {
		values := found.GetProperties().GetNonRefProps().GetFields()
		hits = append(hits, index.Hit{DocumentID: unmark(values[propDocument].GetTextValue()),
			Chunk: int(values[propOrdinal].GetIntValue()), Score: 1 - float64(found.GetMetadata().GetDistance())})
	}
	return hits
}

// keep reads the documents of hits, replaces the hits of changed documents by what the database has, and checks all
// again.
func (r *reach) keep(wanted index.Vector, query index.Query, found []index.Hit) []index.Hit {
	r.loadChanged()
	hits := slices.DeleteFunc(found, func(h index.Hit) bool { return slices.Contains(r.changed, h.DocumentID) })
	ids := slices.Clone(r.changed)
	for _, h := range hits {
		ids = append(ids, h.DocumentID)
	}
	hits = append(hits, r.changedNear(wanted)...)
	read := lexical.NewSearcher(r.parts(slices.Compact(slices.Sorted(slices.Values(ids)))), lexical.DefaultParams())
	return guard.Must(read.Keep(r.ctx, query, hits))
}

// changedNear returns the passages of changed documents that have a vector.
func (r *reach) changedNear(wanted index.Vector) (hits []index.Hit) {
	documents := guard.Must(r.s.Whole(r.ctx, r.changed))
	for i := range documents {
		for chunk, values := range r.s.index.vectors(r.ctx, wanted.Model, &documents[i]) {
			if len(values) == len(wanted.Values) {
				score := 0.0
				for at, value := range values {
					score += float64(value) * float64(wanted.Values[at])
				}
				hits = append(hits, index.Hit{DocumentID: documents[i].ID, Chunk: chunk, Score: score})
			}
		}
	}
	return hits
}

// countedTerm is a term in one version of the library.
type countedTerm struct{ version, term string }

// maxTerms bounds the terms whose statistics are kept: those that were looked for last.
const maxTerms = 1 << 16

// Counts implements lexical.Elsewhere.
func (r *reach) Counts(terms ...string) []segment.TermCounts {
	known, version := r.s.index.counts, r.s.Version()
	counts, unknown := make([]segment.TermCounts, len(terms)), []string(nil)
	for i, term := range terms {
		n, ok := known.Get(countedTerm{version, term})
		if counts[i] = n; !ok {
			unknown = append(unknown, term)
		}
	}
	if len(unknown) == 0 {
		return counts
	}
	found := guard.Must(r.s.Counts(r.ctx, unknown))
	for i, term := range terms {
		if n, ok := found[term]; ok {
			counts[i] = n
		}
	}
	for _, term := range unknown {
		known.Add(countedTerm{version, term}, found[term])
	}
	return counts
}
