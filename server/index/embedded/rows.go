package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quarry/server/index"
	"quarry/server/sqlite"
)

const (
	ordinalBits = 20
	ordinalMask = 1<<ordinalBits - 1
	// ctxEvery is the number of rows between two looks at whether anybody still waits for the answer.
	ctxEvery = 1024
)

// querier is a transaction. Statements run to their end: interrupting one would interrupt whatever else runs on the
// same connection, so callers look at their context between statements.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// meta is the single row of the table of that name.
type meta struct {
	store                string
	generation, manifest int64
	documents, chunks    int
}

func (m meta) version() string { return fmt.Sprintf("%s.%d", m.store, m.generation) }

func readMeta(ctx context.Context, q querier) (meta, error) {
	var m meta
	row := q.QueryRowContext(context.WithoutCancel(ctx),
		"SELECT store, generation, manifest, documents, chunks FROM meta WHERE id = 1")
	if err := row.Scan(&m.store, &m.generation, &m.manifest, &m.documents, &m.chunks); err != nil {
		return meta{}, sqlite.Explain(fmt.Errorf("read the state of the library: %w", err))
	}
	return m, nil
}

// stored is a document's row.
type stored struct {
	row      int64
	hash     []byte
	chunks   int
	document index.Document // without chunks
	packed   []byte         // what is not in document yet; nil when all is
}

const documentColumns = `row, hash, id, source, origin, title, link, type, created_at, updated_at, hidden, chunks, detail`

// library reads documents within one transaction, with statements that are prepared once. Not safe for concurrent use.
type library struct {
	q        querier
	packer   *packer
	byID     *sql.Stmt
	chunksOf *sql.Stmt
	recalled map[string]*stored
}

// maxRecalled bounds what recall keeps: more than one answer describes.
const maxRecalled = 256

func newLibrary(q querier, p *packer) *library { return &library{q: q, packer: p} }

func (l *library) prepare(ctx context.Context, statement **sql.Stmt, text string) error {
	if *statement != nil {
		return nil
	}
	prepared, err := l.q.PrepareContext(context.WithoutCancel(ctx), text)
	if err != nil {
		return sqlite.Explain(fmt.Errorf("prepare to read documents: %w", err))
	}
	*statement = prepared
	return nil
}

func (l *library) close() {
	for _, statement := range []*sql.Stmt{l.byID, l.chunksOf} {
		if statement != nil {
			_ = statement.Close()
		}
	}
}

// find reads a document's row; nil when there is none.
func (l *library) find(ctx context.Context, id string) (*stored, error) {
	found, err := l.look(ctx, id)
	if err != nil || found == nil {
		return nil, err
	}
	return found, l.complete(found)
}

// recall is find that remembers: an answer describes its documents first and then reads their chunks. It serves a
// transaction that only reads.
func (l *library) recall(ctx context.Context, id string) (*stored, error) {
	if found, ok := l.recalled[id]; ok {
		return found, ctx.Err()
	}
	found, err := l.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if l.recalled == nil || len(l.recalled) >= maxRecalled {
		l.recalled = make(map[string]*stored)
	}
	l.recalled[id] = found
	return found, nil
}

// look is find for when the row's columns are enough.
func (l *library) look(ctx context.Context, id string) (*stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.prepare(ctx, &l.byID, "SELECT "+documentColumns+" FROM documents WHERE id = ?"); err != nil {
		return nil, err
	}
	found, err := l.scan(l.byID.QueryRowContext(context.WithoutCancel(ctx), id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, sqlite.Explain(fmt.Errorf("read document %q: %w", id, err))
	}
	return found, nil
}

func (l *library) scan(row interface{ Scan(...any) error }) (*stored, error) {
	var s stored
	var created, updated *int64
	d := &s.document
	err := row.Scan(&s.row, &s.hash, &d.ID, &d.Source, &d.Origin, &d.Title, &d.Link, &d.Type, &created, &updated,
		&d.Hidden, &s.chunks, &s.packed)
	d.CreatedAt, d.UpdatedAt = fromMicros(created), fromMicros(updated)
	return &s, err
}

func (l *library) complete(s *stored) error {
	if s.packed == nil {
		return nil
	}
	if err := l.packer.unpackDetail(s.packed, &s.document); err != nil {
		return fmt.Errorf("read document %q: %w", s.document.ID, err)
	}
	s.packed = nil
	return nil
}

// readChunks reads the chunks from to to, inclusive, of those that there are.
func (l *library) readChunks(ctx context.Context, s *stored, from, to int) ([]index.Chunk, error) {
	from, to = max(from, 0), min(to, s.chunks-1)
	if from > to {
		return nil, nil
	}
	// The first group is the last one that begins at or before from.
	if err := l.prepare(ctx, &l.chunksOf, `SELECT key, body FROM chunks WHERE key >= coalesce(
		(SELECT max(key) FROM chunks WHERE key BETWEEN ? AND ?), 0) AND key BETWEEN ? AND ? ORDER BY key`); err != nil {
		return nil, err
	}
	begin := chunkKey(s.row, 0)
	rows, err := l.chunksOf.QueryContext(context.WithoutCancel(ctx), begin, chunkKey(s.row, from), begin,
		chunkKey(s.row, to))
	if err != nil {
		return nil, sqlite.Explain(fmt.Errorf("read chunks of document %q: %w", s.document.ID, err))
	}
	defer func() { _ = rows.Close() }()
	chunks := make([]index.Chunk, 0, to-from+1)
	var key int64
	var body sql.RawBytes
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := rows.Scan(&key, &body); err != nil {
			return nil, sqlite.Explain(fmt.Errorf("read chunks of document %q: %w", s.document.ID, err))
		}
		group, err := l.packer.unpackChunks(body)
		if err != nil {
			return nil, fmt.Errorf("read chunks of document %q: %w", s.document.ID, err)
		}
		for i := range group {
			if number := int(key&ordinalMask) + i; number >= from && number <= to {
				chunks = append(chunks, group[i])
			}
		}
	}
	if err := rows.Err(); err != nil {
		return nil, sqlite.Explain(fmt.Errorf("read chunks of document %q: %w", s.document.ID, err))
	}
	if len(chunks) != to-from+1 {
		return nil, fmt.Errorf("read chunks of document %q: %w: %d of %d are there", s.document.ID, errPacked,
			len(chunks), to-from+1)
	}
	return chunks, nil
}

// whole reads a document with all its chunks.
func (l *library) whole(ctx context.Context, s *stored) (index.Document, error) {
	if err := l.complete(s); err != nil {
		return index.Document{}, err
	}
	document := s.document
	chunks, err := l.readChunks(ctx, s, 0, s.chunks-1)
	document.Chunks = chunks
	return document, err
}

// ids calls each for the id of every document, ascending.
func (l *library) ids(ctx context.Context, each func(id string) error) error {
	rows, err := l.q.QueryContext(context.WithoutCancel(ctx), "SELECT id FROM documents ORDER BY id")
	if err != nil {
		return sqlite.Explain(fmt.Errorf("list documents: %w", err))
	}
	return eachText(ctx, rows, each)
}

func eachText(ctx context.Context, rows *sql.Rows, each func(text string) error) error {
	defer func() { _ = rows.Close() }()
	for n := 0; rows.Next(); n++ {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text := ""
		if err := rows.Scan(&text); err != nil {
			return sqlite.Explain(fmt.Errorf("list documents: %w", err))
		}
		if err := each(text); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return sqlite.Explain(fmt.Errorf("list documents: %w", err))
	}
	return nil
}

func chunkKey(row int64, ordinal int) int64 { return row<<ordinalBits | int64(ordinal)&ordinalMask }

// storer writes documents within one transaction.
type storer struct {
	tx         *sql.Tx
	packer     *packer
	statements map[string]*sql.Stmt
}

func newStorer(tx *sql.Tx, p *packer) *storer {
	return &storer{tx: tx, packer: p, statements: make(map[string]*sql.Stmt)}
}

// exec runs a statement that is prepared once; the transaction closes it.
func (s *storer) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	statement := s.statements[text]
	if statement == nil {
		prepared, err := s.tx.PrepareContext(context.WithoutCancel(ctx), text)
		if err != nil {
			return nil, sqlite.Explain(fmt.Errorf("prepare to write: %w", err))
		}
		s.statements[text], statement = prepared, prepared
	}
	result, err := statement.ExecContext(context.WithoutCancel(ctx), args...)
	if err != nil {
		return nil, sqlite.Explain(fmt.Errorf("write to the library: %w", err))
	}
	return result, nil
}

// put stores a document in the place of old (nil: it is new). groups are its packed chunks.
func (s *storer) put(ctx context.Context, d *index.Document, hash []byte, groups []packedGroup, old *stored) error {
	packed, err := s.packer.packDetail(d)
	if err != nil {
		return err
	}
	values := []any{hash, d.ID, d.Source, d.Origin, d.Title, d.Link, d.Type, micros(d.CreatedAt), micros(d.UpdatedAt),
		d.Hidden, len(d.Chunks), packed}
	var row int64
	if old == nil {
		result, err := s.exec(ctx, `INSERT INTO documents (hash, id, source, origin, title, link, type, created_at,
			updated_at, hidden, chunks, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, values...)
		if err != nil {
			return err
		}
		if row, err = result.LastInsertId(); err != nil {
			return fmt.Errorf("write document %q: %w", d.ID, err)
		}
	} else {
		row = old.row
		if _, err := s.exec(ctx, `UPDATE documents SET hash = ?, id = ?, source = ?, origin = ?, title = ?, link = ?,
			type = ?, created_at = ?, updated_at = ?, hidden = ?, chunks = ?, detail = ? WHERE row = ?`,
			append(values, row)...); err != nil {
			return err
		}
		if _, err := s.exec(ctx, "DELETE FROM document_sets WHERE document = ?", row); err != nil {
			return err
		}
	}
	for _, name := range d.Sets {
		if _, err := s.exec(ctx, "INSERT OR IGNORE INTO document_sets (name, document) VALUES (?, ?)", name,
			row); err != nil {
			return err
		}
	}
	if old != nil && sameChunks(old.hash, hash) {
		return nil
	}
	return s.putChunks(ctx, row, groups, old)
}

func (s *storer) putChunks(ctx context.Context, row int64, groups []packedGroup, old *stored) error {
	if old != nil {
		if err := s.removeChunks(ctx, row); err != nil {
			return err
		}
	}
	for _, group := range groups {
		if _, err := s.exec(ctx, "INSERT INTO chunks (key, body) VALUES (?, ?)", chunkKey(row, group.first),
			group.body); err != nil {
			return err
		}
	}
	return nil
}

func (s *storer) removeChunks(ctx context.Context, row int64) error {
	_, err := s.exec(ctx, "DELETE FROM chunks WHERE key BETWEEN ? AND ?", chunkKey(row, 0), chunkKey(row, ordinalMask))
	return err
}

func (s *storer) remove(ctx context.Context, old *stored) error {
	if err := s.removeChunks(ctx, old.row); err != nil {
		return err
	}
	_, err := s.exec(ctx, "DELETE FROM documents WHERE row = ?", old.row)
	return err
}

func (s *storer) putCursors(ctx context.Context, cursors map[string]string) error {
	for key, value := range cursors {
		var err error
		if value == "" {
			_, err = s.exec(ctx, "DELETE FROM cursors WHERE key = ?", key)
		} else {
			_, err = s.exec(ctx, `INSERT INTO cursors (key, value) VALUES (?, ?)
				ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
