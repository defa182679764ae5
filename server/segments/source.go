package segments

import (
	"context"
	"fmt"

	"quarry/server/documents"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

// position returns the number of the last change of its source that the index has.
func (x *Index) position(ctx context.Context) (int64, error) {
	m, err := readMeta(ctx, x.db.Reader)
	return m.generation, err
}

// followTo applies changes of the source up to a position. Each item says that a document may be replaced or removed, and
// SameText that the words stay.
func (x *Index) followTo(ctx context.Context, plan *documents.Plan, position int64) error {
	x.worker.begin()
	w := &writer{x: x, changes: len(plan.Items)}
	err := x.Commit(ctx, func(tx sqldb.Querier) error {
		w.Begin(nil)
		for n := range plan.Items {
			i := &plan.Items[n]
			if i.Unread = !i.SameText; i.SameText {
				w.gone[n] = segment.DeltaOf(*i.Put)
			}
		}
		return w.Prepare(ctx, tx, plan)
	}, func(sqldb.Querier) error { return nil }, func(tx *sqldb.Tx) error {
		m, err := readMeta(ctx, tx)
		if err == nil {
			err = w.storeDeletes(ctx, tx, m.manifest, plan)
		}
		if w.segment != nil {
			w.segment.insert(tx)
		}
		tx.Exec("UPDATE meta SET generation = ?, manifest = manifest + 1", position)
		return err
	})
	if err != nil {
		x.discard(w.segment)
		return fmt.Errorf("index the documents: %w", err)
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
func (x *Index) stored(ctx context.Context, tx sqldb.Querier) (from *documents.Reader, done func(), err error) {
	if x.source == nil {
		return x.Reader(tx), func() {}, nil
	}
	shown, err := x.source.view(ctx)
	return shown.Reader, shown.Close, err
}
