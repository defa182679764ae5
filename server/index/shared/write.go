package shared

import (
	"context"
	"fmt"
	"slices"

	"quarry/server/index"
	"quarry/server/index/documents"
	"quarry/server/sqldb"
)

// Write implements index.Index: it returns when the batch is in the database. A document that the batch both stores and
// deletes is stored; of two with one id the last counts. Besides the errors of package index: documents.ErrTooLarge,
// documents.ErrNoID.
func (s *Store) Write(ctx context.Context, batch index.Batch) (index.Written, error) {
	changes, err := documents.Changes(batch)
	if err != nil {
		return index.Written{}, fmt.Errorf("write the documents: %w", err)
	}
	if !batch.DryRun {
		return s.apply(ctx, changes, batch.Cursors)
	}
	var w write
	err = w.plan(ctx, s.reader(s.db.Pool()), changes)
	return w.written, err
}

// UpdateAccess implements index.Index.
func (s *Store) UpdateAccess(ctx context.Context, patches []index.AccessPatch) (int, error) {
	return documents.UpdateAccess(patches, func(changes []documents.Change) (index.Written, error) {
		return s.apply(ctx, changes, nil)
	})
}

// apply stores changes in one transaction.
func (s *Store) apply(ctx context.Context, changes []documents.Change, cursors map[string]string) (
	index.Written, error) {
	var w write
	err := s.update(ctx, func(tx *sqldb.Tx) {
		w = write{}
		tx.Fail(w.plan(ctx, s.reader(tx), changes))
		documents.PutCursors(tx, cursors)
		tx.Fail(w.store(ctx, tx, s))
	})
	if err != nil {
		return index.Written{}, err
	}
	return w.written, nil
}

// write is what changes do to the documents that are stored.
type write struct {
	items    []documents.Item // that change something
	written  index.Written
	counting bool             // of words
	replaced []index.Document // what is replaced or removed, if words are counted
}

// plan compares changes with what is stored.
func (w *write) plan(ctx context.Context, from *documents.Reader, changes []documents.Change) (err error) {
	if w.counting, err = isCounting(ctx, from); err != nil {
		return err
	}
	var replaced func(int, index.Document)
	if w.counting {
		replaced = func(_ int, old index.Document) { w.replaced = append(w.replaced, old) }
	}
	plan, err := from.Plan(ctx, changes, replaced)
	if err != nil {
		return err
	}
	for _, i := range plan.Items {
		if i.Old != nil && i.Old.Number == 0 {
			return i.Old.Cause // its chunks are not known
		}
	}
	w.written = plan.Written
	w.items = slices.DeleteFunc(plan.Items, func(i documents.Item) bool { return i.Keep })
	return nil
}

// isAccessAlone reports whether nothing changes but what an access patch changes.
func isAccessAlone(i *documents.Item) bool {
	if i.Old == nil || !i.SameText || i.Old.Damaged {
		return false
	}
	d := *i.Put
	d.Access, d.Sets, d.Hidden = i.Old.Access, i.Old.Sets, i.Old.Hidden
	return slices.Equal(documents.Hash(&d)[:documents.HashBytes], i.Old.Hash[:documents.HashBytes])
}

// store writes the items within a transaction.
func (w *write) store(ctx context.Context, tx *sqldb.Tx, s *Store) error {
	if len(w.items) == 0 {
		return nil
	}
	m, err := s.state(ctx, tx)
	if err == nil {
		err = (&documents.Plan{Items: w.items}).Pack(ctx, s.packer)
	}
	if err != nil {
		return err
	}
	rows := documents.Rows{Packer: s.packer, Logged: true}
	now := s.now().UnixMicro()
	var gone []int64
	var added []string // ids of documents that may have been removed before
	var removals [][]any
	for n := range w.items {
		i := &w.items[n]
		m.sequence++
		i.Row, i.Changed = m.sequence, m.sequence
		texted, addedAt := m.sequence, now
		if i.Old == nil {
			added = append(added, i.ID)
		} else {
			i.Row, addedAt = i.Old.Number, i.Old.Added
		}
		if i.Put == nil {
			gone, removals = append(gone, i.Row), append(removals, []any{i.ID, m.sequence})
		} else if isAccessAlone(i) {
			texted = i.Old.Texted
		}
		rows.Add(tx, i, m.sequence, texted, addedAt)
	}
	if err := w.countChanges(ctx, tx, s); err != nil {
		return err
	}
	rows.Flush(tx)
	sqldb.ExecList(tx, "DELETE FROM analysed WHERE document IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", gone)
	sqldb.ExecList(tx, "DELETE FROM removals WHERE id IN (SELECT value FROM json_each(?))", added)
	tx.Insert("removals (id, changed)", removals, "")
	tx.Exec("UPDATE library SET sequence = ?, documents = documents + ?, chunks = chunks + ?", m.sequence, rows.Documents,
		rows.Chunks)
	return nil
}
