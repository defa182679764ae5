package embedded

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

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
		if errors.Is(err, sql.ErrNoRows) {
			err = index.ErrDamaged
		}
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
	damaged  error          // why the row cannot be read; only the id is certain then, and the row's number if not 0
}

// origin is that of the document, as far as it is known.
func (s *stored) origin() string {
	if s.damaged != nil && s.document.Origin == "" {
		return index.LostOrigin
	}
	return s.document.Origin
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
	l.complete(found)
	return found, nil
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
	var found *stored
	err := l.prepare(ctx, &l.byID, "SELECT "+documentColumns+" FROM documents WHERE id = ?")
	if err == nil {
		found, err = l.scan(l.byID.QueryRowContext(context.WithoutCancel(ctx), id))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err = sqlite.Explain(err); err != nil && !unreadable(err) {
		return nil, fmt.Errorf("read document %q: %w", id, err)
	}
	if err != nil {
		// The index on ids may know the row's number although the row cannot be read.
		found = &stored{document: index.Document{ID: id}, damaged: err}
		_ = l.q.QueryRowContext(context.WithoutCancel(ctx), "SELECT row FROM documents WHERE id = ?", id).Scan(&found.row)
	}
	return found, nil
}

// scan reads a row and checks its seal.
func (l *library) scan(row interface{ Scan(...any) error }) (*stored, error) {
	var s stored
	var created, updated *int64
	d := &s.document
	err := row.Scan(&s.row, &s.hash, &d.ID, &d.Source, &d.Origin, &d.Title, &d.Link, &d.Type, &created, &updated,
		&d.Hidden, &s.chunks, &s.packed)
	d.CreatedAt, d.UpdatedAt = fromMicros(created), fromMicros(updated)
	if err == nil && isSealed(s.packed) {
		s.packed, s.damaged = unseal(s.packed, documentKey(&s))
	} else if err == nil {
		l.completeOld(&s)
	}
	return &s, err
}

// complete unpacks what the row holds beside its columns.
func (l *library) complete(s *stored) {
	if s.packed == nil || s.damaged != nil {
		return
	}
	s.damaged = l.packer.unpackDetail(s.packed, &s.document)
	s.packed = nil
}

// completeOld is complete for a row without a seal, which is checked by the document's hash.
func (l *library) completeOld(s *stored) {
	l.complete(s)
	if s.damaged == nil && (s.chunks < 0 || s.chunks > MaxChunks || len(s.hash) != 2*hashBytes ||
		!bytes.Equal(hashOf(&s.document)[:hashBytes], s.hash[:hashBytes])) {
		s.damaged = fmt.Errorf("%w: its hash is wrong", errPacked)
	}
}

// readChunks reads the chunks from to to, inclusive, of those that there are. Those that cannot be read are marked.
func (l *library) readChunks(ctx context.Context, s *stored, from, to int) ([]index.Chunk, error) {
	from, to = max(from, 0), min(to, s.chunks-1)
	if from > to {
		return nil, nil
	}
	chunks := make([]index.Chunk, to-from+1)
	for i := range chunks {
		chunks[i].Damaged = true
	}
	return chunks, l.fillChunks(ctx, s, from, chunks)
}

// fillChunks reads the chunks from from on into chunks. Where the database itself is damaged, each half is tried alone.
func (l *library) fillChunks(ctx context.Context, s *stored, from int, chunks []index.Chunk) error {
	err := l.eachGroup(ctx, s, from, from+len(chunks)-1, func(key int64, body []byte) {
		group, err := l.packer.unpackGroup(body, key, s.hash)
		if err != nil {
			return
		}
		first := int(key&ordinalMask) - from
		for i := max(0, -first); i < len(group) && first+i < len(chunks); i++ {
			chunks[first+i] = group[i]
		}
	})
	if !unreadable(err) {
		return err
	}
	if len(chunks) == 1 {
		chunks[0] = index.Chunk{Damaged: true}
		return nil
	}
	half := len(chunks) / 2
	if err := l.fillChunks(ctx, s, from, chunks[:half]); err != nil {
		return err
	}
	return l.fillChunks(ctx, s, from+half, chunks[half:])
}

// eachGroup calls each for the rows that hold the chunks from to to.
func (l *library) eachGroup(ctx context.Context, s *stored, from, to int, each func(key int64, body []byte)) error {
	// The first group is the last one that begins at or before from.
	if err := l.prepare(ctx, &l.chunksOf, `SELECT key, body FROM chunks WHERE key >= coalesce(
		(SELECT max(key) FROM chunks WHERE key BETWEEN ? AND ?), 0) AND key BETWEEN ? AND ? ORDER BY key`); err != nil {
		return err
	}
	begin := chunkKey(s.row, 0)
	rows, err := l.chunksOf.QueryContext(context.WithoutCancel(ctx), begin, chunkKey(s.row, from), begin,
		chunkKey(s.row, to))
	if err != nil {
		return sqlite.Explain(fmt.Errorf("read chunks of document %q: %w", s.document.ID, err))
	}
	defer func() { _ = rows.Close() }()
	var key, last int64
	var body sql.RawBytes
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := rows.Scan(&key, &body); err != nil {
			return sqlite.Explain(fmt.Errorf("read chunks of document %q: %w", s.document.ID, err))
		}
		if key <= last {
			return errOrder
		}
		last = key
		each(key, body)
	}
	if err := rows.Err(); err != nil {
		return sqlite.Explain(fmt.Errorf("read chunks of document %q: %w", s.document.ID, err))
	}
	return nil
}

// whole reads a document with all its chunks. lost: some of it, or all but its id, cannot be read.
func (l *library) whole(ctx context.Context, s *stored) (document index.Document, lost bool, err error) {
	if l.complete(s); s.damaged != nil {
		return index.Document{ID: s.document.ID}, true, nil
	}
	document = s.document
	document.Chunks, err = l.readChunks(ctx, s, 0, s.chunks-1)
	return document, slices.ContainsFunc(document.Chunks, isDamaged), err
}

func isDamaged(chunk index.Chunk) bool { return chunk.Damaged }

// ids calls each for the id of every document, ascending.
func (l *library) ids(ctx context.Context, each func(id string) error) error {
	rows, err := l.q.QueryContext(context.WithoutCancel(ctx), "SELECT id FROM documents ORDER BY id")
	if err != nil {
		return sqlite.Explain(fmt.Errorf("list documents: %w", err))
	}
	last := ""
	return eachText(ctx, rows, func(id string) error {
		if id <= last {
			return errOrder
		}
		last = id
		return each(id)
	})
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

// put stores the document of an item.
func (s *storer) put(ctx context.Context, i *item) error {
	d, old := i.put, i.old
	packed, err := s.packer.packDetail(d)
	if err != nil {
		return err
	}
	packed = seal(packed, documentKey(&stored{hash: i.hash, chunks: len(d.Chunks), document: *d}))
	values := []any{i.hash, d.ID, d.Source, d.Origin, d.Title, d.Link, d.Type, micros(d.CreatedAt), micros(d.UpdatedAt),
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
	if i.sameText {
		return nil
	}
	return s.putChunks(ctx, row, i)
}

func (s *storer) putChunks(ctx context.Context, row int64, i *item) error {
	if i.old != nil {
		if err := s.removeChunks(ctx, row); err != nil {
			return err
		}
	}
	for _, group := range i.groups {
		if _, err := s.exec(ctx, "INSERT INTO chunks (key, body) VALUES (?, ?)", chunkKey(row, group.first),
			group.sealed(row, i.hash)); err != nil {
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
