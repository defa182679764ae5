package embedded

import (
	"context"
	"database/sql"
	"time"

	"quarry/server/index"
	"quarry/server/index/documents"
	"quarry/server/index/segment"
	"quarry/server/sqldb"

	"github.com/RoaringBitmap/roaring/v2"
)

// store writes what was prepared within a transaction that holds the write lock.
func (x *Index) store(ctx context.Context, tx *sqldb.Tx, ready *prepared, cursors map[string]string) error {
	m, err := readMeta(ctx, tx)
	if err != nil {
		return err
	}
	if err := x.storeDeletes(ctx, tx, m.manifest, ready); err != nil {
		return err
	}
	documents.PutCursors(tx, cursors)
	total, chunks, indexed, added, last := 0, 0, 0, int64(0), int64(0)
	tx.Row(sql.ErrNoRows, []any{&last}, "SELECT coalesce(max(row), 0) FROM documents")
	for n := range ready.items {
		i := &ready.items[n]
		if i.Keep {
			continue
		}
		if i.Old != nil {
			total, chunks = total-1, chunks-i.Old.ChunkCount
		}
		if i.Put == nil {
			documents.RemoveChunks(tx, i.Old.Number)
			tx.Exec("DELETE FROM documents WHERE row = ?", i.Old.Number)
			continue
		}
		total, chunks, indexed = total+1, chunks+len(i.Put.Chunks), indexed+1
		if i.row = last + 1; i.Old != nil && i.Old.Number != 0 {
			i.row = i.Old.Number
		}
		last = max(last, i.row)
		if x.put(tx, i); i.Old == nil && added == 0 {
			added = i.row
			putAddition(tx, added, x.now())
		}
	}
	if ready.segment != nil {
		ready.segment.documents = indexed
		ready.segment.insert(tx)
	}
	if !ready.nothing() { // cursors alone change nothing that can be seen
		tx.Exec(`UPDATE meta SET generation = generation + 1, manifest = manifest + 1, documents = documents + ?,
			chunks = chunks + ?`, total, chunks)
	}
	return nil
}

// storeDeletes marks the documents that are replaced or removed in the segments where they are live.
func (x *Index) storeDeletes(ctx context.Context, tx *sqldb.Tx, manifest int64, ready *prepared) error {
	var gone []*item
	for n := range ready.items {
		if i := &ready.items[n]; i.Old != nil && !i.Keep {
			gone = append(gone, i)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	current, err := x.states.acquire(ctx, tx, manifest)
	if err != nil {
		return err
	}
	defer x.states.drop(current)
	if current.lost != nil {
		return current.lost
	}
	type removal struct {
		bitmap *roaring.Bitmap
		delta  segment.Delta
	}
	removals := make(map[*part]*removal)
	for _, i := range gone {
		p, ordinal, err := current.locate(i.ID)
		if err != nil {
			return err
		}
		if p == nil {
			x.log.Warn("a stored document is missing from the index", "document", i.ID)
			continue
		}
		if i.Unread {
			if i.gone, err = p.segment.reader.DeltaOf(ordinal); err != nil {
				return damaged(p.name, err)
			}
		}
		if removals[p] == nil {
			removals[p] = &removal{bitmap: roaring.New()}
		}
		removals[p].bitmap.AddInt(ordinal)
		removals[p].delta.Add(i.gone)
	}
	for _, p := range current.parts {
		if r := removals[p]; r != nil {
			addDeletes(ctx, tx, p.id, r.bitmap, r.delta)
		}
	}
	return nil
}

// put stores the document of an item in its row.
func (x *Index) put(tx *sqldb.Tx, i *item) {
	row := documents.Row{Stored: index.Stored{Document: *i.Put, ChunkCount: len(i.Put.Chunks)}, Hash: i.Hash,
		Number: i.row}
	tx.Fail(x.packer.SealDetail(&row))
	if i.Old != nil {
		tx.Exec("DELETE FROM documents WHERE row = ?", i.row)
	}
	values := row.Values()
	tx.Exec("INSERT INTO documents ("+documents.Columns+") VALUES "+sqldb.Places(len(values)), values...)
	putSets(tx, i.row, row.Sets)
	if i.SameText {
		return
	}
	if i.Old != nil {
		documents.RemoveChunks(tx, i.row)
	}
	for _, group := range i.groups {
		key, body := group.Sealed(i.row, i.Hash)
		tx.Exec("INSERT INTO chunks (key, body) VALUES (?, ?)", key, body)
	}
}

// putAddition stores when documents were added: those of first and of all later rows. Later rows were of documents that
// are gone.
func putAddition(tx *sqldb.Tx, first int64, now time.Time) {
	tx.Exec("DELETE FROM additions WHERE document >= ?", first)
	tx.Exec("INSERT INTO additions (document, at) VALUES (?, ?)", first, now.UnixMicro())
}

func putSets(tx *sqldb.Tx, row int64, sets []string) {
	for _, name := range sets {
		tx.Exec("INSERT OR IGNORE INTO document_sets (document, name) VALUES (?, ?)", row, name)
	}
}
