package segments

import (
	"fmt"
	"iter"
	"slices"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// readAtOnce documents are read with one statement.
const readAtOnce = 64

// numbered yields documents and their numbers, or ordinals.
type numbered = iter.Seq2[int, *index.Document]

// indexed yields documents that the index contains, by their numbers among ids. What cannot be read of them is left
// out.
func indexed(from *documents.Reader, ids []string) numbered {
	return func(yield func(int, *index.Document) bool) {
		done := 0
		for some := range slices.Chunk(ids, readAtOnce) {
			found := from.Find(some)
			rows := make([]*documents.Row, len(some))
			for i, id := range some {
				if rows[i] = found[id]; rows[i] == nil {
					guard.Abort(fmt.Errorf("%w: document %q is in the index but not stored", segment.ErrDamaged, id))
				}
			}
			for len(rows) > 0 {
				whole := from.Whole(rows[:documents.Fitting(rows)]...)
				for i := range whole {
					if !yield(done+i, &whole[i]) {
						return
					}
				}
				done, rows = done+len(whole), rows[len(whole):]
			}
		}
	}
}

// each yields the documents that live ordinals of a part stand for.
func (v *view) each(p *part, ordinals []int) numbered {
	return func(yield func(int, *index.Document) bool) {
		ids := make([]string, len(ordinals))
		for i, ordinal := range ordinals {
			ids[i] = guard.Must(p.segment.reader.DocumentID(ordinal))
		}
		for n, d := range indexed(v.Reader, ids) {
			if !yield(ordinals[n], d) {
				return
			}
		}
	}
}
