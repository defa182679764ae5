package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/documents"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

// meta is the single row of the table of that name.
type meta struct {
	store                string
	generation, manifest int64
	documents, chunks    int
}

// Version implements documents.State.
func (m meta) Version() string { return fmt.Sprintf("%s.%d", m.store, m.generation) }

func readMeta(ctx context.Context, db sqldb.Querier) (m meta, err error) {
	err = sqldb.GetWhole(ctx, db, []any{&m.store, &m.generation, &m.manifest, &m.documents, &m.chunks},
		"SELECT store, generation, manifest, documents, chunks FROM meta WHERE id = 1")
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("read the state of the library: %w", fault.ErrDamaged)
	}
	return m, err
}

// indexed reads a document that the index contains. What cannot be read of it is left out.
func indexed(ctx context.Context, from *documents.Reader, id string) (index.Document, error) {
	found, err := from.Find(ctx, []string{id})
	if err == nil && found[id] == nil {
		err = fmt.Errorf("%w: document %q is in the index but not stored", segment.ErrDamaged, id)
	}
	if err != nil {
		return index.Document{}, err
	}
	whole, err := from.Whole(ctx, found[id])
	if err != nil {
		return index.Document{}, err
	}
	return whole[0], nil
}

// update executes one statement in a transaction of its own and returns the number of rows that it changed.
func (x *Index) update(ctx context.Context, statement string, args ...any) (n int64, err error) {
	err = x.Change(ctx, func(tx *sqldb.Tx) { n = tx.Exec(statement, args...) })
	return n, err
}
