package embedded

import (
	"context"
	"database/sql"
	"fmt"

	"quarry/server/index/segment"
	"quarry/server/sqlite"

	"github.com/RoaringBitmap/roaring/v2"
)

// foldDeletes is the number of records of deletes of one segment above which they become one.
const foldDeletes = 16

// store writes what was prepared within a transaction that holds the write lock.
func (x *Index) store(ctx context.Context, tx *sql.Tx, ready *prepared, cursors map[string]string) error {
	m, err := readMeta(ctx, tx)
	if err != nil {
		return err
	}
	if err := x.storeDeletes(ctx, tx, m.manifest, ready); err != nil {
		return err
	}
	writer := newStorer(tx, x.packer)
	if err := writer.putCursors(ctx, cursors); err != nil {
		return err
	}
	documents, chunks, indexed := 0, 0, 0
	for n := range ready.items {
		i := &ready.items[n]
		if i.keep {
			continue
		}
		if i.old != nil {
			documents, chunks = documents-1, chunks-i.old.chunks
		}
		if i.put == nil {
			err = writer.remove(ctx, i.old)
		} else {
			documents, chunks, indexed = documents+1, chunks+len(i.put.Chunks), indexed+1
			err = writer.put(ctx, i)
		}
		if err != nil {
			return err
		}
	}
	if ready.segment != "" {
		result, err := writer.exec(ctx, "INSERT INTO segments (name, documents, bytes, deletes) VALUES (?, ?, ?, 0)",
			ready.segment, indexed, ready.bytes)
		if err != nil {
			return err
		}
		if err := nameVectors(ctx, tx, result, ready.vectors); err != nil {
			return err
		}
	}
	if ready.nothing() {
		return nil // bookkeeping alone shows nobody anything new
	}
	_, err = writer.exec(ctx, `UPDATE meta SET generation = generation + 1, manifest = manifest + 1,
		documents = documents + ?, chunks = chunks + ?`, documents, chunks)
	return err
}

// storeDeletes marks the documents that are replaced or removed in the segments where they are live.
func (x *Index) storeDeletes(ctx context.Context, tx *sql.Tx, manifest int64, ready *prepared) error {
	any := false
	for n := range ready.items {
		any = any || ready.items[n].old != nil && !ready.items[n].keep
	}
	if !any {
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
	for n := range ready.items {
		i := &ready.items[n]
		if i.old == nil || i.keep {
			continue
		}
		p, ordinal, err := current.locate(i.id)
		if err != nil {
			return err
		}
		if p == nil {
			x.log.Warn("a stored document was not in the index", "document", i.id)
			continue
		}
		if i.unread {
			if i.gone, err = p.segment.reader.DeltaOf(ordinal); err != nil {
				return (*damagedError)(nil).add(p.id, err)
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

// addDeletes appends a record of deletes to a segment, and folds its records when there are many.
func addDeletes(ctx context.Context, tx *sql.Tx, id int64, bitmap *roaring.Bitmap, delta segment.Delta) error {
	number := int64(0)
	row := tx.QueryRowContext(context.WithoutCancel(ctx),
		"UPDATE segments SET deletes = deletes + 1 WHERE id = ? RETURNING deletes", id)
	if err := row.Scan(&number); err != nil {
		return sqlite.Explain(fmt.Errorf("note deletes: %w", err))
	}
	if err := insertDeletes(ctx, tx, id, deleteRecord{number: number, since: number - 1, bitmap: bitmap},
		delta); err != nil {
		return err
	}
	count := 0
	row = tx.QueryRowContext(context.WithoutCancel(ctx), "SELECT COUNT(*) FROM deletes WHERE segment = ?", id)
	if err := row.Scan(&count); err != nil {
		return sqlite.Explain(fmt.Errorf("note deletes: %w", err))
	}
	if count <= foldDeletes {
		return nil
	}
	return fold(ctx, tx, id, number)
}

// fold makes one record of all records of a segment.
func fold(ctx context.Context, tx *sql.Tx, id, number int64) error {
	p := &part{id: id, deletes: number, documents: int(^uint32(0))}
	if err := readDeletes(ctx, tx, p); err != nil {
		return err
	}
	total, err := p.statistics()
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(context.WithoutCancel(ctx), "DELETE FROM deletes WHERE segment = ?", id); err != nil {
		return sqlite.Explain(fmt.Errorf("fold deletes: %w", err))
	}
	return insertDeletes(ctx, tx, id, deleteRecord{number: number, bitmap: p.deleted}, *total)
}

func insertDeletes(ctx context.Context, tx *sql.Tx, id int64, record deleteRecord, delta segment.Delta) error {
	bitmap, err := record.bitmap.MarshalBinary()
	if err != nil {
		return fmt.Errorf("note deletes: %w", err)
	}
	statistics, err := delta.MarshalBinary()
	if err != nil {
		return fmt.Errorf("note deletes: %w", err)
	}
	bitmap = seal(bitmap, deletesKey(id, record.number, 'b'))
	statistics = seal(statistics, deletesKey(id, record.number, 'd'))
	_, err = tx.ExecContext(context.WithoutCancel(ctx),
		"INSERT INTO deletes (segment, number, since, bitmap, delta) VALUES (?, ?, ?, ?, ?)",
		id, record.number, record.since, bitmap, statistics)
	if err != nil {
		return sqlite.Explain(fmt.Errorf("note deletes: %w", err))
	}
	return nil
}
