package shared

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/documents"
	"quarry/server/sqldb"
)

var errClosed = errors.New("the snapshot is closed")

// Snapshot is what a snapshot of the documents answers without an index of their words: all of index.Snapshot but what
// ranks and counts. Its methods run one after another, as they share a transaction.
type Snapshot struct {
	documents.Lists
	state  state
	tx     *sql.Tx
	done   func()
	read   reader
	server bool // the database is on a server

	mutex    sync.Mutex
	closed   bool
	recalled map[string]*stored // an answer describes its documents, and then reads their chunks
	damaged  documents.Damages
}

// maxRecalled bounds the documents that a snapshot keeps.
const maxRecalled = 4096

// Snapshot opens a view of the documents that does not change.
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	done := func() {}
	if s.snapshots != nil {
		if err := s.snapshots.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		done = func() { s.snapshots.Release(1) }
	}
	// The transaction outlives the call, and so must not end with its context.
	tx, err := s.db.Pool().BeginTx(context.WithoutCancel(ctx), s.isolation)
	if err != nil {
		done()
		return nil, sqldb.Explain(fmt.Errorf("read the documents: %w", err))
	}
	m, err := s.state(ctx, tx)
	if err != nil {
		_ = tx.Rollback()
		done()
		return nil, err
	}
	shown := &Snapshot{state: m, tx: tx, done: done, read: reader{tx, s.packer}, server: s.pool != nil,
		recalled: make(map[string]*stored)}
	shown.Lists = documents.Lists{Added: "added_at > ?", Read: func(read func(sqldb.Querier) error) error {
		return shown.locked(func() error { return read(tx) })
	}}
	return shown, nil
}

// Close implements index.Snapshot.
func (s *Snapshot) Close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.closed {
		s.closed = true
		_ = s.tx.Rollback()
		s.done()
	}
}

// Version implements index.Snapshot.
func (s *Snapshot) Version() string { return s.state.version() }

// Damage implements index.Snapshot.
func (s *Snapshot) Damage() []index.Damage {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.damaged)
}

// locked calls f while no other method uses the transaction.
func (s *Snapshot) locked(f func() error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return errClosed
	}
	return f()
}

// lockedTo is locked for what returns something.
func lockedTo[T any](s *Snapshot, f func() (T, error)) (found T, err error) {
	err = s.locked(func() error {
		found, err = f()
		return err
	})
	return found, err
}

// recall reads rows of documents that the snapshot has not read yet, and returns all.
func (s *Snapshot) recall(ctx context.Context, ids []string) (map[string]*stored, error) {
	all := make(map[string]*stored, len(ids))
	var unknown []string
	for _, id := range ids {
		if known, ok := s.recalled[id]; !ok {
			unknown = append(unknown, id)
		} else if known != nil {
			all[id] = known
		}
	}
	found, err := s.read.find(ctx, unknown)
	if err != nil {
		return nil, err
	}
	if len(s.recalled)+len(unknown) > maxRecalled {
		s.recalled = make(map[string]*stored)
	}
	for _, id := range unknown {
		s.recalled[id] = found[id] // nil: there is none
		if found[id] != nil {
			all[id] = found[id]
			s.note(found[id], 0, nil)
		}
	}
	return all, nil
}

// note records damage of a document, or of some of its chunks.
func (s *Snapshot) note(row *stored, from int, chunks []index.Chunk) {
	if row.Damaged || codec.Damaged(chunks, from) != nil {
		s.damaged.Add(damageOf(row, from, chunks))
	}
}

// damageOf describes damage of a document. Its origin is known in any case.
func damageOf(row *stored, from int, chunks []index.Chunk) index.Damage {
	damage, _ := row.Damage(from, chunks)
	damage.Origin = row.Origin
	return damage
}

// Documents implements index.Snapshot.
func (s *Snapshot) Documents(ctx context.Context, ids []string, access index.Access) (list []index.Stored, err error) {
	list = make([]index.Stored, 0, len(ids))
	err = s.locked(func() error {
		found, err := s.recall(ctx, ids)
		for _, id := range ids {
			if d := found[id]; d != nil && access.Admits(&d.Document) {
				list = append(list, d.Stored)
			}
		}
		return err
	})
	return list, err
}

// Chunks implements index.Snapshot.
func (s *Snapshot) Chunks(ctx context.Context, id string, from, to int, access index.Access) ([]index.Chunk, error) {
	return lockedTo(s, func() ([]index.Chunk, error) {
		found, err := s.recall(ctx, []string{id})
		if err == nil && (found[id] == nil || !access.Admits(&found[id].Document)) {
			err = fmt.Errorf("document %q: %w", id, fault.ErrNotFound)
		}
		if err != nil {
			return nil, err
		}
		chunks, err := s.read.readChunks(ctx, found[id], from, to)
		s.note(found[id], from, chunks)
		return chunks, err
	})
}

// Texts implements index.Snapshot.
func (s *Snapshot) Texts(ctx context.Context, ranges []index.Range, access index.Access) ([][]index.Chunk, error) {
	texts := make([][]index.Chunk, len(ranges))
	for i, wanted := range ranges {
		chunks, err := s.Chunks(ctx, wanted.DocumentID, wanted.From, wanted.To, access)
		if err != nil && !errors.Is(err, fault.ErrNotFound) && !errors.Is(err, fault.ErrDamaged) {
			return nil, err
		}
		texts[i] = chunks
	}
	return texts, nil
}

// Whole returns documents with their chunks, in no order, for an index of their words.
func (s *Snapshot) Whole(ctx context.Context, ids []string) ([]index.Document, error) {
	return lockedTo(s, func() ([]index.Document, error) {
		found, err := s.recall(ctx, ids)
		if err != nil {
			return nil, err
		}
		rows := make([]*stored, 0, len(found))
		for _, row := range found {
			if !row.Damaged {
				rows = append(rows, row)
			}
		}
		return s.read.whole(ctx, rows)
	})
}

// Stats implements index.Snapshot. Bytes are those of the database.
func (s *Snapshot) Stats(ctx context.Context) (stats index.Stats, err error) {
	stats = index.Stats{Documents: s.state.documents, Chunks: s.state.chunks, VectorModel: s.state.model}
	err = s.locked(func() error {
		if err := sqldb.GetWhole(ctx, s.tx, []any{&stats.Vectors, &stats.Refused}, `SELECT
			coalesce((SELECT CAST(sum(chunks) AS BIGINT) FROM documents WHERE vectors = ?), 0),
			(SELECT count(*) FROM embeddings WHERE model = ? AND length(vector) = 0)`, s.state.model, s.state.model); err != nil {
			return err
		}
		if stats.Vectors = max(0, stats.Vectors-stats.Refused); s.state.model == "" {
			stats.Vectors = 0
		}
		size := "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
		if s.server {
			size = `SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS BIGINT) FROM pg_class AS c
				JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'`
		}
		return sqldb.GetWhole(ctx, s.tx, []any{&stats.Bytes}, size)
	})
	return stats, err
}

// Versions returns the numbers of the last changes of documents, by id; those that do not exist or that access does not
// admit are missing.
func (s *Snapshot) Versions(ctx context.Context, ids []string, access index.Access) (map[string]int64, error) {
	versions := make(map[string]int64, len(ids))
	err := s.locked(func() error {
		found, err := s.recall(ctx, ids)
		for id, d := range found {
			if access.Admits(&d.Document) {
				versions[id] = d.changed
			}
		}
		return err
	})
	return versions, err
}

// Sequence returns the number of the last change that the snapshot shows.
func (s *Snapshot) Sequence() int64 { return s.state.sequence }
