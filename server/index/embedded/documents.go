package embedded

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/index/documents"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
)

const (
	ordinalBits = 20
	ordinalMask = 1<<ordinalBits - 1
)

// meta is the single row of the table of that name.
type meta struct {
	store                string
	generation, manifest int64
	documents, chunks    int
}

func (m meta) version() string { return fmt.Sprintf("%s.%d", m.store, m.generation) }

func readMeta(ctx context.Context, db sqldb.Querier) (m meta, err error) {
	err = sqldb.GetWhole(ctx, db, []any{&m.store, &m.generation, &m.manifest, &m.documents, &m.chunks},
		"SELECT store, generation, manifest, documents, chunks FROM meta WHERE id = 1")
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("read the state of the library: %w", fault.ErrDamaged)
	}
	return m, err
}

// library reads documents within one transaction. It is not safe for concurrent use.
type library struct {
	sqldb.Querier
	packer   *codec.Packer
	recalled map[string]*documents.Row
}

// maxRecalled bounds what recall keeps: more than one answer describes.
const maxRecalled = 256

func newLibrary(db sqldb.Querier, p *codec.Packer) *library {
	return &library{Querier: db, packer: p}
}

// recall reads a document's row, nil when there is none, and keeps it: an answer describes its documents first and then
// reads their chunks. The transaction must only read.
func (l *library) recall(ctx context.Context, id string) (*documents.Row, error) {
	if found, ok := l.recalled[id]; ok {
		return found, ctx.Err()
	}
	found, err := l.look(ctx, id)
	if err != nil {
		return nil, err
	}
	if found != nil {
		l.complete(found)
	}
	if l.recalled == nil || len(l.recalled) >= maxRecalled {
		l.recalled = make(map[string]*documents.Row)
	}
	l.recalled[id] = found
	return found, nil
}

// look reads a document's row, without unpacking its detail; nil when there is none.
func (l *library) look(ctx context.Context, id string) (found *documents.Row, err error) {
	err = sqldb.EachWhole(ctx, l, func(row *sql.Rows) (err error) {
		found, err = l.scan(row)
		return err
	}, "SELECT "+documents.Columns+" FROM documents WHERE id = ?", id)
	if err == nil || !unreadable(err) {
		return found, err
	}
	// The index on ids may know the row's number although the row cannot be read.
	found = documents.Lost(id, err)
	_ = sqldb.GetWhole(ctx, l, []any{&found.Number}, "SELECT row FROM documents WHERE id = ?", id)
	return found, nil
}

// scan reads the columns of a document, and more behind them, and checks the document's seal.
func (l *library) scan(row *sql.Rows, more ...any) (*documents.Row, error) {
	s := new(documents.Row)
	err := s.Scan(row, more...)
	switch {
	case err != nil:
	case isSealed(s.Detail):
		detail, damage := unseal(s.Detail, documentKey(s))
		s.Detail = detail
		s.Lose(damage)
	default:
		l.completeOld(s)
	}
	return s, err
}

// complete unpacks what the row contains beside its columns.
func (l *library) complete(s *documents.Row) {
	if s.Detail == nil || s.Damaged {
		return
	}
	s.Lose(l.packer.UnpackDetail(s.Detail, &s.Document))
	s.Detail = nil
}

// completeOld is complete for a row without a seal, which is checked by the document's hash.
func (l *library) completeOld(s *documents.Row) {
	l.complete(s)
	if !s.Damaged && (s.ChunkCount < 0 || s.ChunkCount > codec.MaxChunks || len(s.Hash) != 2*codec.HashBytes ||
		!bytes.Equal(codec.Hash(&s.Document)[:codec.HashBytes], s.Hash[:codec.HashBytes])) {
		s.Lose(fmt.Errorf("%w: its hash is wrong", codec.ErrPacked))
	}
}

// readChunks reads the chunks from to to, inclusive, of those that there are. Those that cannot be read are marked.
func (l *library) readChunks(ctx context.Context, s *documents.Row, from, to int) ([]index.Chunk, error) {
	w := want(s, from, to)
	if len(w.chunks) == 0 {
		return nil, nil
	}
	return w.chunks, l.fillChunks(ctx, w)
}

// fillChunks reads what is wanted. Where the database itself is damaged, each half is tried alone.
func (l *library) fillChunks(ctx context.Context, w wantedChunks) error {
	err := l.eachGroup(ctx, w.of, w.from, w.from+len(w.chunks)-1, func(key int64, body []byte) { w.fill(l.packer, key, body) })
	if !unreadable(err) {
		return err
	}
	if len(w.chunks) == 1 {
		w.chunks[0] = index.Chunk{Damaged: true}
		return nil
	}
	half := len(w.chunks) / 2
	if err := l.fillChunks(ctx, wantedChunks{w.of, w.from, w.chunks[:half]}); err != nil {
		return err
	}
	return l.fillChunks(ctx, wantedChunks{w.of, w.from + half, w.chunks[half:]})
}

// eachGroup calls yield for the rows that contain the chunks from to to.
func (l *library) eachGroup(ctx context.Context, s *documents.Row, from, to int,
	yield func(key int64, body []byte)) error {
	var key, last int64
	var body sql.RawBytes
	begin := chunkKey(s.Number, 0)
	// The first group is the last one that begins at or before from.
	return sqldb.EachWhole(ctx, l, func(row *sql.Rows) error {
		if err := row.Scan(&key, &body); err != nil {
			return err
		}
		if key <= last {
			return documents.ErrOrder
		}
		last = key
		yield(key, body)
		return nil
	}, `SELECT key, body FROM chunks WHERE key >= coalesce((SELECT max(key) FROM chunks WHERE key BETWEEN ? AND ?), 0)
		AND key BETWEEN ? AND ? ORDER BY key`, begin, chunkKey(s.Number, from), begin, chunkKey(s.Number, to))
}

// whole reads a document with all its chunks. lost: some of it, or all but its id, cannot be read.
func (l *library) whole(ctx context.Context, s *documents.Row) (document index.Document, lost bool, err error) {
	if l.complete(s); s.Damaged {
		return index.Document{ID: s.ID}, true, nil
	}
	document = s.Document
	document.Chunks, err = l.readChunks(ctx, s, 0, s.ChunkCount-1)
	codec.SetDerived(&document)
	return document, slices.ContainsFunc(document.Chunks, isDamaged), err
}

// indexed reads a document that the index contains. What cannot be read of it is left out.
func (l *library) indexed(ctx context.Context, id string) (index.Document, error) {
	found, err := l.look(ctx, id)
	if err == nil && found == nil {
		err = fmt.Errorf("%w: document %q is in the index but not stored", segment.ErrDamaged, id)
	}
	if err != nil {
		return index.Document{}, err
	}
	whole, _, err := l.whole(ctx, found)
	return whole, err
}

func isDamaged(chunk index.Chunk) bool { return chunk.Damaged }

// ids calls yield for the id of every document, ascending.
func (l *library) ids(ctx context.Context, yield func(id string) error) error {
	last := ""
	return sqldb.EachWhole(ctx, l, func(row *sql.Rows) error {
		id := ""
		if err := row.Scan(&id); err != nil {
			return err
		}
		if id <= last {
			return documents.ErrOrder
		}
		last = id
		return yield(id)
	}, "SELECT id FROM documents ORDER BY id")
}

func chunkKey(row int64, ordinal int) int64 { return row<<ordinalBits | int64(ordinal)&ordinalMask }
