package shared

import (
	"context"
	"fmt"
	"slices"

	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/documents"
	"quarry/server/sqldb"
)

// Write implements index.Index: it returns when the batch is in the database. A document that the batch both stores and
// deletes is stored; of two with one id the last counts. Besides the errors of package index: codec.ErrTooLarge,
// codec.ErrNoID.
func (s *Store) Write(ctx context.Context, batch index.Batch) (index.Written, error) {
	changes, err := codec.Changes(batch)
	if err != nil {
		return index.Written{}, fmt.Errorf("write the documents: %w", err)
	}
	if !batch.DryRun {
		return s.apply(ctx, changes, batch.Cursors)
	}
	var w write
	err = w.compare(ctx, reader{s.db.Pool(), s.packer}, changes)
	return w.written, err
}

// UpdateAccess implements index.Index.
func (s *Store) UpdateAccess(ctx context.Context, patches []index.AccessPatch) (total int, err error) {
	for some := range slices.Chunk(patches, codec.MaxBatchDocuments) {
		written, err := s.apply(ctx, codec.AccessChanges(some), nil)
		if err != nil {
			return total, err
		}
		total += written.Updated
	}
	return total, nil
}

// apply stores changes in one transaction.
func (s *Store) apply(ctx context.Context, changes []codec.Change, cursors map[string]string) (index.Written, error) {
	var w write
	err := s.update(ctx, func(tx *sqldb.Tx) {
		w = write{}
		tx.Fail(w.compare(ctx, reader{tx, s.packer}, changes))
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
	items   []item
	written index.Written
}

// item is one document that a write changes.
type item struct {
	codec.Change
	old      *stored // nil: not stored yet
	hash     []byte
	row      [2]int64 // of the document, and the number of the change
	sameText bool     // the stored chunks stay
}

// compare looks up what is stored, and leaves out what does not change; an *index.OwnedError if documents of others
// would be replaced.
func (w *write) compare(ctx context.Context, from reader, changes []codec.Change) error {
	ids := make([]string, 0, len(changes))
	for i := range changes {
		ids = append(ids, changes[i].ID)
	}
	found, err := from.find(ctx, ids)
	if err != nil {
		return err
	}
	owned := map[string]string{}
	for _, c := range changes {
		old := found[c.ID]
		switch {
		case old != nil && c.Excludes(old.Owner()):
			if c.Put != nil {
				owned[c.ID] = old.Owner()
			}
		case old != nil || c.Put != nil:
			w.add(item{Change: c, old: old})
		}
	}
	if len(owned) > 0 {
		return fmt.Errorf("write the documents: %w", &index.OwnedError{Origins: owned})
	}
	return nil
}

// add adds a change unless it changes nothing.
func (w *write) add(i item) {
	switch {
	case i.Patches != nil:
		if i.old.Damaged {
			return // nothing is known of it that could be kept
		}
		document := codec.Patched(i.old.Document, i.Patches)
		i.Put, i.sameText = &document, true
		i.hash = slices.Concat(codec.Hash(&document)[:codec.HashBytes],
			i.old.Hash[min(codec.HashBytes, len(i.old.Hash)):])
	case i.Put != nil:
		i.hash = codec.Hash(i.Put)
		i.sameText = i.old != nil && codec.SameChunks(i.old.Hash, i.hash)
	}
	switch {
	case i.Put == nil:
		w.written.Removed++
	case i.old == nil:
		w.written.Added++
	case slices.Equal(i.hash, i.old.Hash):
		if i.Patches == nil {
			w.written.Unchanged++
		}
		return
	default:
		w.written.Updated++
	}
	w.items = append(w.items, i)
}

// accessAlone reports whether nothing changes but what an access patch changes.
func (i *item) accessAlone() bool {
	if i.old == nil || !i.sameText || i.old.Damaged {
		return false
	}
	d := *i.Put
	d.Access, d.Sets, d.Hidden = i.old.Access, i.old.Sets, i.old.Hidden
	return slices.Equal(codec.Hash(&d)[:codec.HashBytes], i.old.Hash[:codec.HashBytes])
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
func (r *rowChanges) add(ctx context.Context, i *item, sequence int64, packer *codec.Packer) (err error) {
	if i.old != nil {
		r.documents, r.chunks = r.documents-1, r.chunks-i.old.ChunkCount
		r.reset = append(r.reset, i.old.Number)
		if !i.sameText {
			r.retexted = append(r.retexted, i.old.Number)
		}
	}
	if i.Put == nil {
		r.gone, r.tombs = append(r.gone, i.old.Number), append(r.tombs, []any{i.ID, sequence})
		return nil
	}
	row := documents.Row{Stored: index.Stored{Document: *i.Put, ChunkCount: len(i.Put.Chunks)}, Number: sequence,
		Hash: i.hash}
	texted, added := sequence, r.now
	if i.old == nil {
		r.added = append(r.added, i.ID)
	} else {
		row.Number, added = i.old.Number, i.old.added
		if i.accessAlone() {
			texted = i.old.texted
		}
	}
	if i.Patches != nil {
		row.ChunkCount = i.old.ChunkCount
	}
	i.row = [2]int64{row.Number, sequence}
	r.documents, r.chunks = r.documents+1, r.chunks+row.ChunkCount
	if row.Detail, err = packer.PackDetail(i.Put); err != nil {
		return err
	}
	r.puts = append(r.puts, row.Values(sequence, texted, added))
	for _, name := range slices.Compact(slices.Sorted(slices.Values(row.Sets))) {
		r.sets = append(r.sets, []any{row.Number, name})
	}
	if i.sameText {
		return nil
	}
	groups, err := packer.PackChunks(ctx, row.Chunks)
	for _, g := range groups {
		r.groups = append(r.groups, []any{row.Number, g.First, g.Count, g.Body})
	}
	return err
}

func (r *rowChanges) store(tx *sqldb.Tx) {
	const listed = " IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
	sqldb.ExecList(tx, "DELETE FROM document_sets WHERE document"+listed, r.reset)
	sqldb.ExecList(tx, "DELETE FROM chunks WHERE document"+listed, r.retexted)
	sqldb.ExecList(tx, "DELETE FROM analysed WHERE document"+listed, r.gone)
	sqldb.ExecList(tx, "DELETE FROM documents WHERE row"+listed, r.gone)
	sqldb.ExecList(tx, "DELETE FROM removals WHERE id IN (SELECT value FROM json_each(?))", r.added)
	tx.Insert("documents ("+columns+")", r.puts, " ON CONFLICT (id) DO UPDATE SET "+documents.Replaced()+`,
		changed = excluded.changed, texted = excluded.texted, vectors =
		CASE WHEN excluded.texted = excluded.changed THEN '' ELSE documents.vectors END`)
	tx.Insert("document_sets (document, name)", r.sets, "")
	tx.Insert("chunks (document, first, amount, body)", r.groups, "")
	tx.Insert("removals (id, changed)", r.tombs, "")
}
