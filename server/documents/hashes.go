package documents

import (
	"context"
	"database/sql"

	"quarry/server/sqldb"
)

// The table hashes has a row per document with a hash, see index.Batch.Hash: both numbers are short, so that it takes a
// quarter of what ids would. A row may outlive its document or be of another hash.

// Hashed implements index.Index.
func (s *Tables) Hashed(ctx context.Context, hash uint32) ([]string, error) {
	return sqldb.ColumnOf[string](s.Newest(ctx),
		"SELECT id FROM documents WHERE row IN (SELECT document FROM hashes WHERE hash = ?)", int64(hash))
}

// Rehash implements index.Index.
func (s *Tables) Rehash(ctx context.Context, hash func(id string) uint32) (documents int, err error) {
	type hashRow struct {
		hash     uint32
		document int64
	}
	err = s.Change(ctx, func(tx *sqldb.Tx) {
		stored, err := sqldb.RowsOf(tx.Source(), func(r *hashRow) []any { return []any{&r.hash, &r.document} },
			"SELECT hash, document FROM hashes")
		tx.Fail(err)
		isWrong := make(map[hashRow]bool, len(stored))
		for _, row := range stored {
			isWrong[row] = true
		}
		var gone, added [][]any
		documents = 0
		tx.Fail(tx.Source().Each(func(row *sql.Rows) error {
			one, id := hashRow{}, ""
			err := row.Scan(&one.document, &id)
			if one.hash = hash(id); !isWrong[one] {
				added = append(added, []any{one.hash, one.document})
			}
			delete(isWrong, one)
			documents++
			return err
		}, "SELECT row, id FROM documents"))
		for row := range isWrong {
			gone = append(gone, []any{row.hash, row.document})
		}
		changeHashes(tx, gone, added)
	})
	return documents, err
}

// changeHashes removes and inserts rows of the table hashes.
func changeHashes(tx *sqldb.Tx, gone, added [][]any) {
	remove(tx, "hashes", "hash = ? AND document = ?", gone)
	tx.Insert("hashes (hash, document)", added, " ON CONFLICT DO NOTHING")
}
