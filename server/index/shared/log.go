package shared

import (
	"context"
	"database/sql"

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
	// AccessAlone: since the position, nothing has changed but access, sets and visibility.
	AccessAlone bool
}

// Changes returns the changes behind a position, at most limit.
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
			err := get(ctx, s.tx, []any{&found.Left}, `SELECT (SELECT count(*) FROM documents WHERE changed > ?) +
				(SELECT count(*) FROM removals WHERE changed > ?)`, found.Last, found.Last)
			if err != nil {
				return err
			}
		}
		for _, c := range list {
			if c.id != "" {
				found.Removed = append(found.Removed, c.id)
			}
		}
		rows, err := s.read.rows(ctx, "WHERE changed > ? AND changed <= ? ORDER BY changed", position, found.Last)
		if err != nil {
			return err
		}
		documents, err := s.read.whole(ctx, rows)
		for i, d := range documents {
			found.Put = append(found.Put, Put{Document: d, AccessAlone: rows[i].texted <= position})
		}
		return err
	})
	return found, err
}
