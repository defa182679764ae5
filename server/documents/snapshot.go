package documents

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/sqldb"
)

var errClosed = errors.New("the snapshot is closed")

// Snapshot is what a snapshot of the documents answers without an index of their words: all of index.Snapshot but what
// ranks and counts. Its methods run one after another, as they share a transaction.
type Snapshot struct {
	Reads
	State State
	of    *Store
	tx    *sql.Tx
	read  *Reader

	mutex  sync.Mutex
	closed bool
}

// Snapshot opens a view of the documents that does not change.
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := s.snapshots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	tx, err := s.Begin(ctx)
	if err != nil {
		s.snapshots.Release(1)
		return nil, err
	}
	shown, from := &Snapshot{of: s, tx: tx}, sqldb.Shared(ctx, tx)
	if err := guard.Ended(func() { shown.State = s.state(from) }); err != nil {
		shown.Close()
		return nil, err
	}
	shown.read, shown.Reads.Read = s.Shown(from, shown.State), shown.locked
	return shown, nil
}

// Close implements index.Snapshot.
func (s *Snapshot) Close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.closed {
		s.closed = true
		_ = s.tx.Rollback()
		s.of.snapshots.Release(1)
	}
}

// Reader returns what an index of the documents' words reads of the snapshot, one call after another.
func (s *Snapshot) Reader(ctx context.Context) *Reader { return s.read.In(ctx) }

// Version implements index.Snapshot.
func (s *Snapshot) Version() string { return s.State.Version() }

// locked calls f with what reads the snapshot, while no other method uses the transaction.
func (s *Snapshot) locked(ctx context.Context, f func(*Reader)) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return errClosed
	}
	return guard.Ended(func() { f(s.Reader(ctx)) })
}

// Whole returns documents with their chunks, in no order, for an index of their words.
func (s *Snapshot) Whole(ctx context.Context, ids []string) (list []index.Document, err error) {
	err = s.locked(ctx, func(from *Reader) { list = from.Whole(from.readable(ids)...) })
	return list, err
}

// readable returns the rows of documents that exist and can be read.
func (r *Reader) readable(ids []string) []*Row {
	return slices.DeleteFunc(r.Recall(ids...), func(row *Row) bool { return row == nil || row.Damaged })
}

// Stats implements index.Snapshot. Bytes are those of the database.
func (s *Snapshot) Stats(ctx context.Context) (stats index.Stats, err error) {
	stats = index.Stats{Documents: s.State.Documents, Chunks: s.State.Chunks, VectorModel: s.State.Model}
	err = s.locked(ctx, func(from *Reader) {
		e := embedded(from.Source, s.State.Model)
		if stats.Refused = e.Refused; s.State.Model != "" {
			stats.Vectors = max(0, e.Done-e.Refused)
		}
		size := "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
		if s.of.pool != nil {
			size = `SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS BIGINT) FROM pg_class AS c
				JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'`
		}
		from.Get([]any{&stats.Bytes}, size)
	})
	return stats, err
}

// Versions returns the numbers of the last changes of documents, by id; those that do not exist or that access does not
// admit are missing.
func (s *Snapshot) Versions(ctx context.Context, ids []string, access index.Access) (versions map[string]int64,
	err error) {
	versions = make(map[string]int64, len(ids))
	err = s.locked(ctx, func(from *Reader) {
		rows := from.readable(ids)
		logged := from.logged(rows)
		for _, row := range rows {
			if access.Admits(&row.Document) {
				versions[row.ID] = logged[row.Number].number
			}
		}
	})
	return versions, err
}
