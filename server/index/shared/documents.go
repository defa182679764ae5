package shared

import (
	"context"
	"database/sql"
	"slices"

	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/sqldb"
)

// stored is a document's row.
type stored struct {
	row, changed, texted, added int64
	hash                        []byte
	chunks                      int
	document                    index.Document // without chunks
	damaged                     error          // why the row cannot be read
}

const documentColumns = `row, id, changed, texted, added_at, hash, source, origin, title, link, type, created_at, updated_at,
	hidden, chunks, detail`

// reader reads documents of a database or transaction.
type reader struct {
	db     sqldb.Querier
	packer *codec.Packer
}

// find reads the rows of documents by id; those that do not exist are missing.
func (r reader) find(ctx context.Context, ids []string) (map[string]*stored, error) {
	found := make(map[string]*stored, len(ids))
	for some := range slices.Chunk(ids, 1000) {
		rows, err := r.rows(ctx, "WHERE id IN (SELECT value FROM json_each(?))", sqldb.JSON{V: some})
		if err != nil {
			return nil, err
		}
		for _, s := range rows {
			found[s.document.ID] = s
		}
	}
	return found, nil
}

// rows reads the rows of documents; where also orders and limits them.
func (r reader) rows(ctx context.Context, where string, args ...any) (all []*stored, err error) {
	err = each(ctx, r.db, func(row *sql.Rows) error {
		var created, updated *int64
		var hidden int
		var packed []byte
		s := new(stored)
		d := &s.document
		if err := row.Scan(&s.row, &d.ID, &s.changed, &s.texted, &s.added, &s.hash, &d.Source, &d.Origin, &d.Title, &d.Link,
			&d.Type, &created, &updated, &hidden, &s.chunks, &packed); err != nil {
			return err
		}
		d.CreatedAt, d.UpdatedAt, d.Hidden = codec.FromMicros(created), codec.FromMicros(updated), hidden != 0
		if s.damaged = r.packer.UnpackDetail(packed, d); s.damaged != nil {
			d.Access, d.Hidden = nil, true // nobody sees what cannot be read
		}
		all = append(all, s)
		return nil
	}, "SELECT "+documentColumns+" FROM documents "+where, args...)
	return all, err
}

// readChunks reads the chunks from to to, inclusive, of those that there are. Those that cannot be read are marked.
func (r reader) readChunks(ctx context.Context, s *stored, from, to int) ([]index.Chunk, error) {
	from, to = max(from, 0), min(to, s.chunks-1)
	if from > to {
		return nil, nil
	}
	chunks := codec.Unread(to - from + 1)
	err := each(ctx, r.db, func(row *sql.Rows) error {
		first, body := 0, sql.RawBytes(nil)
		if err := row.Scan(&first, &body); err != nil {
			return err
		}
		if group, err := r.packer.UnpackChunks(body); err == nil {
			codec.Fill(chunks, first-from, group)
		}
		return nil
	}, "SELECT first, body FROM chunks WHERE document = ? AND first <= ? AND first + amount > ?", s.row, to, from)
	return chunks, err
}

// whole reads documents with all their chunks, in the order of the rows. Chunks that cannot be read are marked.
func (r reader) whole(ctx context.Context, rows []*stored) ([]index.Document, error) {
	documents := make([]index.Document, 0, len(rows))
	places := make(map[int64]int, len(rows))
	numbers := make([]int64, 0, len(rows))
	for i, s := range rows {
		documents = append(documents, s.document)
		documents[i].Chunks = codec.Unread(s.chunks)
		places[s.row], numbers = i, append(numbers, s.row)
	}
	for some := range slices.Chunk(numbers, 1000) {
		err := each(ctx, r.db, func(row *sql.Rows) error {
			number, first, body := int64(0), 0, sql.RawBytes(nil)
			if err := row.Scan(&number, &first, &body); err != nil {
				return err
			}
			if group, err := r.packer.UnpackChunks(body); err == nil {
				codec.Fill(documents[places[number]].Chunks, first, group)
			}
			return nil
		}, "SELECT document, first, body FROM chunks WHERE document IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
			sqldb.JSON{V: some})
		if err != nil {
			return nil, err
		}
	}
	for i := range documents {
		codec.SetDerived(&documents[i])
	}
	return documents, nil
}
