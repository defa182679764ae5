// Package documents is what stores of documents have in common, whatever database they are in: the row of a document,
// what is read of rows alone, bookkeeping, and damage.
package documents

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/sqldb"
)

// Row is the row of a document.
type Row struct {
	index.Stored        // Damaged: Cause says why
	Number       int64  // 0: a new row, which has none yet
	Hash         []byte // see codec.Hash
	Detail       []byte // packed: what Document does not have yet; nil when it has all
	Cause        error
}

// Columns are those of a row, as Scan reads and Values returns them.
const Columns = "row, id, hash, source, origin, title, link, type, created_at, updated_at, hidden, chunks, detail"

// Lost returns the row of a document of which only the id is known.
func Lost(id string, cause error) *Row {
	r := &Row{Stored: index.Stored{Document: index.Document{ID: id}}}
	r.Lose(cause)
	return r
}

// Lose notes why the row cannot be read; nil: it can.
func (r *Row) Lose(cause error) { r.Cause, r.Damaged = cause, cause != nil }

// Scan reads Columns, and more behind them.
func (r *Row) Scan(row *sql.Rows, more ...any) error {
	return row.Scan(append([]any{&r.Number, &r.ID, &r.Hash, &r.Source, &r.Origin, &r.Title, &r.Link, &r.Type,
		(*sqldb.Micros)(&r.CreatedAt), (*sqldb.Micros)(&r.UpdatedAt), &r.Hidden, &r.ChunkCount, &r.Detail}, more...)...)
}

// Values returns the values of Columns, and more behind them.
func (r *Row) Values(more ...any) []any {
	number, hidden := any(r.Number), 0
	if r.Number == 0 {
		number = nil
	}
	if r.Hidden {
		hidden = 1
	}
	return append([]any{number, r.ID, r.Hash, r.Source, r.Origin, r.Title, r.Link, r.Type, sqldb.Micros(r.CreatedAt),
		sqldb.Micros(r.UpdatedAt), hidden, r.ChunkCount, r.Detail}, more...)
}

// Replaced returns the assignments that give the row with an id the values of an inserted one.
func Replaced() string {
	var assigned []string
	for _, name := range strings.Split(Columns, ", ")[2:] {
		assigned = append(assigned, name+" = excluded."+name)
	}
	return strings.Join(assigned, ", ")
}

// Owner returns the origin of the document, as far as it is known.
func (r *Row) Owner() string {
	if r.Damaged && r.Origin == "" {
		return index.LostOrigin
	}
	return r.Origin
}

// Damage describes what cannot be read: the row, or some chunks, the first of which has the number from. ok is false if
// all can.
func (r *Row) Damage(from int, chunks []index.Chunk) (damage index.Damage, ok bool) {
	if r.Damaged {
		return index.Damage{Kind: index.DamagedDocument, ID: r.ID, Reason: r.Cause.Error()}, true
	}
	unread := codec.Damaged(chunks, max(from, 0))
	return index.Damage{Kind: index.DamagedText, ID: r.ID, Origin: r.Origin, Chunks: unread,
		Reason: codec.ErrPacked.Error()}, unread != nil
}

// Damages are what the calls of a snapshot have found, once each.
type Damages []index.Damage

// Add adds damage.
func (d *Damages) Add(found index.Damage) {
	for i := range *d {
		if known := &(*d)[i]; known.Kind == found.Kind && known.ID == found.ID {
			known.Chunks = append(known.Chunks, found.Chunks...)
			slices.Sort(known.Chunks)
			known.Chunks = slices.Compact(known.Chunks)
			return
		}
	}
	*d = append(*d, found)
}

// Lists are what snapshots know of rows alone.
type Lists struct {
	Read  func(func(sqldb.Querier) error) error // calls with what reads the snapshot's rows
	Added string                                // the condition that rows were stored first after a time
}

// DocumentIDs implements index.Snapshot. The ids ascend.
func (l Lists) DocumentIDs(ctx context.Context, by index.Selector) (ids []string, err error) {
	where, args := codec.Selection(by)
	if where == "" {
		return nil, nil
	}
	err = l.Read(func(from sqldb.Querier) error {
		ids, err = sqldb.ColumnWhole[string](ctx, from, "SELECT id FROM documents WHERE "+where+" ORDER BY id", args...)
		return err
	})
	return ids, err
}

// Origins implements index.Snapshot.
func (l Lists) Origins(ctx context.Context) (origins map[string]int, err error) {
	err = l.Read(func(from sqldb.Querier) error {
		origins, err = sqldb.MapWhole[string, int](ctx, from,
			"SELECT origin, count(*) FROM documents WHERE origin <> '' GROUP BY origin")
		return err
	})
	return origins, err
}

// Resolve replaces AddedSince of a filter, which indexes of words do not know, by the documents that were added then.
func (l Lists) Resolve(ctx context.Context, f index.Filter) (_ index.Filter, err error) {
	if f.AddedSince.IsZero() {
		return f, nil
	}
	f.Among = []string{}
	err = l.Read(func(from sqldb.Querier) error {
		found, err := sqldb.ColumnWhole[string](ctx, from, "SELECT id FROM documents WHERE "+l.Added,
			f.AddedSince.UnixMicro())
		f.Among = append(f.Among, found...)
		return err
	})
	f.AddedSince = time.Time{}
	return f, err
}

// ErrOrder: rows come in an order that they cannot be in. A damaged page that leads back to one before it would be read
// for ever.
var ErrOrder = fmt.Errorf("%w: its rows are out of order", fault.ErrDamaged)

// Cursors returns the bookkeeping entries whose key begins with prefix.
func Cursors(ctx context.Context, from sqldb.Querier, prefix string) (map[string]string, error) {
	found, last := make(map[string]string), ""
	return found, sqldb.EachWhole(ctx, from, func(row *sql.Rows) error {
		key, value := "", ""
		if err := row.Scan(&key, &value); err != nil {
			return err
		}
		if key <= last {
			return ErrOrder
		}
		last, found[key] = key, value
		return nil
	}, "SELECT key, value FROM cursors WHERE key >= ? AND key < ? ORDER BY key", prefix, prefix+string(utf8.MaxRune))
}

// PutCursors stores bookkeeping entries; an empty value removes the entry.
func PutCursors(tx *sqldb.Tx, cursors map[string]string) {
	var gone []string
	var kept [][]any
	for key, value := range cursors {
		if value == "" {
			gone = append(gone, key)
		} else {
			kept = append(kept, []any{key, value})
		}
	}
	sqldb.ExecList(tx, "DELETE FROM cursors WHERE key IN (SELECT value FROM json_each(?))", gone)
	tx.Insert("cursors (key, value)", kept, " ON CONFLICT (key) DO UPDATE SET value = excluded.value")
}
