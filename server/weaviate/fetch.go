package weaviate

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/protobuf/proto"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/lexical"
	"quarry/server/index/segment"
)

const (
	// candidates is how many passages Weaviate returns for a search at least.
	candidates = 200
	// maxChanged documents that Weaviate lacks are read from the log with each search.
	maxChanged = 500
	// maxVocabulary surfaces are compared with a misspelt word: those that most documents contain.
	maxVocabulary = 500_000
	// witnesses is how many documents are looked at for a word that the caller may see.
	witnesses = 5
	// seesAtOnce calls are made for words at the same time.
	seesAtOnce = 8
)

// reach is what one search needs of the library, as one caller sees it. It implements lexical.Elsewhere.
type reach struct {
	ctx    context.Context
	s      *snapshot
	access index.Access

	mutex      sync.Mutex
	answers    map[string]found           // of Weaviate, by what was asked
	loaded     map[string]*segment.Reader // documents that the caller may see
	host       int64                      // that is asked first
	since      int64                      // the changes after this are read from the log
	changed    []string                   // documents that Weaviate does not have as they are
	incomplete bool                       // there may be more than was fetched
	rest       bool                       // a list by score has more than was fetched
	behind     bool                       // not all changes were looked at that a replica may lack
	lost       bool                       // not all changes were looked at that a replica lacks which answered
	listed     listing                    // of the last search for passages
	floor      *pb.Filters                // the time of the scope, which months are counted in, too; nil: none
	total      int64                      // of documents that match, as Weaviate counts them
	fetched    map[string]bool            // documents that it looked at
}

// found are the documents that a search in Weaviate found; full: there may be more.
type found struct {
	ids  []string
	full bool
}

var _ lexical.Elsewhere = (*reach)(nil)

func (s *snapshot) reach(ctx context.Context, access index.Access) *reach {
	r := &reach{ctx: ctx, s: s, access: access, host: s.index.client.searches.Add(1), since: s.position,
		loaded: map[string]*segment.Reader{}, answers: map[string]found{}}
	if least := s.least(); s.few(least) {
		r.since = least
	}
	return r
}

// InScope implements lexical.Elsewhere. Changed documents count as Weaviate has them.
func (r *reach) InScope(filter index.Filter) int64 {
	return r.count(all(append([]*pb.Filters{whole()}, variants(&filter, false)[0]...)...))
}

// Documents implements lexical.Elsewhere.
func (r *reach) Documents(surface string) int64 { return guard.Must(r.s.Surface(r.ctx, surface)) }

// Surfaces implements lexical.Elsewhere.
func (r *reach) Surfaces(prefix string, limit int) []lexical.Surface {
	return guard.Must(r.s.Snapshot.Surfaces(r.ctx, prefix, limit))
}

// Near implements lexical.Elsewhere.
func (r *reach) Near(automaton segment.Automaton, yield func(lexical.Surface)) {
	words := r.s.index.words.read(r.ctx, r.s)
	segment.Match(automaton, words, func(s lexical.Surface) string { return s.Surface }, yield)
}

// everything reports whether the caller may see all documents.
func (r *reach) everything() bool { return r.access.All && r.s.hidden == 0 }

// SeesTerm implements lexical.Elsewhere.
func (r *reach) SeesTerm(terms []string) bool {
	counts := r.Counts(terms...)
	var known []string // most words have no compound: Weaviate need not be asked
	for i, term := range terms {
		if counts[i].Documents > 0 {
			known = append(known, term)
		}
	}
	if len(known) == 0 || r.everything() {
		return len(known) > 0
	}
	return r.sees(propTerms, known, func(d *segment.Reader) bool {
		return slices.ContainsFunc(known, func(term string) bool { _, ok := d.Term(term); return ok })
	})
}

// SeesSurface implements lexical.Elsewhere.
func (r *reach) SeesSurface(surfaces []string) []bool {
	seen := make([]bool, len(surfaces))
	has := func(surface string) func(*segment.Reader) bool {
		return func(d *segment.Reader) bool { _, ok := d.Surface(surface); return ok }
	}
	known := make([]bool, len(surfaces))
	for i, surface := range surfaces {
		known[i] = r.Documents(surface) > 0
	}
	if r.everything() {
		return known
	}
	if len(surfaces) > 1 { // most of many words are in a few documents
		r.sees(propSurfaces, surfaces, func(*segment.Reader) bool { return false })
	}
	group, _ := guard.NewGroup(r.ctx)
	group.SetLimit(seesAtOnce)
	for i, surface := range surfaces {
		if !known[i] {
			continue
		}
		group.Run(func() { seen[i] = r.sees(propSurfaces, []string{surface}, has(surface)) })
	}
	guard.Check(group.Wait())
	return seen
}

// sees reports whether has is true for a document that the caller may see. It looks at those that were read already, at
// those that were changed, and then at some that Weaviate finds with one of the values.
func (r *reach) sees(property string, list []string, has func(*segment.Reader) bool) bool {
	if r.seesLoaded(has) {
		return true
	}
	filter := all(append([]*pb.Filters{whole(), rights(r.access)}, anyOf(property, list))...)
	limit := witnesses
	if len(list) > 1 {
		limit = candidates
	}
	ids, _ := r.ask(&pb.SearchRequest{Filters: filter, Limit: uint32(limit)})
	r.load(ids)
	return r.seesLoaded(has)
}

func (r *reach) seesLoaded(has func(*segment.Reader) bool) (seen bool) {
	r.mutex.Lock()
	readers := slices.Collect(maps.Values(r.loaded))
	r.mutex.Unlock()
	guard.Check(segment.Protect(func() string { return "" }, func() { seen = slices.ContainsFunc(readers, has) }))
	return seen
}

// CountSurface implements lexical.Elsewhere.
func (r *reach) CountSurface(surface string) int64 {
	if r.everything() {
		return r.Documents(surface)
	}
	filter := all(whole(), rights(r.access), anyOf(propSurfaces, []string{surface}))
	r.loadChanged()
	if len(r.changed) > 0 {
		filter = all(filter, not(anyOf(propDocument, r.changed)))
	}
	n := r.count(filter)
	for _, id := range r.changed {
		if d := r.loaded[id]; d != nil {
			guard.Check(segment.Protect(d.Name, func() {
				if _, ok := d.Surface(surface); ok {
					n++
				}
			}))
		}
	}
	return n
}

// count returns how many objects a filter admits.
func (r *reach) count(filter *pb.Filters) int64 {
	return r.countObjects(&pb.AggregateRequest{Filters: filter}).GetSingleResult().GetObjectsCount()
}

// ask returns the ids of the documents of objects that a search finds, each once, in its order; full: it may not have
// found all.
func (r *reach) ask(request *pb.SearchRequest) (ids []string, full bool) {
	request.Properties = &pb.PropertiesRequest{NonRefProperties: []string{propDocument}}
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	guard.While("search Weaviate", err)
	r.mutex.Lock()
	had, asked := r.answers[string(key)]
	r.mutex.Unlock()
	if asked { // by warm, most often
		return had.ids, had.full
	}
	results := r.search(request).GetResults()
	known := make(map[string]bool, len(results))
	for _, object := range results {
		id := unmark(object.GetProperties().GetNonRefProps().GetFields()[propDocument].GetTextValue())
		if !known[id] {
			known[id], ids = true, append(ids, id)
		}
	}
	full = len(results) >= int(request.Limit)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.answers[string(key)] = found{ids, full}
	return ids, full
}

func (x *Index) search(ctx context.Context, host int64, request *pb.SearchRequest) (reply *pb.SearchReply) {
	limited, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	err := x.ensure(limited, request.Collection)
	if err == nil {
		err = x.client.read(ctx, host, func(ctx context.Context, host pb.WeaviateClient) (err error) {
			reply, err = host.Search(ctx, request)
			return err
		})
		if err != nil && ctx.Err() == nil { // the collection may be gone
			x.ensured.Clear()
		}
	}
	guard.Check(explain(ctx, "search Weaviate", err))
	return reply
}

// loadChanged reads the documents that Weaviate does not have as this snapshot shows them: those that it refused, and
// those that were changed since the position that it had when the snapshot was opened. It is called when Weaviate has
// answered.
func (r *reach) loadChanged() {
	r.mutex.Lock()
	since := r.since
	r.mutex.Unlock()
	ids := guard.Must(r.s.index.Unindexed(r.ctx, r.s.index.follower(r.s.class), since, r.s.index.changes+1))
	lost := len(ids) > r.s.index.changes
	ids = slices.Compact(slices.Sorted(slices.Values(ids[:min(len(ids), r.s.index.changes)])))
	r.mutex.Lock()
	if since == r.since { // otherwise another call reads more
		r.changed, r.lost, r.behind = ids, lost, lost || r.s.replicas != nil && !r.s.few(r.s.least())
	}
	r.mutex.Unlock()
	r.load(ids)
}

// load reads and analyses documents, and keeps those that the caller may see.
func (r *reach) load(ids []string) {
	r.mutex.Lock()
	var unknown []string
	for _, id := range ids {
		if r.loaded[id] == nil {
			unknown = append(unknown, id)
		}
	}
	r.mutex.Unlock()
	if len(unknown) == 0 {
		return
	}
	readers := r.s.analysed(r.ctx, unknown, r.access)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	maps.Copy(r.loaded, readers)
}

// analysed returns the segments of documents that access admits.
func (s *snapshot) analysed(ctx context.Context, ids []string, access index.Access) map[string]*segment.Reader {
	versions := guard.Must(s.Versions(ctx, ids, access))
	readers := make(map[string]*segment.Reader, len(versions))
	var unknown []string
	for id, changed := range versions {
		if reader, ok := s.index.analysed.Get(version{id, changed}); ok {
			readers[id] = reader
		} else {
			unknown = append(unknown, id)
		}
	}
	packed := guard.Must(s.Analysed(ctx, unknown))
	made := make([]*segment.Reader, len(unknown))
	group, within := guard.NewGroup(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range unknown {
		group.Run(func() {
			guard.Check(within.Err())
			made[i] = s.segment(within, version{id, versions[id]}, packed[id])
		})
	}
	guard.Check(group.Wait())
	for i, id := range unknown {
		if made[i] != nil {
			readers[id] = made[i]
		}
	}
	return readers
}

// segment returns the segment of a document, which is nil if the document cannot be read. It is made where it is not
// stored.
func (s *snapshot) segment(ctx context.Context, v version, packed []byte) *segment.Reader {
	reader, err := s.index.Segment(v.id, packed)
	if err != nil {
		documents := guard.Must(s.Whole(ctx, []string{v.id}))
		if len(documents) == 0 {
			return nil
		}
		data, err := segment.Of(&documents[0])
		if err != nil {
			guard.Abort(fmt.Errorf("index document %q: %w", v.id, err))
		}
		reader = guard.Must(segment.Open(v.id, data))
	}
	s.index.analysed.Add(v, reader)
	return reader
}

// warm reads the candidates for the words as they were typed: most often they are what is wanted, and show which words
// the caller may see.
func (r *reach) warm(query *index.Query) {
	if query.Text == "" && len(query.Phrases) == 0 {
		return
	}
	var terms []string
	analyser := analysis.New()
	for _, text := range append([]string{query.Text}, query.Phrases...) {
		for _, word := range analysis.Content(analyser.Words(text, false), nil) {
			for _, w := range append([]analysis.QueryWord{word}, word.Parts...) {
				terms = append(terms, w.Term)
			}
		}
	}
	if len(terms) > 0 {
		ids, _ := r.ask(bm25(terms, variants(&query.Filter, false)[0], candidates))
		r.load(ids)
	}
}

// bm25 is a search for passages with any of some terms.
func bm25(terms []string, filter []*pb.Filters, limit int) *pb.SearchRequest {
	terms = slices.Compact(slices.Sorted(slices.Values(terms)))
	return &pb.SearchRequest{Bm25Search: &pb.BM25{Query: strings.ToValidUTF8(strings.Join(terms, " "), "\uFFFD"),
		Properties: []string{propText}},
		Filters: all(filter...), Limit: uint32(limit)}
}

// parts returns the segments of the documents that the caller may see.
func (r *reach) parts(ids []string) []lexical.Part {
	r.load(ids)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	parts := make([]lexical.Part, 0, len(ids))
	for _, id := range ids {
		if reader := r.loaded[id]; reader != nil {
			parts = append(parts, lexical.Part{Segment: reader})
		}
	}
	return parts
}

// vocabulary is the surfaces that misspelt words are compared with.
type vocabulary struct {
	mutex   sync.Mutex
	version string
	known   []lexical.Surface
}

// read returns the vocabulary of a snapshot. Reading a large one takes long, so that it is not read again for each
// change.
func (v *vocabulary) read(ctx context.Context, s *snapshot) []lexical.Surface {
	const small = 50_000
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.known != nil && (v.version == s.Version() || len(v.known) > small) {
		return v.known
	}
	v.known, v.version = guard.Must(s.Vocabulary(ctx, maxVocabulary)), s.Version()
	return v.known
}
