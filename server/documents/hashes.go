package documents

import (
	"context"

	"quarry/internal/guard"
	"quarry/server/sqldb"
)

// The table hashes has a row per document with a hash, see index.Batch.Hash: both numbers are short, so that it takes a
// quarter of what ids would. A row may outlive its document or be of another hash.

// Hashed implements index.Index.
func (s *Tables) Hashed(ctx context.Context, hash uint32) (ids []string, err error) {
	defer guard.End(&err)
	return sqldb.ColumnOf[string](s.Newest(ctx),
		"SELECT id FROM documents WHERE row IN (SELECT document FROM hashes WHERE hash = ?)", int64(hash)), nil
}

// Rehash implements index.Index.
func (s *Tables) Rehash(ctx context.Context, hash func(id string) uint32) (documents int, err error) {
	type hashRow struct {
		hash     uint32
		document int64
	}
	err = s.Change(ctx, func(tx *sqldb.Tx) {
		isWrong := map[hashRow]bool{}
		one, id := hashRow{}, ""
		for range tx.Each([]any{&one.hash, &one.document}, "SELECT hash, document FROM hashes") {
			isWrong[one] = true
		}
		var gone, added [][]any
		documents = 0
		for range tx.Each([]any{&one.document, &id}, "SELECT row, id FROM documents") {
			if one.hash = hash(id); !isWrong[one] {
				added = append(added, []any{one.hash, one.document})
			}
			delete(isWrong, one)
			documents++
		}
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
