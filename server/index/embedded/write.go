package embedded

import (
	"context"
	"fmt"
	"slices"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/documents"
	"quarry/server/index/segment"
	"quarry/server/sqldb"

	"golang.org/x/sync/errgroup"
)

// Write implements index.Index. A document that the batch both stores and deletes is stored; of two with one id the
// last counts. Besides the errors of package index: documents.ErrTooLarge, documents.ErrNoID, fault.ErrDiskFull.
func (x *Index) Write(ctx context.Context, batch index.Batch) (written index.Written, err error) {
	changes, err := documents.Changes(batch)
	if err != nil {
		return index.Written{}, fmt.Errorf("write to the library: %w", err)
	}
	if !batch.DryRun {
		return x.apply(ctx, changes, batch.Cursors)
	}
	err = x.reading(ctx, func(tx sqldb.Querier) error {
		plan, err := x.reader(tx).Plan(ctx, changes, nil)
		if err == nil {
			written = plan.Written
		}
		return err
	})
	return written, err
}

// UpdateAccess implements index.Index. Each document changes at once; of a long list, some may be seen changed before
// others.
func (x *Index) UpdateAccess(ctx context.Context, patches []index.AccessPatch) (int, error) {
	return documents.UpdateAccess(patches, func(changes []documents.Change) (index.Written, error) {
		return x.apply(ctx, changes, nil)
	})
}

// apply stores changes in one transaction. An index that turns out to be damaged is repaired first.
func (x *Index) apply(ctx context.Context, changes []documents.Change, cursors map[string]string) (
	written index.Written, err error) {
	if x.ReadOnly() {
		return index.Written{}, fmt.Errorf("write to the library: %w", fault.ErrReadOnly)
	}
	x.worker.begin()
	if err := x.prepareDictionary(ctx, changes); err != nil {
		return index.Written{}, err
	}
	written, err = x.tryApply(ctx, changes, cursors)
	if suspects := damageOf(err); suspects != nil {
		if err := x.repair(ctx, suspects); err != nil {
			return index.Written{}, err
		}
		written, err = x.tryApply(ctx, changes, cursors)
	}
	if err != nil {
		return index.Written{}, err
	}
	x.worker.kick()
	return written, nil
}

func (x *Index) tryApply(ctx context.Context, changes []documents.Change, cursors map[string]string) (
	index.Written, error) {
	ready := new(prepared)
	err := x.commit(ctx, func(tx sqldb.Querier) (err error) {
		x.discard(ready.segment)
		if ready, err = x.prepare(ctx, tx, changes); err != nil || !ready.nothing() {
			return err
		}
		if changed, err := cursorsChange(ctx, tx, cursors); err != nil || changed {
			return err
		}
		return errUnchanged
	}, func(tx sqldb.Querier) error {
		return ready.verify(ctx, x.reader(tx))
	}, func(tx *sqldb.Tx) error {
		return x.store(ctx, tx, ready, cursors)
	})
	if err != nil {
		x.discard(ready.segment)
		return index.Written{}, err
	}
	return ready.Written, nil
}

func cursorsChange(ctx context.Context, tx sqldb.Querier, cursors map[string]string) (bool, error) {
	for key, value := range cursors {
		current := ""
		err := sqldb.GetWhole(ctx, tx, []any{&current},
			"SELECT coalesce(max(value), '') FROM cursors WHERE key = ?", key)
		if err != nil || current != value {
			return err == nil, err
		}
	}
	return false, nil
}

// prepared is a write that lacks only its transaction.
type prepared struct {
	documents.Plan
	gone    []segment.Delta // of stored documents; of a damaged one it is read out of the index
	segment *part           // of the new documents; nil: there are none
	data    []byte          // of the segment
}

func (p *prepared) nothing() bool {
	return !slices.ContainsFunc(p.Items, func(i documents.Item) bool { return !i.Keep })
}

// prepare looks up what is stored, and makes everything that takes time: packed texts, statistics of what goes, and a
// durable segment of what comes.
func (x *Index) prepare(ctx context.Context, tx sqldb.Querier, changes []documents.Change) (*prepared, error) {
	ready := &prepared{gone: make([]segment.Delta, len(changes))}
	plan, err := x.reader(tx).Plan(ctx, changes, func(n int, old index.Document) {
		ready.gone[n] = segment.DeltaOf(old)
	})
	if err != nil {
		return new(prepared), err
	}
	ready.Plan = *plan
	var group errgroup.Group
	group.Go(guard.Err(func() error { return ready.Pack(ctx, x.packer) }))
	group.Go(guard.Err(func() error { return x.indexTexts(ctx, ready) }))
	if err := group.Wait(); err != nil {
		return ready, err
	}
	return ready, x.buildVectors(ctx, tx, ready)
}

func (x *Index) indexTexts(ctx context.Context, ready *prepared) error {
	builder, ok := x.builders.Get().(*segment.Builder)
	if !ok {
		builder = segment.NewBuilder()
	}
	defer func() {
		builder.Reset()
		x.builders.Put(builder)
	}()
	for n := range ready.Items {
		i := &ready.Items[n]
		if i.Keep || i.Put == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := builder.Add(*i.Put); err != nil {
			return fmt.Errorf("index document %q: %w", i.ID, err)
		}
	}
	var err error
	ready.segment, ready.data, err = x.buildSegment(builder)
	return err
}

// verify fails with errOvertaken unless all documents are as they were when the write was prepared.
func (p *prepared) verify(ctx context.Context, from *documents.Reader) error {
	ids := make([]string, len(p.Items))
	for n := range p.Items {
		ids[n] = p.Items[n].ID
	}
	found, err := from.Find(ctx, ids)
	if err != nil {
		return err
	}
	for n := range p.Items {
		now, old := found[ids[n]], p.Items[n].Old
		if (now == nil) != (old == nil) ||
			now != nil && (now.Number != old.Number || !slices.Equal(now.Hash, old.Hash)) {
			return errOvertaken
		}
	}
	return nil
}
