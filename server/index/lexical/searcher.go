// Package lexical searches segments by words: it ranks passages, counts what matched, completes and corrects words, all
// under the rights of the caller. Results do not depend on how documents are spread over segments.
package lexical

import (
	"context"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/index/vector"
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
	scratch   sync.Pool     // *scratch
	analysers analysers
}

// NewSearcher returns a searcher over parts. A document may be live in one of them at most.
func NewSearcher(parts []Part, params Params) *Searcher {
	s := &Searcher{parts: parts, params: params}
	for _, p := range parts {
		s.stats.Add(p.Segment.Stats(), 1)
		if p.Delta != nil {
			s.stats.Add(p.Delta.Stats, -1)
		}
	}
	return s
}

func (p *Part) live(ordinal int) bool {
	return p.Deleted == nil || !p.Deleted.Contains(uint32(ordinal))
}

// Admits reports whether a document is live, and whether it is not hidden and access admits it.
func (s *Searcher) Admits(documentID string, access index.Access) (live, admitted bool, err error) {
	admitted, err = answer(context.Background(), s, "look up a document", func(r *run) (bool, error) {
		for part := range s.parts {
			ordinal, ok := r.reader(part).Lookup(documentID)
			if ok && s.parts[part].live(ordinal) {
				live = true
				return r.rights(part, access).Has(ordinal), nil
			}
		}
		return false, nil
	})
	return live, admitted, err
}

// termCounts adds up the statistics of a term over all parts.
func (r *run) termCounts(term string) (n segment.TermCounts) {
	for i := range r.s.parts {
		if t, ok := r.reader(i).Term(term); ok {
			n.Add(segment.TermCounts{Chunks: int64(t.Chunks), Documents: int64(t.Documents), Titles: int64(t.Titles)}, 1)
		}
		if delta := r.s.parts[i].Delta; delta != nil {
			n.Add(delta.Terms[term], -1)
		}
	}
	return n
}
