package segments

import (
	"context"
	"strconv"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

// wholeKey is the cursor with the position of an index that has all documents of its source as they were there. After
// a part of the changes, or a repair, it has others.
const wholeKey = "whole"

// position returns the number of the last change of its source that the index has, and whether it has all documents as
// they were then.
func (x *Index) position(ctx context.Context) (position int64, whole bool, err error) {
	defer guard.End(&err)
	position = documents.ReadState(x.Newest(ctx)).Generation
	return position, documents.Cursors(x.Newest(ctx), wholeKey)[wholeKey] == strconv.FormatInt(position, 10), nil
}

// followTo applies changes of the source up to a position; whole says that these are all. Each item says that a
// document may be replaced or removed, and SameText that the words stay. gone are the words that some documents have in
// the index, by id; those of others are read out of their segments.
func (x *Index) followTo(ctx context.Context, plan *documents.Plan, gone map[string]segment.Delta, position int64,
	whole bool) (err error) {
	defer guard.EndWhile("index the documents", &err)
	x.worker.begin()
	w := &writer{x: x, changes: len(plan.Items)}
	if err := x.Commit(ctx, func(tx sqldb.Source) {
		w.Begin(tx)
		for n, i := range plan.Items {
			delta, known := gone[i.ID]
			if !known && i.SameText {
				delta, known = segment.DeltaOf(*i.Put), true
			}
			w.gone[n], i.Unread = delta, !known
		}
		w.Prepare(tx, plan)
	}, func(sqldb.Source) {}, func(tx *sqldb.Tx) {
		w.storeDeletes(tx, documents.ReadState(tx.Source).Manifest, plan)
		if w.segment != nil {
			w.segment.insert(tx)
		}
		tx.Exec("UPDATE meta SET generation = ?, manifest = manifest + 1", position)
		if whole {
			documents.PutCursors(tx, map[string]string{wholeKey: strconv.FormatInt(position, 10)})
		}
	}); err != nil {
		x.discard(w.segment)
		return err
	}
	x.worker.kick()
	return nil
}

// mended reports whether an error of followTo or of a view in step says that the index is damaged, and it is repaired.
// A repair needs a view of its own.
func (x *Index) mended(ctx context.Context, err error) bool {
	suspects := damageOf(err)
	return suspects != nil && x.repair(ctx, suspects) == nil
}

// stored returns what reads the documents that a transaction shows, or those of the source, which may be newer than
// what is indexed.
func (x *Index) stored(tx sqldb.Source) (from *documents.Reader, done func()) {
	if x.source == nil {
		return x.Reader(tx), func() {}
	}
	shown := guard.Must(x.source.view(tx))
	return shown.Reader(tx), shown.Close
}
