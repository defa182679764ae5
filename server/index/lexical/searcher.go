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
func NewSearcher(parts []Part) (*Searcher, error) {
	return NewSearcherWith(parts, DefaultParams())
}

// NewSearcherWith is NewSearcher with other constants of ranking.
func NewSearcherWith(parts []Part, params Params) (*Searcher, error) {
	s := &Searcher{parts: parts, params: params}
	for _, p := range parts {
		s.stats.Add(p.Segment.Stats(), 1)
		if p.Delta != nil {
			s.stats.Add(p.Delta.Stats, -1)
		}
	}
	return s, nil
}

// Documents is the number of live documents.
func (s *Searcher) Documents() int { return int(s.stats.Documents) }

// Chunks is the number of live chunks.
func (s *Searcher) Chunks() int { return int(s.stats.Chunks) }

func (p *Part) live(ordinal int) bool {
	return p.Deleted == nil || !p.Deleted.Contains(uint32(ordinal))
}

// Find returns the part and ordinal of a live document.
func (s *Searcher) Find(documentID string) (part, ordinal int, ok bool, err error) {
	for i := range s.parts {
		ordinal, ok, err = s.parts[i].Segment.Find(documentID)
		if err != nil {
			return 0, 0, false, err
		}
		if ok && s.parts[i].live(ordinal) {
			return i, ordinal, true, nil
		}
	}
	return 0, 0, false, nil
}

// Admits says whether a document is live, and whether it is admitted: not hidden, and one that access may see.
func (s *Searcher) Admits(documentID string, access index.Access) (live, admitted bool, err error) {
	part, ordinal, ok, err := s.Find(documentID)
	if err != nil || !ok {
		return false, false, err
	}
	run := s.newRun(context.Background())
	defer run.close()
	err = run.protect(func() error {
		bits := run.rights(part, access)
		admitted = has(bits, ordinal)
		return nil
	})
	return true, admitted, err
}

// statistics of a term over all parts.
type termStats struct{ chunks, documents, titles int64 }

func (r *run) termStats(term string) (n termStats) {
	for i := range r.s.parts {
		p := &r.s.parts[i]
		if t, ok := r.reader(i).Term(term); ok {
			n.chunks += int64(t.Chunks)
			n.documents += int64(t.Documents)
			n.titles += int64(t.Titles)
		}
		if p.Delta != nil {
			d := p.Delta.Terms[term]
			n.chunks -= d.Chunks
			n.documents -= d.Documents
			n.titles -= d.Titles
		}
	}
	return n
}
