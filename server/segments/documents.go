package segments

import (
	"fmt"
	"slices"

	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// readAtOnce documents are read with one statement.
const readAtOnce = 64

// yieldDocument is called with a document and its number, or ordinal.
type yieldDocument = func(number int, d *index.Document) error

// indexed calls yield with documents that the index contains, by their numbers among ids. What cannot be read of them
// is left out.
func indexed(from *documents.Reader, ids []string, yield yieldDocument) error {
	done := 0
	for some := range slices.Chunk(ids, readAtOnce) {
		found, err := from.Find(some)
		if err != nil {
			return err
		}
		rows := make([]*documents.Row, len(some))
		for i, id := range some {
			if rows[i] = found[id]; rows[i] == nil {
				return fmt.Errorf("%w: document %q is in the index but not stored", segment.ErrDamaged, id)
			}
		}
		for len(rows) > 0 {
			whole, err := from.Whole(rows[:documents.Fitting(rows)]...)
			for i := 0; i < len(whole) && err == nil; i++ {
				err = yield(done+i, &whole[i])
			}
			if err != nil {
				return err
			}
			done, rows = done+len(whole), rows[len(whole):]
		}
	}
	return nil
}

// each calls yield with the documents that live ordinals of a part stand for.
func (v *view) each(p *part, ordinals []int, yield yieldDocument) (err error) {
	ids := make([]string, len(ordinals))
	for i, ordinal := range ordinals {
		if ids[i], err = p.segment.reader.DocumentID(ordinal); err != nil {
			return err
		}
	}
	return indexed(v.Reader, ids, func(n int, d *index.Document) error { return yield(ordinals[n], d) })
}
