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
func (s *Store) UpdateAccess(ctx context.Context, patches []index.AccessPatch) (total int, err error) {
	for some := range slices.Chunk(patches, documents.PatchesAtOnce) {
		written, err := s.apply(ctx, documents.AccessChanges(some), nil)
		if err != nil {
			return total, err
		}
		total += written.Updated
	}
	return total, nil
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
	items    []item // that change something
	written  index.Written
	counting bool             // of words
	replaced []index.Document // what is replaced or removed, if words are counted
}

// item is one document that a write changes.
type item struct {
	documents.Item
	row [2]int64 // of the document, and the number of the change
}

// plan compares changes with what is stored.
func (w *write) plan(ctx context.Context, from *documents.Reader, changes []documents.Change) (err error) {
	if w.counting, err = isCounting(ctx, from); err != nil {
		return err
	}
	plan, err := from.Plan(ctx, changes, func(_ int, old index.Document) {
		if w.counting {
			w.replaced = append(w.replaced, old)
		}
	})
	if err != nil {
		return err
	}
	w.written = plan.Written
	for _, i := range plan.Items {
		if i.Old != nil && i.Old.Number == 0 {
			return i.Old.Cause // its chunks are not known
		}
		if !i.Keep {
			w.items = append(w.items, item{Item: i})
		}
	}
	return nil
}

// accessAlone reports whether nothing changes but what an access patch changes.
func (i *item) accessAlone() bool {
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
	if err != nil {
		return err
	}
	rows := rowChanges{now: s.now().UnixMicro()}
	for n := range w.items {
		m.sequence++
		if err := rows.add(ctx, &w.items[n], m.sequence, s.packer); err != nil {
			return err
		}
	}
	if err := w.countChanges(ctx, tx, s); err != nil {
		return err
	}
	rows.store(tx)
	tx.Exec("UPDATE library SET sequence = ?, documents = documents + ?, chunks = chunks + ?", m.sequence, rows.documents,
		rows.chunks)
	return nil
}

// rowChanges are the rows that a write removes and inserts.
type rowChanges struct {
	now                       int64
	documents, chunks         int      // how many more there are
	reset                     []int64  // rows of documents whose sets change
	retexted, gone            []int64  // whose chunks, and which themselves are removed
	added                     []string // ids of documents that may have been removed before
	puts, groups, sets, tombs [][]any
}

// add adds the change with a number.
func (r *rowChanges) add(ctx context.Context, i *item, sequence int64, packer *documents.Packer) (err error) {
	if i.Old != nil {
		r.documents, r.chunks = r.documents-1, r.chunks-i.Old.ChunkCount
		r.reset = append(r.reset, i.Old.Number)
		if !i.SameText {
			r.retexted = append(r.retexted, i.Old.Number)
		}
	}
	if i.Put == nil {
		r.gone, r.tombs = append(r.gone, i.Old.Number), append(r.tombs, []any{i.ID, sequence})
		return nil
	}
	row := documents.Row{Stored: index.Stored{Document: *i.Put, ChunkCount: len(i.Put.Chunks)}, Number: sequence,
		Hash: i.Hash}
	texted, added := sequence, r.now
	if i.Old == nil {
		r.added = append(r.added, i.ID)
	} else {
		row.Number, added = i.Old.Number, i.Old.Added
		if i.accessAlone() {
			texted = i.Old.Texted
		}
	}
	i.row = [2]int64{row.Number, sequence}
	r.documents, r.chunks = r.documents+1, r.chunks+row.ChunkCount
	if err = packer.SealDetail(&row); err != nil {
		return err
	}
	r.puts = append(r.puts, row.Values(sequence, texted, added))
	for _, name := range slices.Compact(slices.Sorted(slices.Values(row.Sets))) {
		r.sets = append(r.sets, []any{row.Number, name})
	}
	if i.SameText {
		return nil
	}
	groups, err := packer.PackChunks(ctx, row.Chunks)
	for _, g := range groups {
		key, body := g.Sealed(row.Number, i.Hash)
		r.groups = append(r.groups, []any{key, body})
	}
	return err
}

func (r *rowChanges) store(tx *sqldb.Tx) {
	const listed = " IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
	sqldb.ExecList(tx, "DELETE FROM document_sets WHERE document"+listed, r.reset)
	documents.RemoveChunks(tx, r.retexted...)
	sqldb.ExecList(tx, "DELETE FROM analysed WHERE document"+listed, r.gone)
	sqldb.ExecList(tx, "DELETE FROM documents WHERE row"+listed, r.gone)
	sqldb.ExecList(tx, "DELETE FROM removals WHERE id IN (SELECT value FROM json_each(?))", r.added)
	tx.Insert("documents ("+documents.Columns+", "+documents.LogColumns+")", r.puts,
		" ON CONFLICT (id) DO UPDATE SET "+documents.Replaced()+`, changed = excluded.changed, texted = excluded.texted, vectors =
		CASE WHEN excluded.texted = excluded.changed THEN '' ELSE documents.vectors END`)
	tx.Insert("document_sets (document, name)", r.sets, "")
	tx.Insert("chunks (key, body)", r.groups, "")
	tx.Insert("removals (id, changed)", r.tombs, "")
}
