package shared

import (
	"context"
	"database/sql"
	"slices"

	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/documents"
	"quarry/server/sqldb"
)

// stored is a document's row.
type stored struct {
	documents.Row
	changed, texted, added int64
}

const columns = documents.Columns + ", changed, texted, added_at"

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
			found[s.ID] = s
		}
	}
	return found, nil
}

// rows reads the rows of documents; where also orders and limits them.
func (r reader) rows(ctx context.Context, where string, args ...any) (all []*stored, err error) {
	err = sqldb.EachWhole(ctx, r.db, func(row *sql.Rows) error {
		s := new(stored)
		if err := s.Scan(row, &s.changed, &s.texted, &s.added); err != nil {
			return err
		}
		if s.Lose(r.packer.UnpackDetail(s.Detail, &s.Document)); s.Damaged {
			s.Access, s.Hidden = nil, true // nobody sees what cannot be read
		}
		s.Detail = nil
		all = append(all, s)
		return nil
	}, "SELECT "+columns+" FROM documents "+where, args...)
	return all, err
}

// readChunks reads the chunks from to to, inclusive, of those that there are. Those that cannot be read are marked.
func (r reader) readChunks(ctx context.Context, s *stored, from, to int) ([]index.Chunk, error) {
	from, to = max(from, 0), min(to, s.ChunkCount-1)
	if from > to {
		return nil, nil
	}
	chunks := codec.Unread(to - from + 1)
	err := sqldb.EachWhole(ctx, r.db, func(row *sql.Rows) error {
		first, body := 0, sql.RawBytes(nil)
		if err := row.Scan(&first, &body); err != nil {
			return err
		}
		if group, err := r.packer.UnpackChunks(body); err == nil {
			codec.Fill(chunks, first-from, group)
		}
		return nil
	}, "SELECT first, body FROM chunks WHERE document = ? AND first <= ? AND first + amount > ?", s.Number, to, from)
	return chunks, err
}

// whole reads documents with all their chunks, in the order of the rows. Chunks that cannot be read are marked.
func (r reader) whole(ctx context.Context, rows []*stored) ([]index.Document, error) {
	all := make([]index.Document, 0, len(rows))
	places := make(map[int64]int, len(rows))
	numbers := make([]int64, 0, len(rows))
	for i, s := range rows {
		all = append(all, s.Document)
		all[i].Chunks = codec.Unread(s.ChunkCount)
		places[s.Number], numbers = i, append(numbers, s.Number)
	}
	for some := range slices.Chunk(numbers, 1000) {
		err := sqldb.EachWhole(ctx, r.db, func(row *sql.Rows) error {
			number, first, body := int64(0), 0, sql.RawBytes(nil)
			if err := row.Scan(&number, &first, &body); err != nil {
				return err
			}
			if group, err := r.packer.UnpackChunks(body); err == nil {
				codec.Fill(all[places[number]].Chunks, first, group)
			}
			return nil
		}, "SELECT document, first, body FROM chunks WHERE document IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
			sqldb.JSON{V: some})
		if err != nil {
			return nil, err
		}
	}
	for i := range all {
		codec.SetDerived(&all[i])
	}
	return all, nil
}
