package shared

import (
	"context"
	"fmt"
	"slices"

	"quarry/server/index"
	"quarry/server/index/codec"
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
		putCursors(tx, cursors)
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
		case old != nil && c.Excludes(old.document.Origin):
			if c.Put != nil {
				owned[c.ID] = old.document.Origin
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
		if i.old.damaged != nil {
			return // nothing is known of it that could be kept
		}
		document := codec.Patched(i.old.document, i.Patches)
		i.Put, i.sameText = &document, true
		i.hash = slices.Concat(codec.Hash(&document)[:codec.HashBytes], i.old.hash[min(codec.HashBytes, len(i.old.hash)):])
	case i.Put != nil:
		i.hash = codec.Hash(i.Put)
		i.sameText = i.old != nil && codec.SameChunks(i.old.hash, i.hash)
	}
	switch {
	case i.Put == nil:
		w.written.Removed++
	case i.old == nil:
		w.written.Added++
	case slices.Equal(i.hash, i.old.hash):
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
	if i.old == nil || !i.sameText || i.old.damaged != nil {
		return false
	}
	d := *i.Put
	d.Access, d.Sets, d.Hidden = i.old.document.Access, i.old.document.Sets, i.old.document.Hidden
	return slices.Equal(codec.Hash(&d)[:codec.HashBytes], i.old.hash[:codec.HashBytes])
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
func (r *rowChanges) add(ctx context.Context, i *item, sequence int64, packer *codec.Packer) error {
	if i.old != nil {
		r.documents, r.chunks = r.documents-1, r.chunks-i.old.chunks
		r.reset = append(r.reset, i.old.row)
		if !i.sameText {
			r.retexted = append(r.retexted, i.old.row)
		}
	}
	if i.Put == nil {
		r.gone, r.tombs = append(r.gone, i.old.row), append(r.tombs, []any{i.ID, sequence})
		return nil
	}
	d, row, texted, added, chunks := i.Put, sequence, sequence, r.now, len(i.Put.Chunks)
	defer func() { i.row = [2]int64{row, sequence} }()
	if i.old == nil {
		r.added = append(r.added, i.ID)
	} else {
		row, added = i.old.row, i.old.added
		if i.accessAlone() {
			texted = i.old.texted
		}
	}
	if i.Patches != nil {
		chunks = i.old.chunks
	}
	r.documents, r.chunks = r.documents+1, r.chunks+chunks
	detail, err := packer.PackDetail(d)
	if err != nil {
		return err
	}
	r.puts = append(r.puts, []any{row, d.ID, sequence, texted, added, i.hash, d.Source, d.Origin, d.Title, d.Link, d.Type,
		codec.Micros(d.CreatedAt), codec.Micros(d.UpdatedAt), bit(d.Hidden), chunks, detail})
	for _, name := range slices.Compact(slices.Sorted(slices.Values(d.Sets))) {
		r.sets = append(r.sets, []any{row, name})
	}
	if i.sameText {
		return nil
	}
	groups, err := packer.PackChunks(ctx, d.Chunks)
	for _, g := range groups {
		r.groups = append(r.groups, []any{row, g.First, g.Count, g.Body})
	}
	return err
}

func (r *rowChanges) store(tx *sqldb.Tx) {
	const listed = " IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
	execList(tx, "DELETE FROM document_sets WHERE document"+listed, r.reset)
	execList(tx, "DELETE FROM chunks WHERE document"+listed, r.retexted)
	execList(tx, "DELETE FROM analysed WHERE document"+listed, r.gone)
	execList(tx, "DELETE FROM documents WHERE row"+listed, r.gone)
	execList(tx, "DELETE FROM removals WHERE id IN (SELECT value FROM json_each(?))", r.added)
	insert(tx, "documents ("+documentColumns+")", 16, r.puts, ` ON CONFLICT (id) DO UPDATE SET changed = excluded.changed,
		texted = excluded.texted, hash = excluded.hash, source = excluded.source, origin = excluded.origin,
		title = excluded.title, link = excluded.link, type = excluded.type, created_at = excluded.created_at,
		updated_at = excluded.updated_at, hidden = excluded.hidden, chunks = excluded.chunks, detail = excluded.detail,
		vectors = CASE WHEN excluded.texted = excluded.changed THEN '' ELSE documents.vectors END`)
	insert(tx, "document_sets (document, name)", 2, r.sets, "")
	insert(tx, "chunks (document, first, amount, body)", 4, r.groups, "")
	insert(tx, "removals (id, changed)", 2, r.tombs, "")
}

// execList runs a statement whose parameter is a list, if the list is not empty.
func execList[T any](tx *sqldb.Tx, statement string, values []T) {
	if len(values) > 0 {
		tx.Exec(statement, sqldb.JSON{V: values})
	}
}

func putCursors(tx *sqldb.Tx, cursors map[string]string) {
	var gone []string
	var kept [][]any
	for key, value := range cursors {
		if value == "" {
			gone = append(gone, key)
		} else {
			kept = append(kept, []any{key, value})
		}
	}
	execList(tx, "DELETE FROM cursors WHERE key IN (SELECT value FROM json_each(?))", gone)
	insert(tx, "cursors (key, value)", 2, kept, " ON CONFLICT (key) DO UPDATE SET value = excluded.value")
}
