package embedded

import (
	"context"
	"fmt"
	"slices"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/documents"
	"quarry/server/index/segment"
	"quarry/server/sqldb"

	"golang.org/x/sync/errgroup"
)

const (
	// patchesAtOnce bounds the memory of UpdateAccess, which keeps the documents that it changes.
	patchesAtOnce = 256
)

// Write implements index.Index. A document that the batch both stores and deletes is stored; of two with one id the
// last counts. Besides the errors of package index: codec.ErrTooLarge, codec.ErrNoID, fault.ErrDiskFull.
func (x *Index) Write(ctx context.Context, batch index.Batch) (index.Written, error) {
	changes, err := codec.Changes(batch)
	if err != nil {
		return index.Written{}, fmt.Errorf("write to the library: %w", err)
	}
	if batch.DryRun {
		return x.count(ctx, changes)
	}
	return x.apply(ctx, changes, batch.Cursors)
}

// count returns what changes would do.
func (x *Index) count(ctx context.Context, changes []codec.Change) (index.Written, error) {
	view, err := x.openView(ctx)
	if err != nil {
		return index.Written{}, err
	}
	defer view.close()
	ready := new(prepared)
	err = ready.addAll(ctx, view.library, changes)
	return ready.written, err
}

// UpdateAccess implements index.Index. Each document changes at once; of a long list, some may be seen changed before
// others.
func (x *Index) UpdateAccess(ctx context.Context, patches []index.AccessPatch) (int, error) {
	if x.ReadOnly() {
		return 0, fmt.Errorf("change access: %w", fault.ErrReadOnly)
	}
	total := 0
	for some := range slices.Chunk(patches, patchesAtOnce) {
		written, err := x.apply(ctx, codec.AccessChanges(some), nil)
		if err != nil {
			return total, err
		}
		total += written.Updated
	}
	return total, nil
}

// apply stores changes in one transaction. An index that turns out to be damaged is repaired first.
func (x *Index) apply(ctx context.Context, changes []codec.Change, cursors map[string]string) (index.Written, error) {
	if x.ReadOnly() {
		return index.Written{}, fmt.Errorf("write to the library: %w", fault.ErrReadOnly)
	}
	x.worker.begin()
	if err := x.prepareDictionary(ctx, changes); err != nil {
		return index.Written{}, err
	}
	written, err := x.tryApply(ctx, changes, cursors)
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

func (x *Index) tryApply(ctx context.Context, changes []codec.Change, cursors map[string]string) (index.Written, error) {
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
		return ready.verify(ctx, tx, x.packer)
	}, func(tx *sqldb.Tx) error {
		return x.store(ctx, tx, ready, cursors)
	})
	if err != nil {
		x.discard(ready.segment)
		return index.Written{}, err
	}
	return ready.written, nil
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
	items   []item
	written index.Written
	owned   map[string]string // origins of the documents of others that the write would replace, by id
	segment *part             // of the new documents; nil: there are none
	data    []byte            // of the segment
}

// item is one document of a write.
type item struct {
	codec.Change
	old      *documents.Row // nil: not stored yet
	row      int64          // set when it is stored
	gone     segment.Delta
	unread   bool // old is damaged: gone is to be read out of the index
	keep     bool // nothing changes; old must still be what was seen
	hash     []byte
	groups   []codec.Group
	sameText bool // the stored chunks stay
}

func (p *prepared) nothing() bool {
	return !slices.ContainsFunc(p.items, func(i item) bool { return !i.keep })
}

// prepare looks up what is stored, and makes everything that takes time: packed texts, statistics of what goes, and a
// durable segment of what comes.
func (x *Index) prepare(ctx context.Context, tx sqldb.Querier, changes []codec.Change) (*prepared, error) {
	ready := &prepared{items: make([]item, 0, len(changes))}
	library := newLibrary(tx, x.packer)
	if err := ready.addAll(ctx, library, changes); err != nil {
		return ready, err
	}
	var group errgroup.Group
	group.Go(guard.Err(func() error { return x.packTexts(ctx, ready) }))
	group.Go(guard.Err(func() error { return x.indexTexts(ctx, ready) }))
	if err := group.Wait(); err != nil {
		return ready, err
	}
	return ready, x.buildVectors(ctx, tx, ready)
}

// addAll adds changes; an *index.OwnedError if documents of others are among them.
func (p *prepared) addAll(ctx context.Context, library *library, changes []codec.Change) error {
	for _, c := range changes {
		if err := p.add(ctx, library, c); err != nil {
			return err
		}
	}
	if len(p.owned) > 0 {
		return fmt.Errorf("write to the library: %w", &index.OwnedError{Origins: p.owned})
	}
	return nil
}

func (p *prepared) add(ctx context.Context, library *library, c codec.Change) error {
	old, err := library.look(ctx, c.ID)
	if err != nil {
		return err
	}
	if old != nil && c.Excludes(old.Owner()) {
		if c.Put != nil {
			if p.owned == nil {
				p.owned = make(map[string]string)
			}
			p.owned[c.ID] = old.Owner()
		}
		p.items = append(p.items, item{Change: c, old: old, keep: true})
		return nil
	}
	i := item{Change: c, old: old, keep: old == nil && c.Put == nil}
	if old != nil {
		err = i.compare(ctx, library)
	} else if i.Put != nil {
		i.hash = codec.Hash(i.Put)
	}
	if err != nil {
		return err
	}
	p.count(&i)
	p.items = append(p.items, i)
	return nil
}

// compare fills an item whose document is stored. What is stored and damaged is stored again even if it is the same;
// but a patch keeps the chunks as they are: the ones that cannot be read stay known as damaged.
func (i *item) compare(ctx context.Context, library *library) error {
	if i.Put != nil {
		i.hash = codec.Hash(i.Put)
		if !i.old.Damaged && slices.Equal(i.hash, i.old.Hash) {
			_, damaged, err := library.examine(ctx, i.old)
			if i.keep = !damaged; err != nil || i.keep {
				return err
			}
			i.unread = true
			return nil
		}
	}
	whole, lost, err := library.whole(ctx, i.old)
	if err != nil {
		return err
	}
	i.unread = lost
	switch {
	case i.Patches != nil && i.old.Damaged:
		i.keep = true // nothing is known of it that could be kept
	case i.Patches != nil:
		document := codec.Patched(whole, i.Patches)
		i.Put = &document
		i.hash = slices.Concat(codec.Hash(&document)[:codec.HashBytes], i.old.Hash[codec.HashBytes:])
		i.keep, i.sameText = slices.Equal(i.hash, i.old.Hash), true
	case i.Put != nil:
		i.sameText = !lost && codec.SameChunks(i.old.Hash, i.hash)
	}
	if !i.keep && !i.unread {
		i.gone = segment.DeltaOf(whole)
	}
	return nil
}

func (p *prepared) count(i *item) {
	switch {
	case i.Put == nil && i.old != nil:
		p.written.Removed++
	case i.Put == nil:
	case i.keep:
		p.written.Unchanged++
	case i.old != nil:
		p.written.Updated++
	default:
		p.written.Added++
	}
}

func (x *Index) packTexts(ctx context.Context, ready *prepared) error {
	for n := range ready.items {
		i := &ready.items[n]
		if i.keep || i.Put == nil || i.sameText {
			continue
		}
		groups, err := x.packer.PackChunks(ctx, i.Put.Chunks)
		if err != nil {
			return err
		}
		i.groups = groups
	}
	return nil
}

func (x *Index) indexTexts(ctx context.Context, ready *prepared) error {
	builder := segment.NewBuilder()
	for n := range ready.items {
		i := &ready.items[n]
		if i.keep || i.Put == nil {
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
func (p *prepared) verify(ctx context.Context, tx sqldb.Querier, packer *codec.Packer) error {
	library := newLibrary(tx, packer)
	for n := range p.items {
		i := &p.items[n]
		now, err := library.look(ctx, i.ID)
		if err != nil {
			return err
		}
		if (now == nil) != (i.old == nil) ||
			now != nil && (now.Number != i.old.Number || !slices.Equal(now.Hash, i.old.Hash)) {
			return errOvertaken
		}
	}
	return nil
}
