// Package lexical searches segments by words: it ranks passages, counts what matched, completes and corrects words, all
// under the rights of the caller. Results do not depend on how documents are spread over segments.
package lexical

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/segment"
	"quarry/server/index/vector"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/semaphore"
)

// Part is one segment of the index with what was deleted from it since it was written.
type Part struct {
	Segment *segment.Reader
	Deleted *roaring.Bitmap // ordinals of deleted documents; nil: none. It must not change any more.
	Delta   *segment.Delta  // statistics of the same documents; nil: none
	Vectors *vector.File    // of the segment's chunks; nil: none
	Model   string          // that the vectors are by
}

// Searcher searches a set of parts; immutable and safe for concurrent use.
type Searcher struct {
	parts     []Part
	params    Params
	stats     segment.Stats // of live documents
	scratch   idle[scratch]
	values    atomic.Pointer[facetValues]
	frequents sync.Map                // of []Surface by short prefix, see frequent
	analysers idle[analysis.Analyser] // which remember the stems of earlier texts: that is most of their work
	languages atomic.Pointer[libraryLanguages]
	twins     atomic.Pointer[[]segment.Bits]
	helpers   *semaphore.Weighted // processors beside that of a search
	shared    int64               // see sharedPostings
	far       Elsewhere           // nil: all documents are in parts
}

// NewSearcher returns a searcher over parts. A document may be live in one of them at most.
func NewSearcher(parts []Part, params Params) *Searcher {
	s := searcherOf(parts, segment.Stats{}, params)
	for _, p := range parts {
		s.stats.Add(p.Segment.Stats(), 1)
		if p.Delta != nil {
			s.stats.Add(p.Delta.Stats, -1)
		}
	}
	return s
}

func searcherOf(parts []Part, stats segment.Stats, params Params) *Searcher {
	processors := runtime.GOMAXPROCS(0)
	return &Searcher{parts: parts, stats: stats, params: params, scratch: make(idle[scratch], 2*processors),
		analysers: make(idle[analysis.Analyser], 2*processors), shared: sharedPostings,
		helpers: semaphore.NewWeighted(int64(processors - 1))}
}

func (p *Part) live(ordinal int) bool {
	return p.Deleted == nil || !p.Deleted.Contains(uint32(ordinal))
}

// Admits reports whether a document is live, and whether it is not hidden and access admits it.
func (s *Searcher) Admits(documentID string, access index.Access) (live, admitted bool, err error) {
	admitted, err = answer(context.Background(), s, "look up a document", func(r *run) bool {
		for part := range s.parts {
			ordinal, ok := r.reader(part).Lookup(documentID)
			if ok && s.parts[part].live(ordinal) {
				live = true
				return r.rightsIn(part, access).Has(ordinal)
			}
		}
		return false
	})
	return live, admitted, err
}

// Search implements index.Snapshot.
func (s *Searcher) Search(ctx context.Context, query index.Query) (index.Result, error) {
	return answer(ctx, s, "search", func(r *run) index.Result { return r.search(&query) })
}

// search answers a query without the stop words of its language, unless no document has one of the other words.
func (r *run) search(q *index.Query) index.Result {
	r.reach(q.Filter.Access)
	l := r.languages().of(q.Text)
	result, found := r.searchIn(l, q)
	if l != nil && found.nothing() {
		result, _ = r.searchIn(nil, q)
	}
	return result
}

// searchIn answers a query in a language, with its unknown words corrected if a document of its scope has one of the
// words then, whatever its filter leaves of them: otherwise a filter that leaves none would show what other words
// match.
func (r *run) searchIn(l *analysis.Language, q *index.Query) (index.Result, *found) {
	words, kept := r.typed(l, q)
	var terms []string
	for _, w := range words {
		terms = append(append(terms, w.Term), w.Stems...)
	}
	r.lookUp(terms)
	corrected, corrections := r.correct(words)
	p := r.plan(l, corrected, q)
	p.asTyped(corrections)
	found := r.execute(p, q)
	if p.corrected && found.nothing() {
		corrections, p = nil, r.plan(l, words, q)
		p.asTyped(nil)
		found = r.execute(p, q)
	}
	result := index.Result{Hits: found.passages, Corrections: corrections, Kept: kept, Level: found.level,
		Documents: found.documents, All: found.all, Before: found.before, Words: p.counted,
		Highlighter: newHighlighter(p, r.s.analysers)}
	for _, w := range p.missing {
		if !slices.Contains(result.Missing, w.Surface) {
			result.Missing = append(result.Missing, w.Surface)
		}
	}
	for _, c := range p.instead {
		if slices.Contains(result.Missing, c.From) && !slices.Contains(result.Instead, c) {
			result.Instead = append(result.Instead, c)
		}
	}
	if q.Count {
		result.Matched = &matched{s: found.searcher, filter: q.Filter, parts: found.matched}
	}
	return result, found
}

// found is what a plan led to.
type found struct {
	hits      []candidate
	level     index.Level
	reached   bool // by a document of the scope: it has a word
	documents int  // that match
	all       int  // of those, the ones with all words
	matched   []partMatches
	listed    []listed    // the first ones of each part among them
	before    int         // documents of a list before hits
	passages  []index.Hit // of hits
	searcher  *Searcher   // whose parts they are in
}

// nothing reports whether no document of the scope has one of the words.
func (f *found) nothing() bool { return !f.reached && len(f.hits) == 0 && f.documents == 0 }

// execute runs a plan over all parts.
func (r *run) execute(p *plan, q *index.Query) (out *found) {
	reached := false
	if r.far != nil && len(p.counted) > 0 {
		p.reached, reached = r.levelElsewhere(p, q)
	}
	r.fetched(p.wanted(q, p.reached), func(before int) {
		out = r.executeHere(p, q, before)
		out.reached = out.reached || reached
		out.searcher, out.passages, out.before = r.s, r.passages(p, out.hits), out.before+before
	})
	return out
}

// contribution is what a part has.
type contribution struct {
	counted bool // the documents of the scope are
	level   index.Level
	matches partMatches
	chosen  []candidate
	listed  []listed
}

func (r *run) executeHere(p *plan, q *index.Query, before int) *found {
	if q.List != nil {
		return r.list(p, q, q.List.Offset-before)
	}
	limit := max(0, min(q.Limit, maxLimit))
	depth := max(limit, candidates)
	if limit == 0 {
		depth = 0
	}
	out := r.matchParts(p, q, depth, 0)
	out.hits = r.firstOfEach(out.hits, q.PerDocument)
	out.hits = out.hits[:min(len(out.hits), limit)]
	return out
}

// matchParts finds what matches in all parts, and of that the best passages by both stages, as many as depth, and the
// first documents of a list.
func (r *run) matchParts(p *plan, q *index.Query, depth, documents int) *found {
	var mutex sync.Mutex
	out := &found{level: p.reached}
	parts, total := make([]contribution, len(r.s.parts)), reached{}
	leaders := best{limit: depth} // over all parts so far, at the level so far
	contribute := func(r *run, part int) {
		s, f, phrases := r.scored(part, p, q)
		counts := s.reaches(f)
		mutex.Lock()
		if !parts[part].counted {
			total.add(counts)
		}
		level := total.of(p)
		out.reached = out.reached || level > 0
		if level > out.level {
			out.level, leaders.items = level, leaders.items[:0]
		}
		c := contribution{counted: true, level: out.level}
		floor := leaders.floor()
		mutex.Unlock()
		c.matches = s.match(f, c.level, q.Count || q.List != nil)
		of := f.pass
		if q.List != nil {
			of, c.listed = c.matches.pass, s.firstListed(part, c.matches.pass, phrases, q.List.Order, documents)
		}
		c.chosen = s.choose(part, of, c.matches.pass, phrases, depth, floor, q.PerDocument > 0 || q.List != nil)
		s.clear()
		mutex.Lock()
		defer mutex.Unlock()
		if c.level == out.level {
			for i := range c.chosen {
				leaders.offer(scored{score: c.chosen[i].first})
			}
		}
		parts[part] = c
	}
	// To choose the best and to count, a score of each chunk is looked at, which costs half of a posting.
	r.eachPart(p.postings+r.s.stats.Chunks/2, contribute)
	chosen := 0
	for part := range parts {
		chosen += len(parts[part].chosen)
	}
	out.hits = make([]candidate, 0, chosen)
	for part := range parts {
		if parts[part].level < out.level { // other parts showed that what matches in this one does not
			contribute(r, part)
		}
		c := &parts[part]
		out.hits, out.listed = append(out.hits, c.chosen...), append(out.listed, c.listed...)
		out.documents += c.matches.passing
		out.all += c.matches.all
		out.matched = append(out.matched, c.matches)
	}
	if len(out.hits) > depth {
		floor := leaders.floor()
		out.hits = slices.DeleteFunc(out.hits, func(c candidate) bool { return c.first <= floor })
		if len(out.hits) > depth {
			out.hits = r.cut(out.hits, depth)
		}
	}
	r.rerank(p, out.hits, q.Explain)
	return out
}

// scored runs the first stage over a part with its filter; phrases bounds the chunks, where there are any.
func (r *run) scored(part int, p *plan, q *index.Query) (s *scoring, f *partFilter, phrases segment.Bits) {
	r.check()
	f = r.filter(part, &q.Filter)
	f.scope = r.scope(part, q, f.required)
	phrases = r.restrict(part, p, f)
	return r.score(part, p), f, phrases
}

// scope returns the documents of a part that decide the level of a query, but for its phrases and exclusions. It bounds
// required, if it is not nil, by the time of the scope, which no choice of a month can leave; another set may be
// chosen.
func (r *run) scope(part int, q *index.Query, required segment.Bits) segment.Bits {
	if q.Scope == nil {
		return r.rightsIn(part, q.Filter.Access)
	}
	f := r.filter(part, q.Scope)
	if since := f.byField[fieldTime]; since != nil && required != nil {
		required.And(since)
	}
	return f.pass
}

// run is the state of one call: what is being read, and memory that goes back to the pool afterwards.
type run struct {
	s       *Searcher
	ctx     context.Context
	reading int          // the part that is being read
	terms   []knownTerms // by part
	far     Elsewhere    // nil: all documents are in parts
	access  index.Access
	seen    []segment.Bits     // see rights
	words   *analysis.Analyser // see analyser
	*scratch
}

// analyser returns that of the run, which remembers the words of earlier ones.
func (r *run) analyser() *analysis.Analyser {
	if r.words == nil {
		r.words = r.s.analysers.get(analysis.New)
	}
	return r.words
}

// scratch is memory that is reused from call to call.
type scratch struct {
	scores  []float32
	group   []float32
	grouped []uint32 // the chunks of which group is not 0
	cursors postings
	pages   []bool
	block   segment.Block
	best    []scored
	finds   finds
	memory  segment.Bits // of bitmaps
	bits    segment.Bits // what is not lent of it
	counts  []uint32
	known   []knownTerms // by part: the same words are looked for again and again
}

// close gives the memory back; nothing that was lent may be used afterwards.
func (r *run) close() {
	r.bits = r.memory
	r.s.scratch.put(r.scratch)
	r.scratch = nil
	if r.words != nil {
		r.s.analysers.put(r.words)
	}
}

// bitmap lends an empty bitmap of n bits.
func (r *run) bitmap(n int) segment.Bits {
	words := (n + 63) / 64
	if len(r.bits) < words {
		r.memory = make(segment.Bits, max(words, 2*len(r.memory)))
		r.bits = r.memory
	}
	lent := r.bits[:words:words]
	r.bits = r.bits[words:]
	clear(lent)
	return lent
}

// documents lends an empty bitmap with a bit for every document of a part.
func (r *run) documents(part int) segment.Bits { return r.bitmap(r.s.parts[part].Segment.Documents()) }

// reader returns the segment of a part and notes that it is being read.
func (r *run) reader(part int) *segment.Reader {
	r.reading = part
	return r.s.parts[part].Segment
}

// sharedPostings is how many postings are worth the help of another processor: about a hundred microseconds of work.
const sharedPostings = 20_000

// eachPart calls do for each part. Where there are many postings, processors that help no other search take parts, too,
// each with a run of its own.
func (r *run) eachPart(postings int64, do func(r *run, part int)) {
	var next atomic.Int64
	work := func(r *run) struct{} {
		for part := int(next.Add(1)) - 1; part < len(r.s.parts); part = int(next.Add(1)) - 1 {
			r.check()
			do(r, part)
		}
		return struct{}{}
	}
	helpers, _ := guard.NewGroup(r.ctx)
	defer func() { guard.Check(helpers.Wait()) }() // also where this run fails
	for n := 1; n < len(r.s.parts) && postings >= r.s.shared && r.s.helpers.TryAcquire(1); n++ {
		helpers.Run(func() {
			defer r.s.helpers.Release(1)
			guard.Must(answer(r.ctx, r.s, "search a part", func(helper *run) struct{} {
				helper.terms = r.terms // of a part that one of them reads at a time
				return work(helper)
			}))
		})
	}
	work(r)
}

// name is that of the segment that is being read.
func (r *run) name() string {
	if r.reading >= len(r.s.parts) {
		return "" // the documents are elsewhere
	}
	return r.s.parts[r.reading].Segment.Name()
}

// answer calls f with memory that is reused afterwards. Damage of a segment comes back as an error.
func answer[T any](ctx context.Context, s *Searcher, what string, f func(*run) T) (T, error) {
	memory := s.scratch.get(func() *scratch { return new(scratch) })
	if memory.known == nil {
		memory.known = make([]knownTerms, len(s.parts))
	}
	r := &run{s: s, ctx: ctx, scratch: memory, terms: memory.known}
	defer r.close()
	var out T
	err := segment.Protect(r.name, func() { out = f(r) })
	if err != nil {
		r.discard()
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}

// resize returns a zeroed slice of n elements, s itself if it is large enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
