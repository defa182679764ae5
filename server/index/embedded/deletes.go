package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quarry/server/index/segment"
	"quarry/server/sqlite"

	"github.com/RoaringBitmap/roaring/v2"
)

// foldDeletes is the number of records of deletes of one segment above which they become one.
const foldDeletes = 16

// deleteRecord is a row of the table deletes.
type deleteRecord struct {
	number, since int64
	bitmap        *roaring.Bitmap
	delta         []byte
}

// statistics sums the records' statistics; nil without records.
func (p *part) statistics() (*segment.Delta, error) {
	if len(p.records) == 0 {
		return nil, nil
	}
	total := new(segment.Delta)
	for _, record := range p.records {
		var delta segment.Delta
		if err := delta.UnmarshalBinary(record.delta); err != nil {
			return nil, damaged(p.name, fmt.Errorf("read the deletes of segment %s: %w", p.name, err))
		}
		total.Add(delta)
	}
	return total, nil
}

// readDeletes fills the records of a part and their union.
func readDeletes(ctx context.Context, db sqlite.Querier, p *part) error {
	if p.deletes == 0 {
		return nil
	}
	p.deleted = roaring.New()
	err := each(ctx, db, func(row *sql.Rows) error {
		record := deleteRecord{bitmap: roaring.New()}
		var bitmap []byte
		if err := row.Scan(&record.number, &record.since, &bitmap, &record.delta); err != nil {
			return err
		}
		if err := record.unseal(bitmap, p); err != nil {
			return fmt.Errorf("read the deletes of segment %s: %w: %w", p.name, segment.ErrDamaged, err)
		}
		p.records = append(p.records, record)
		p.deleted.Or(record.bitmap)
		return nil
	}, "SELECT number, since, bitmap, delta FROM deletes WHERE segment = ? ORDER BY number", p.id)
	if err != nil {
		return err
	}
	if len(p.records) == 0 || p.records[len(p.records)-1].number != p.deletes {
		return fmt.Errorf("%w: deletes of segment %s are missing", segment.ErrDamaged, p.name)
	}
	return nil
}

// unseal reads the bitmap, and takes the statistics out of their seal.
func (r *deleteRecord) unseal(bitmap []byte, p *part) (err error) {
	if r.delta, err = unsealOld(r.delta, deletesKey(p.id, r.number, 'd')); err != nil {
		return err
	}
	if bitmap, err = unsealOld(bitmap, deletesKey(p.id, r.number, 'b')); err != nil {
		return err
	}
	if err := r.bitmap.UnmarshalBinary(bitmap); err != nil {
		return err
	}
	if err := r.bitmap.Validate(); err != nil {
		return err
	}
	if !r.bitmap.IsEmpty() && int64(r.bitmap.Maximum()) >= int64(p.documents) {
		return errors.New("a deleted document does not exist")
	}
	return nil
}

// addDeletes appends a record of deletes to a segment, and folds its records when there are many.
func addDeletes(ctx context.Context, tx *sql.Tx, id int64, bitmap *roaring.Bitmap, delta segment.Delta) error {
	number, count := int64(0), 0
	if err := get(ctx, tx, []any{&number}, "UPDATE segments SET deletes = deletes + 1 WHERE id = ? RETURNING deletes",
		id); err != nil {
		return err
	}
	if err := insertDeletes(ctx, tx, id, deleteRecord{number: number, since: number - 1, bitmap: bitmap},
		delta); err != nil {
		return err
	}
	err := get(ctx, tx, []any{&count}, "SELECT COUNT(*) FROM deletes WHERE segment = ?", id)
	if err != nil || count <= foldDeletes {
		return err
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
	if _, err := execute(ctx, tx, "DELETE FROM deletes WHERE segment = ?", id); err != nil {
		return err
	}
	return insertDeletes(ctx, tx, id, deleteRecord{number: number, bitmap: p.deleted}, *total)
}

func insertDeletes(ctx context.Context, tx *sql.Tx, id int64, record deleteRecord, delta segment.Delta) error {
	bitmap, err := record.bitmap.MarshalBinary()
	if err != nil {
		return fmt.Errorf("write deletes: %w", err)
	}
	statistics, err := delta.MarshalBinary()
	if err != nil {
		return fmt.Errorf("write deletes: %w", err)
	}
	_, err = execute(ctx, tx, "INSERT INTO deletes (segment, number, since, bitmap, delta) VALUES (?, ?, ?, ?, ?)",
		id, record.number, record.since, seal(bitmap, deletesKey(id, record.number, 'b')),
		seal(statistics, deletesKey(id, record.number, 'd')))
	return err
}
