package documents

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"quarry/server/sqldb"
)

// The table hashes has a row per document with a hash, see index.Batch.Hash: both numbers are short, so that it takes a
// quarter of what ids would. A row may outlive its document or be of another hash.

// Hashed implements index.Index.
func (s *Tables) Hashed(ctx context.Context, hash uint32) ([]string, error) {
	return sqldb.ColumnWhole[string](ctx, s.DB.Pool(),
		"SELECT id FROM documents WHERE row IN (SELECT document FROM hashes WHERE hash = ?)", int64(hash))
}

// Rehash implements index.Index.
func (s *Tables) Rehash(ctx context.Context, hash func(id string) uint32) (int, error) {
	var all []hashRow
	err := s.Change(ctx, func(tx *sqldb.Tx) {
		all = nil
		stored, err := sqldb.SelectWhole(ctx, tx, (*hashRow).columns,
			"SELECT hash, document FROM hashes ORDER BY hash, document")
		tx.Fail(err)
		tx.Fail(sqldb.EachWhole(ctx, tx, func(row *sql.Rows) error {
			var one hashRow
			id := ""
			err := row.Scan(&one.document, &id)
			one.hash = hash(id)
			all = append(all, one)
			return err
		}, "SELECT row, id FROM documents"))
		slices.SortFunc(all, hashRow.compare)
		changeHashes(tx, without(stored, all), without(all, stored))
	})
	return len(all), err
}

// hashRow is a row of the table hashes.
type hashRow struct {
	hash     uint32
	document int64
}

func (r *hashRow) columns() []any { return []any{&r.hash, &r.document} }

func (r hashRow) compare(other hashRow) int {
	return cmp.Or(cmp.Compare(r.hash, other.hash), cmp.Compare(r.document, other.document))
}

// without returns the rows that are not among others. Both ascend.
func without(rows, others []hashRow) (rest [][]any) {
	for _, row := range rows {
		for len(others) > 0 && others[0].compare(row) < 0 {
			others = others[1:]
		}
		if len(others) == 0 || others[0] != row {
			rest = append(rest, []any{row.hash, row.document})
		}
	}
	return rest
}

// changeHashes removes and inserts rows of the table hashes.
func changeHashes(tx *sqldb.Tx, gone, added [][]any) {
	remove(tx, "hashes", "hash = ? AND document = ?", gone)
	tx.Insert("hashes (hash, document)", added, " ON CONFLICT DO NOTHING")
}
