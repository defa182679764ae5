package shared

import (
	"context"
	"database/sql"
	"time"

	"quarry/server/index"
)

// Changes are changes of documents in the order in which they were made. Of several changes of one document only the last is
// there.
type Changes struct {
	Put []Put
	// Removed are ids of documents that are gone.
	Removed []string
	// Last is the number of the last change among them. If nothing is left, it is that of the last change of all.
	Last int64
	// Left is the number of changes behind Last, and Total that of all documents.
	Left, Total int
}

// Put is a document that was stored or changed.
type Put struct {
	index.Document
	Changed int64 // the number of the change
	// New: it was not stored at the position.
	New bool
	// AccessAlone: since the position, nothing has changed but access, sets and visibility.
	AccessAlone bool
}

// Changes returns the changes behind a position, at most limit, and no more passages than Export would.
func (s *Snapshot) Changes(ctx context.Context, position int64, limit int) (found Changes, err error) {
	err = s.locked(func() error {
		type change struct {
			number int64
			id     string // empty: not removed
		}
		var list []change
		err := each(ctx, s.tx, func(row *sql.Rows) error {
			var c change
			err := row.Scan(&c.number, &c.id)
			list = append(list, c)
			return err
		}, `SELECT changed, id FROM (SELECT changed, '' AS id FROM documents WHERE changed > ?
			UNION ALL SELECT changed, id FROM removals WHERE changed > ?) AS changes ORDER BY changed LIMIT ?`, position, position, limit)
		if err != nil {
			return err
		}
		found.Last, found.Total = s.state.sequence, s.state.documents
		if len(list) == limit {
			found.Last = list[limit-1].number
		}
		rows, err := s.read.rows(ctx, "WHERE changed > ? AND changed <= ? ORDER BY changed", position, found.Last)
		if err != nil {
			return err
		}
		if most := fitting(rows); most < len(rows) {
			rows, found.Last = rows[:most], rows[most].changed-1
		}
		if found.Last < s.state.sequence {
			err := get(ctx, s.tx, []any{&found.Left}, `SELECT (SELECT count(*) FROM documents WHERE changed > ?) +
				(SELECT count(*) FROM removals WHERE changed > ?)`, found.Last, found.Last)
			if err != nil {
				return err
			}
		}
		for _, c := range list {
			if c.id != "" && c.number <= found.Last {
				found.Removed = append(found.Removed, c.id)
			}
		}
		documents, err := s.read.whole(ctx, rows)
		for i, d := range documents {
			found.Put = append(found.Put, Put{Document: d, Changed: rows[i].changed, New: rows[i].row > position,
				AccessAlone: rows[i].texted <= position})
		}
		return err
	})
	return found, err
}

// ChangedSince returns the ids of documents that were changed behind a position, at most limit.
func (s *Store) ChangedSince(ctx context.Context, position int64, limit int) ([]string, error) {
	return column[string](ctx, s.db.Pool(), `SELECT id FROM (SELECT id, changed FROM documents WHERE changed > ?
		UNION ALL SELECT id, changed FROM removals WHERE changed > ?) AS changes ORDER BY changed LIMIT ?`, position, position, limit)
}

// Sequence returns the number of the last change.
func (s *Store) Sequence(ctx context.Context) (int64, error) {
	m, err := readState(ctx, s.db.Pool())
	return m.sequence, err
}

// Lease makes holder the only process that follows the log under a name, until a time, unless another one is. It returns the
// position.
func (s *Store) Lease(ctx context.Context, name, holder string, until time.Time) (position int64, ok bool, err error) {
	err = s.db.Update(ctx, func(tx *sql.Tx) error {
		position, ok = 0, false
		if err := execute(ctx, tx, `INSERT INTO followers (name, position, holder, until) VALUES (?, 0, ?, 0)
			ON CONFLICT (name) DO NOTHING`, name, holder); err != nil {
			return err
		}
		has, end := "", int64(0)
		if err := get(ctx, tx, []any{&position, &has, &end}, "SELECT position, holder, until FROM followers WHERE name = ?", name); err != nil {
			return err
		}
		if ok = has == holder || end < s.now().UnixMicro(); !ok {
			return nil
		}
		return execute(ctx, tx, "UPDATE followers SET holder = ?, until = ? WHERE name = ?", holder, until.UnixMicro(), name)
	})
	return position, ok, err
}

// Advance stores the position of the holder of a lease, and extends it. ok is false if another process has the lease: what was
// applied is applied again, which changes nothing.
func (s *Store) Advance(ctx context.Context, name, holder string, position int64, until time.Time) (ok bool, err error) {
	err = s.db.Update(ctx, func(tx *sql.Tx) error {
		has, err := column[string](ctx, tx, "SELECT holder FROM followers WHERE name = ?", name)
		if ok = err == nil && len(has) == 1 && has[0] == holder; !ok {
			return err
		}
		return execute(ctx, tx, "UPDATE followers SET position = ?, until = ? WHERE name = ?", position, until.UnixMicro(), name)
	})
	return ok, err
}

// Release ends the leases of a holder.
func (s *Store) Release(ctx context.Context, holder string) error {
	return s.db.Update(ctx, func(tx *sql.Tx) error {
		return execute(ctx, tx, "UPDATE followers SET until = 0 WHERE holder = ?", holder)
	})
}

// Position returns how far a follower is; 0 if it has not begun.
func (s *Snapshot) Position(ctx context.Context, name string) (position int64, err error) {
	err = s.locked(func() error {
		return get(ctx, s.tx, []any{&position}, "SELECT coalesce(max(position), 0) FROM followers WHERE name = ?", name)
	})
	return position, err
}

// Model returns the embedding model that was used last; empty if there is none.
func (s *Snapshot) Model() string { return s.state.model }

// Store returns which store this is.
func (s *Snapshot) Store() string { return s.state.store }
