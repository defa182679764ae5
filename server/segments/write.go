package segments

import (
	"context"
	"fmt"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

// apply stores changes in one transaction. An index that turns out to be damaged is repaired first.
func (x *Index) apply(ctx context.Context, changes []documents.Change, cursors map[string]string) (
	written index.Written, err error) {
	if !x.ReadOnly() {
		x.worker.begin()
	}
	written, err = x.tryApply(ctx, changes, cursors)
	if suspects := damageOf(err); suspects != nil {
		if err := x.repair(ctx, suspects); err != nil {
			return index.Written{}, err
		}
		written, err = x.tryApply(ctx, changes, cursors)
	}
	if err == nil {
		x.worker.kick()
	}
	return written, err
}

func (x *Index) tryApply(ctx context.Context, changes []documents.Change, cursors map[string]string) (
	index.Written, error) {
	w := &writer{x: x, changes: len(changes)}
	written, err := x.Apply(ctx, changes, cursors, w)
	if err != nil {
		x.discard(w.segment)
	}
	return written, err
}

// writer is what a write adds to the documents: it is a documents.Written.
type writer struct {
	x       *Index
	changes int
	gone    []segment.Delta // of documents that are replaced or removed, where their texts are known
	segment *part           // of the new documents; nil: there are none
}

// Begin implements documents.Written.
func (w *writer) Begin(sqldb.Source) func(n int, old index.Document) {
	w.x.discard(w.segment)
	w.segment, w.gone = nil, make([]segment.Delta, w.changes)
	return func(n int, old index.Document) { w.gone[n] = segment.DeltaOf(old) }
}

// Prepare implements documents.Written: it makes a durable segment of what comes, and its vectors.
func (w *writer) Prepare(tx sqldb.Source, plan *documents.Plan) {
	builder, ok := w.x.builders.Get().(*segment.Builder)
	if !ok {
		builder = segment.NewBuilder()
	}
	defer func() {
		builder.Reset()
		w.x.builders.Put(builder)
	}()
	var list []*index.Document
	for _, i := range plan.Items {
		if i.Keep || i.Put == nil {
			continue
		}
		guard.Check(tx.Err())
		if err := builder.Add(*i.Put); err != nil {
			guard.Abort(fmt.Errorf("index document %q: %w", i.ID, err))
		}
		list = append(list, i.Put)
	}
	w.segment = w.x.buildSegment(tx, builder, list)
}
