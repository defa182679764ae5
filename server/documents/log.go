package documents

import (
	"cmp"
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

// Changes are changes of documents in the order in which they were made. Of several changes of one document only the
// last is there.
type Changes struct {
	Put []Put
	// Removed are ids of documents that are gone.
	Removed []string
	// Replaced are the words of documents as they were at the position, by id, where they are known.
	Replaced map[string]segment.Delta
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
	// AccessAlone: nothing has changed but access, sets and visibility.
	AccessAlone bool
}

// Changes returns the changes behind a position, at most limit, and no more passages than Export would. whole says that
// the follower has all documents as they were then. It has not after a part of the changes: of a document that was
// changed again behind that part, it lacks the earlier change, too.
func (s *Snapshot) Changes(ctx context.Context, position int64, whole bool, limit int) (found Changes, err error) {
	err = s.locked(ctx, func(from *Reader) {
		list := selectChanges(from.Source, "number > ? ORDER BY number LIMIT ?", position, limit)
		found.Last, found.Total = s.State.Generation, s.State.Documents
		if len(list) == limit {
			found.Last = list[limit-1].number
		}
		rows, changes := changed(from, list)
		if most := Fitting(rows); most < len(rows) {
			rows, found.Last = rows[:most], changes[rows[most].Number].number-1
		}
		if found.Last < s.State.Generation {
			from.Get([]any{&found.Left}, "SELECT count(*) FROM changes WHERE number > ?", found.Last)
		}
		for _, c := range list {
			if c.id != "" && c.number <= found.Last {
				found.Removed = append(found.Removed, c.id)
			}
		}
		for i, d := range from.Whole(rows...) {
			c := changes[rows[i].Number]
			d.Hidden = d.Hidden || rows[i].Damaged // nobody sees what cannot be read
			found.Put = append(found.Put, Put{Document: d, Changed: c.number, New: c.row > position,
				AccessAlone: whole && c.texted <= position && !rows[i].Damaged})
		}
		if whole {
			found.Replaced = replaced(from, position, found.ids())
		}
	})
	return found, err
}

// change is a row of the log.
type change struct {
	number, row, texted int64
	id                  string // empty: not removed
}

func selectChanges(db sqldb.Source, where string, args ...any) []change {
	return sqldb.RowsOf(db, func(c *change) []any { return []any{&c.number, &c.row, &c.texted, &c.id} },
		"SELECT number, coalesce(document, 0), texted, coalesce(id, '') FROM changes WHERE "+where, args...)
}

// changed returns the rows of changed documents in the order of their changes, and these by row.
func changed(from *Reader, list []change) ([]*Row, map[int64]change) {
	var numbers []int64
	changes := make(map[int64]change, len(list))
	for _, c := range list {
		if c.id == "" {
			numbers, changes[c.row] = append(numbers, c.row), c
		}
	}
	rows := from.Rows("WHERE row IN "+listed, sqldb.JSON{V: numbers})
	at := func(row *Row) int64 { return changes[row.Number].number }
	slices.SortFunc(rows, func(a, b *Row) int { return cmp.Compare(at(a), at(b)) })
	return rows, changes
}

// logged returns the last changes of documents, by row.
func (r *Reader) logged(rows []*Row) map[int64]change {
	numbers, found := make([]int64, len(rows)), make(map[int64]change, len(rows))
	for i, row := range rows {
		numbers[i] = row.Number
	}
	for _, c := range selectChanges(r.Source, "document IN "+listed, sqldb.JSON{V: numbers}) {
		found[c.row] = c
	}
	return found
}

// ids returns the documents that were changed.
func (c *Changes) ids() []string {
	ids := slices.Clone(c.Removed)
	for i := range c.Put {
		ids = append(ids, c.Put[i].ID)
	}
	return ids
}

// Unindexed returns the ids of documents that a follower at a position does not have as they are: those that it could
// not index, then those that were changed behind the position; at most limit.
func (s *Store) Unindexed(ctx context.Context, name string, position int64, limit int) (ids []string,
	err error) {
	defer guard.End(&err)
	return sqldb.ColumnOf[string](s.Newest(ctx),
		`SELECT id FROM (SELECT coalesce(changes.id, documents.id) AS id, number FROM changes
		LEFT JOIN documents ON row = document WHERE number > ?
		UNION ALL SELECT document, 0 FROM refusals WHERE follower = ?) AS list
		ORDER BY number, id LIMIT ?`, position, name, limit), nil
}

// Refused returns the documents that a follower could not index, at most limit, and their number.
func (s *Snapshot) Refused(ctx context.Context, name string, limit int) (list []index.Unindexed, total int, err error) {
	err = s.locked(ctx, func(from *Reader) {
		from.Get([]any{&total}, "SELECT count(*) FROM refusals WHERE follower = ?", name)
		list = sqldb.RowsOf(from.Source, func(d *index.Unindexed) []any { return []any{&d.ID, &d.Reason} },
			"SELECT document, reason FROM refusals WHERE follower = ? ORDER BY document LIMIT ?", name, limit)
	})
	return list, total, err
}

// RetryRefused puts the documents that followers could not index into the log again.
func (s *Store) RetryRefused(ctx context.Context) error {
	return s.Change(ctx, func(tx *sqldb.Tx) {
		ids := sqldb.ColumnOf[string](tx.Source, "SELECT DISTINCT document FROM refusals")
		if len(ids) == 0 {
			return
		}
		m := s.state(tx.Source)
		for _, id := range ids {
			m.Generation++
			tx.Exec(`UPDATE changes SET number = ?, texted = ?
				WHERE document = (SELECT row FROM documents WHERE id = ?)`, m.Generation, m.Generation, id)
		}
		tx.Exec("UPDATE meta SET generation = ?", m.Generation)
	})
}

// Lease makes holder the only process that follows the log under a name, until a time, unless another one is.
func (s *Store) Lease(ctx context.Context, name, holder string, until time.Time) (ok bool, err error) {
	err = s.Change(ctx, func(tx *sqldb.Tx) {
		tx.Exec(`INSERT INTO followers (name, position, holder, until) VALUES (?, 0, ?, 0)
			ON CONFLICT (name) DO NOTHING`, name, holder)
		ok = tx.Exec("UPDATE followers SET holder = ?, until = ? WHERE name = ? AND (holder = ? OR until < ?)", holder,
			until.UnixMicro(), name, holder, s.Now().UnixMicro()) > 0
	})
	return ok, err
}

// Advance stores that the holder of a lease has applied changes but for refused documents, of parts of what follows to
// which ones, and extends the lease. ok is false if another process has it: what was applied is applied again, which
// changes nothing.
func (s *Store) Advance(ctx context.Context, name, holder string, applied *Changes, refused []index.Unindexed,
	parts []string, until time.Time) (ok bool, err error) {
	rows := make([][]any, len(refused))
	for i, r := range refused {
		rows[i] = []any{name, r.ID, r.Reason}
	}
	err = s.Change(ctx, func(tx *sqldb.Tx) {
		if ok = tx.Exec(`UPDATE followers SET position = CASE WHEN position < ? THEN ? ELSE position END, until = ?
			WHERE name = ? AND holder = ?`, applied.Last, applied.Last, until.UnixMicro(), name, holder) > 0; !ok {
			return
		}
		tx.Exec("DELETE FROM refusals WHERE follower = ? AND document IN (SELECT value FROM json_each(?))", name,
			sqldb.JSON{V: applied.ids()})
		tx.Insert("refusals (follower, document, reason)", rows, "")
		for _, part := range parts {
			tx.Exec(`INSERT INTO followers (name, position, holder, until) VALUES (?, ?, '', 0)
				ON CONFLICT (name) DO UPDATE SET position = excluded.position`, name+"/"+part, applied.Last)
		}
	})
	return ok, err
}

// Release ends the leases of a holder.
func (s *Store) Release(ctx context.Context, holder string) error {
	return s.Change(ctx, func(tx *sqldb.Tx) { tx.Exec("UPDATE followers SET until = 0 WHERE holder = ?", holder) })
}

// Followers returns how far followers are whose names begin with a prefix, by the rest of their names. The names of a
// follower's parts begin with its own and a slash.
func (s *Snapshot) Followers(ctx context.Context, prefix string) (positions map[string]int64, err error) {
	err = s.locked(ctx, func(from *Reader) {
		positions = sqldb.MapOf[string, int64](from.Source,
			"SELECT substr(name, ?), position FROM followers WHERE name >= ? AND name < ?",
			utf8.RuneCountInString(prefix)+1, prefix, prefix+string(utf8.MaxRune))
	})
	return positions, err
}

// Forget removes a follower: its lease, what it refused, and how far its parts are. If it is leased again, it begins
// with the first change.
func (s *Store) Forget(ctx context.Context, name string) error {
	return s.Change(ctx, func(tx *sqldb.Tx) {
		tx.Exec("DELETE FROM refusals WHERE follower = ?", name)
		tx.Exec("DELETE FROM followers WHERE name = ? OR substr(name, 1, ?) = ?", name,
			utf8.RuneCountInString(name)+1, name+"/")
	})
}
