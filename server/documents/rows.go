package documents

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/sqldb"
)

// Row is the row of a document.
type Row struct {
	index.Stored // Damaged: Cause says why
	Number       int64
	Hash         []byte // see Hash
	Detail       []byte // packed: what Document does not have yet; nil when it has all
	Cause        error

	short [4]string // source, origin, type and link as the columns have them; empty: as they are
	names []*name   // of Detail
	size  int       // of what was in Detail, in bytes of memory
}

// Columns are those of a row, as Values returns them.
const Columns = "row, id, hash, source, origin, title, link, type, created_at, updated_at, hidden, chunks, detail"

// Lost returns the row of a document of which only the id is known.
func Lost(id string, cause error) *Row {
	r := &Row{Stored: index.Stored{Document: index.Document{ID: id}}}
	r.Lose(cause)
	return r
}

// InsertLost inserts rows that cannot be read for documents that are not stored: so they stay known, can be removed,
// and are stored again like other damaged ones.
func InsertLost(tx *sqldb.Tx, ids ...string) {
	for _, id := range ids {
		tx.Exec(`INSERT INTO documents (hash, id, source, origin, title, link, type, hidden, chunks, detail)
			VALUES (zeroblob(32), ?, '', '', '', '', '', 0, 0, zeroblob(1)) ON CONFLICT DO NOTHING`, id)
	}
}

// Lose notes why the row cannot be read; nil: it can.
func (r *Row) Lose(cause error) { r.Cause, r.Damaged = cause, cause != nil }

// inID stands for an origin and a link in the row of a document with the id "file:" and the origin, where the link is
// "file://" and the origin. Without it, paths are a tenth of a library of files.
const inID = "="

// fileOf returns the origin of which an id is made.
func fileOf(id string) (origin string, ok bool) { return strings.CutPrefix(id, "file:") }

// pointers returns where Columns are stored.
func (r *Row) pointers() []any {
	return []any{&r.Number, &r.ID, &r.Hash, &r.Source, &r.Origin, &r.Title, &r.Link, &r.Type,
		(*sqldb.Micros)(&r.CreatedAt), (*sqldb.Micros)(&r.UpdatedAt), &r.Hidden, &r.ChunkCount, &r.Detail}
}

// expand sets the columns that are left to the id, once the row was read.
func (r *Row) expand() {
	if origin, ok := fileOf(r.ID); ok && r.Origin == inID {
		if r.Origin = origin; r.Link == inID {
			r.Link = "file://" + origin
		}
	}
}

// shared are the columns that names may stand in.
func (r *Row) shared() [4]string { return [...]string{r.Source, r.Origin, r.Type, r.Link} }

// Values returns the values of Columns.
func (r *Row) Values() []any {
	short := r.short
	if short == [...]string{"", "", "", ""} {
		short = r.shared()
	}
	if file, ok := fileOf(r.ID); ok && file == r.Origin {
		if short[1] = inID; r.Link == "file://"+file {
			short[3] = inID
		}
	}
	return []any{r.Number, r.ID, r.Hash, short[0], short[1], r.Title, short[3], short[2], sqldb.Micros(r.CreatedAt),
		sqldb.Micros(r.UpdatedAt), bit(r.Hidden), r.ChunkCount, r.Detail}
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
		return index.Damage{Kind: index.DamagedDocument, ID: r.ID, Origin: r.Origin, Reason: r.Cause.Error()}, true
	}
	unread := Damaged(chunks, max(from, 0))
	return index.Damage{Kind: index.DamagedText, ID: r.ID, Origin: r.Origin, Chunks: unread,
		Reason: ErrPacked.Error()}, unread != nil
}

// ErrOrder: rows come in an order that they cannot be in. A damaged page that leads back to one before it would be read
// for ever.
var ErrOrder = fmt.Errorf("read the library: %w: its rows are out of order", fault.ErrDamaged)

// Cursors returns the bookkeeping entries whose key begins with prefix.
func Cursors(from sqldb.Source, prefix string) map[string]string {
	found := make(map[string]string)
	key, value, last := "", "", ""
	for range from.Each([]any{&key, &value}, "SELECT key, value FROM cursors WHERE key >= ? AND key < ? ORDER BY key",
		prefix, prefix+string(utf8.MaxRune)) {
		if key <= last {
			guard.Abort(ErrOrder)
		}
		last, found[key] = key, value
	}
	return found
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

// removedAtOnce bounds the depth of a condition.
const removedAtOnce = 64

// RemoveChunks removes the chunks of the documents with some row numbers.
func RemoveChunks(tx *sqldb.Tx, rows ...int64) {
	keys := make([][]any, len(rows))
	for i, row := range rows {
		keys[i] = []any{chunkKey(row, 0), chunkKey(row, -1)}
	}
	remove(tx, "chunks", "key BETWEEN ? AND ?", keys)
}

// remove removes the rows of a table for which a condition holds with one of several lists of parameters.
func remove(tx *sqldb.Tx, table, condition string, lists [][]any) {
	for some := range slices.Chunk(lists, removedAtOnce) {
		tx.Exec("DELETE FROM "+table+" WHERE "+condition+strings.Repeat(" OR "+condition, len(some)-1),
			slices.Concat(some...)...)
	}
}
