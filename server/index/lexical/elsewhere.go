package lexical

import (
	"context"
	"iter"
	"slices"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// Elsewhere answers for documents that are not in segments of this process, to one caller. A search asks it about
// words, and then ranks the documents that it fetches. Its methods abort with their errors, see guard.Abort.
type Elsewhere interface {
	// Counts returns the statistics of terms over all documents.
	Counts(terms ...string) []segment.TermCounts
	// SeesTerm reports whether a document that the caller may see contains one of the terms.
	SeesTerm(terms []string) bool
	// SeesSurface reports which surfaces a document contains that the caller may see.
	SeesSurface(surfaces []string) (seen []bool)
	// CountSurface returns how many documents contain a surface that the caller may see.
	CountSurface(surface string) int64
	// Surfaces returns surfaces that begin with a prefix: those that most documents contain, and of as many the first
	// ones in the order of the alphabet.
	Surfaces(prefix string, limit int) []Surface
	// Near calls yield with the surfaces of letters alone that an automaton accepts.
	Near(automaton segment.Automaton, yield func(Surface))
	// Documents returns the documents with a surface; 0 if there are none.
	Documents(surface string) int64
	// InScope returns how many documents a filter admits.
	InScope(filter index.Filter) int64
	// Fetch returns segments of all documents that can be among what is wanted. Of a list it may leave out those before
	// a page, and returns how many.
	Fetch(wanted Wanted) (parts []Part, before int)
}

// Surface is a word as it occurs, with the number of documents that contain it.
type Surface struct {
	Surface, Term string
	Documents     int64
}

// Wanted says what documents a search needs. Those that fail one field of the filter are needed where they are counted.
type Wanted struct {
	Filter index.Filter
	Words  []WantedWord
	// Need is how many of the words that count a document must contain to match, those of Titles counting as two in
	// the title; 0: any that contains a word.
	Need   int
	Titles uint64
	// Phrases must occur and Exclude must not.
	Phrases, Exclude [][]PhraseWord
	// Titled are terms of which the title must contain one, where there are any.
	Titled []string
	// Count asks for the documents that are counted, List for all documents in its order instead of the best passages.
	Count bool
	List  *index.List
	Limit int // passages
}

// WantedWord is a word of a query: any of its terms.
type WantedWord struct {
	Terms []string
	Bits  uint64 // the words that count which a document with it holds
}

// PhraseWord is a word of a phrase: any of the terms or surfaces, offset positions behind the first word.
type PhraseWord struct {
	Terms, Surfaces []string
	offset          uint32
}

// NewElsewhere returns a searcher of documents elsewhere for one caller. stats are of all of them.
func NewElsewhere(stats segment.Stats, far Elsewhere) *Searcher {
	s := searcherOf(nil, stats, DefaultParams())
	s.far = far
	return s
}

// reach says who calls, and lets the run ask for documents elsewhere, if that is where they are.
func (r *run) reach(access index.Access) {
	r.access, r.far = access, r.s.far
}

// check ends the run once its caller has given up.
func (r *run) check() { guard.Check(r.ctx.Err()) }

// wanted is what a plan needs at a level.
func (p *plan) wanted(q *index.Query, level index.Level) Wanted {
	w := Wanted{Filter: q.Filter, Need: p.least(level), Titles: p.sure, Phrases: p.phrases, Exclude: p.exclude,
		Count: q.Count, List: q.List, Limit: max(candidates, min(q.Limit, maxLimit))}
	if list := q.List; list != nil && len(list.Folds) > 0 { // they are among the documents elsewhere
		w.List = &index.List{Documents: list.Until(), Order: list.Order, Browse: list.Browse}
	}
	for _, word := range p.words {
		w.Words = append(w.Words, WantedWord{Terms: word.terms, Bits: word.bits})
	}
	return w
}

// fetched calls f with the documents that are wanted as the run's parts, and with how many come before them in a list.
func (r *run) fetched(wanted Wanted, f func(before int)) {
	if r.far == nil {
		f(0)
		return
	}
	parts, before := r.far.Fetch(wanted)
	all, far := r.s, r.far
	r.s = searcherOf(parts, all.stats, all.params)
	r.far, r.terms, r.seen = nil, make([]knownTerms, len(r.s.parts)), nil
	defer func() { r.s, r.far, r.terms, r.seen, r.reading = all, far, nil, nil, 0 }()
	f(before)
}

// mostFrequent yields the surfaces elsewhere that begin with a prefix, those that most documents contain first. They
// come in batches that grow from the size first.
func (r *run) mostFrequent(prefix string, first int) iter.Seq[[]Surface] {
	return func(yield func([]Surface) bool) {
		for had, limit := 0, first; ; limit *= 4 {
			found := r.far.Surfaces(prefix, limit)
			if !yield(found[min(had, len(found)):]) || len(found) < limit {
				return
			}
			had = len(found)
		}
	}
}

// seenExpansions returns the most frequent surfaces elsewhere with a prefix that the caller may see.
func (r *run) seenExpansions(prefix string) (items []Surface) {
	for found := range r.mostFrequent(prefix, 2*maxExpansions) {
		surfaces := make([]string, len(found))
		for i, s := range found {
			surfaces[i] = s.Surface
		}
		for i, ok := range r.far.SeesSurface(surfaces) {
			if ok && len(items) < maxExpansions {
				items = append(items, found[i])
			}
		}
		if len(items) == maxExpansions {
			break
		}
	}
	return items
}

// rarest counts the documents elsewhere that the caller may see of words in at least two, those in the fewest of all
// documents first.
func (r *run) rarest(all []Surface) (rare []Surface) {
	for i, c := range all {
		if i == 2*rareWords && len(rare) > 0 {
			break
		}
		if c.Documents = r.far.CountSurface(c.Surface); c.Documents >= 2 {
			rare = append(rare, c)
		}
	}
	slices.SortFunc(rare, fewestFirst)
	return rare
}

// Keep returns the hits that a query's filter, phrases and exclusions admit among the parts of s, as Nearest would.
func (s *Searcher) Keep(ctx context.Context, query index.Query, hits []index.Hit) ([]index.Hit, error) {
	return answer(ctx, s, "check the passages found", func(r *run) []index.Hit {
		p := r.restricting(&query)
		var all []candidate
		for part := range s.parts {
			f := r.filter(part, &query.Filter)
			phrases := r.restrict(part, p, f)
			for _, hit := range hits {
				d, ok := r.reader(part).Lookup(hit.DocumentID)
				if !ok || !f.pass.Has(d) {
					continue
				}
				first, end := r.reader(part).DocumentChunks(d)
				if at := first + hit.Chunk; at < end && (phrases == nil || phrases.Has(at)) {
					all = append(all, candidate{part: part, document: d, chunk: at, score: hit.Score})
				}
			}
		}
		return r.nearPassages(r.firstOfEach(all, query.PerDocument))
	})
}

// levelElsewhere finds the level of a query: the first that a document reaches, else LevelAny. Whether one reaches that
// is only looked up for corrected words.
func (r *run) levelElsewhere(p *plan, q *index.Query) (level index.Level, reached bool) {
	scoped := *q
	scoped.Filter = q.ScopeFilter()
	for level = p.first(); level > index.LevelAny || level == index.LevelAny && p.corrected; level-- {
		var found *found
		scoped.List = &index.List{Documents: p.enoughOf(level), Order: index.Newest}
		wanted := p.wanted(&scoped, level)
		wanted.Titles = 0
		r.fetched(wanted, func(int) { found = r.list(p, &scoped, 0) })
		if found.reached && found.level >= level {
			return level, true
		}
	}
	return index.LevelAny, false
}

// Extend returns what a search matched, with more parts of which all documents that pass its filter match.
func Extend(m index.Matched, more []Part) index.Matched {
	had, ok := m.(*matched)
	if !ok || len(more) == 0 {
		return m
	}
	return &matched{
		s:      searcherOf(append(slices.Clip(had.s.parts), more...), had.s.stats, had.s.params),
		filter: had.filter, parts: append(slices.Clip(had.parts), make([]partMatches, len(more))...),
	}
}
