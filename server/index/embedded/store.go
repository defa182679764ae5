package embedded

import (
	"context"
	"database/sql"
	"fmt"
	"quarry/server/index/codec"
	"time"

	"quarry/server/index/segment"

	"github.com/RoaringBitmap/roaring/v2"
)

// store writes what was prepared within a transaction that holds the write lock.
func (x *Index) store(ctx context.Context, tx *sql.Tx, ready *prepared, cursors map[string]string) error {
	m, err := readMeta(ctx, tx)
	if err != nil {
		return err
	}
	if err := x.storeDeletes(ctx, tx, m.manifest, ready); err != nil {
		return err
	}
	writer := newLibrary(tx, x.packer)
	if err := writer.putCursors(ctx, cursors); err != nil {
		return err
	}
	documents, chunks, indexed, added := 0, 0, 0, int64(0)
	for n := range ready.items {
		i := &ready.items[n]
		if i.keep {
			continue
		}
		if i.old != nil {
			documents, chunks = documents-1, chunks-i.old.chunks
		}
		if i.Put == nil {
			err = writer.remove(ctx, i.old)
		} else {
			documents, chunks, indexed = documents+1, chunks+len(i.Put.Chunks), indexed+1
			err = writer.put(ctx, i)
		}
		if err == nil && i.old == nil && i.Put != nil && added == 0 {
			added = i.row
			err = writer.putAddition(ctx, added, x.now())
		}
		if err != nil {
			return err
		}
	}
	if ready.segment != nil {
		ready.segment.documents = indexed
		if err := ready.segment.insert(ctx, tx); err != nil {
			return err
		}
	}
	if ready.nothing() {
		return nil // cursors alone change nothing that can be seen
	}
	_, err = execute(ctx, tx, `UPDATE meta SET generation = generation + 1, manifest = manifest + 1,
		documents = documents + ?, chunks = chunks + ?`, documents, chunks)
	return err
}

// storeDeletes marks the documents that are replaced or removed in the segments where they are live.
func (x *Index) storeDeletes(ctx context.Context, tx *sql.Tx, manifest int64, ready *prepared) error {
	var gone []*item
	for n := range ready.items {
		if i := &ready.items[n]; i.old != nil && !i.keep {
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
		if i.unread {
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
			if err := addDeletes(ctx, tx, p.id, r.bitmap, r.delta); err != nil {
				return err
			}
		}
	}
	return nil
}

// put stores the document of an item, and sets the item's row.
func (l *library) put(ctx context.Context, i *item) error {
	d := i.Put
	packed, err := l.packer.PackDetail(d)
	if err != nil {
		return err
	}
	packed = seal(packed, documentKey(&stored{hash: i.hash, chunks: len(d.Chunks), document: *d}))
	var number any // nil: a new one
	if i.old != nil && i.old.row != 0 {
		number = i.old.row
		if _, err := execute(ctx, l, "DELETE FROM documents WHERE row = ?", number); err != nil {
			return err
		}
	}
	result, err := execute(ctx, l, "INSERT INTO documents ("+documentColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, number, i.hash, d.ID, d.Source, d.Origin, d.Title, d.Link, d.Type,
		codec.Micros(d.CreatedAt), codec.Micros(d.UpdatedAt), d.Hidden, len(d.Chunks), packed)
	if err != nil {
		return err
	}
	if i.row, err = result.LastInsertId(); err != nil {
		return fmt.Errorf("write document %q: %w", d.ID, err)
	}
	if err := putSets(ctx, l, i.row, d.Sets); err != nil || i.sameText {
		return err
	}
	if i.old != nil {
		if err := l.removeChunks(ctx, i.row); err != nil {
			return err
		}
	}
	for _, group := range i.groups {
		if _, err := execute(ctx, l, "INSERT INTO chunks (key, body) VALUES (?, ?)", chunkKey(i.row, group.First),
			sealedGroup(group, i.row, i.hash)); err != nil {
			return err
		}
	}
	return nil
}

// putAddition stores when documents were added: those of first and of all later rows. Later rows were of documents that
// are gone.
func (l *library) putAddition(ctx context.Context, first int64, now time.Time) error {
	if _, err := execute(ctx, l, "DELETE FROM additions WHERE document >= ?", first); err != nil {
		return err
	}
	_, err := execute(ctx, l, "INSERT INTO additions (document, at) VALUES (?, ?)", first, now.UnixMicro())
	return err
}

func putSets(ctx context.Context, db execer, row int64, sets []string) error {
	return executeEach(ctx, db, "INSERT OR IGNORE INTO document_sets (document, name) VALUES (?, ?)", sets, row)
}

func (l *library) removeChunks(ctx context.Context, row int64) error {
	_, err := execute(ctx, l, "DELETE FROM chunks WHERE key BETWEEN ? AND ?", chunkKey(row, 0), chunkKey(row, ordinalMask))
	return err
}

func (l *library) remove(ctx context.Context, old *stored) error {
	if err := l.removeChunks(ctx, old.row); err != nil {
		return err
	}
	_, err := execute(ctx, l, "DELETE FROM documents WHERE row = ?", old.row)
	return err
}

func (l *library) putCursors(ctx context.Context, cursors map[string]string) error {
	for key, value := range cursors {
		var err error
		if value == "" {
			_, err = execute(ctx, l, "DELETE FROM cursors WHERE key = ?", key)
		} else {
			_, err = execute(ctx, l, "INSERT OR REPLACE INTO cursors (key, value) VALUES (?, ?)", key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
