package embedded

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/index/vector"
	"quarry/server/sqlite"
)

const (
	// embedTexts are handed to the model at once; what they become is durable together.
	embedTexts = 256
	// embedBytes of text are looked through for as many.
	embedBytes = 8 << 20
	// refreshAfter new vectors, or as many as a segment has already, its file is written anew while a pass goes on.
	refreshAfter = 4096
)

// errVectors: a model's answer that cannot be stored.
var errVectors = errors.New("the vectors cannot be used")

// Embed implements index.Index. One segment after the other is completed; the ones that are merged away meanwhile cost
// nothing, as what was embedded is found by its text.
func (x *Index) Embed(ctx context.Context, model string, vectors index.Vectorise,
	report func(index.Embedded)) error {
	if x.ReadOnly() {
		return fmt.Errorf("embed: %w", index.ErrReadOnly)
	}
	x.embeds.Lock()
	defer x.embeds.Unlock()
	if report == nil {
		report = func(index.Embedded) {}
	}
	e := &embedding{x: x, model: model, vectors: vectors, report: report, tried: make(map[string]bool)}
	if current, ok, err := currentModel(ctx, x.db.Reader); err != nil || ok && current.name != model {
		if err == nil {
			err = x.db.Update(ctx, func(tx *sql.Tx) error { return e.choose(ctx, tx) })
		}
		if err != nil {
			return fmt.Errorf("embed: %w", err)
		}
	}
	for {
		name, err := e.next(ctx)
		if err == nil && name == "" {
			if len(e.tried) > 0 {
				err = x.dropUnneeded(ctx, model)
			}
			if err != nil {
				return fmt.Errorf("embed: %w", err)
			}
			return nil
		}
		if err == nil {
			err = e.complete(ctx, name)
		}
		if err != nil && !errors.Is(err, errOvertaken) {
			return fmt.Errorf("embed: %w", err)
		}
	}
}

// embedding is one pass over all segments.
type embedding struct {
	x       *Index
	model   string
	vectors index.Vectorise
	report  func(index.Embedded)
	tried   map[string]bool // segments that were completed
	so      index.Embedded
}

// choose makes the model the current one, if there are vectors by it; otherwise that waits for the first.
func (e *embedding) choose(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(context.WithoutCancel(ctx), `UPDATE embedding_models SET current = (name = ?1)
		WHERE current <> (name = ?1) AND EXISTS (SELECT 1 FROM embedding_models WHERE name = ?1)`, e.model)
	if err != nil {
		return sqlite.Explain(fmt.Errorf("choose the embedding model: %w", err))
	}
	return nil
}

// next finds a segment with chunks that have no vector; "" if there is none. It also counts how far all is.
func (e *embedding) next(ctx context.Context) (name string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	current, err := e.x.currentState(ctx)
	if err != nil {
		return "", err
	}
	defer e.x.states.drop(current)
	e.so = index.Embedded{}
	for _, p := range current.parts {
		chunks, err := p.liveChunks()
		if err != nil {
			return "", e.x.blame([]*part{p}, err)
		}
		have := 0
		if p.vectors != nil && p.vectors.model == e.model {
			if have, err = p.liveVectors(); err != nil && !isDamage(err) {
				return "", err
			}
		}
		e.so.Done, e.so.Total = e.so.Done+have, e.so.Total+chunks
		if have < chunks && !e.tried[p.name] && name == "" {
			name = p.name
		}
	}
	e.report(e.so)
	return name, nil
}

// liveChunks counts the chunks of documents that are not deleted.
func (p *part) liveChunks() (n int, err error) {
	reader := p.segment.reader
	n = reader.Chunks()
	if p.deleted == nil {
		return n, nil
	}
	err = segment.Protect(reader.Name, func() error {
		for it := p.deleted.Iterator(); it.HasNext(); {
			from, to := reader.DocumentChunks(int(it.Next()))
			n -= to - from
		}
		return nil
	})
	return n, err
}

// complete embeds what a segment lacks. It writes the segment's vectors when it is through, or fails, and in between so
// often that they double.
func (e *embedding) complete(ctx context.Context, name string) error {
	fresh, written := 0, 0
	for ordinal := 0; ; {
		texts, keys, settled, next, err := e.gather(ctx, name, ordinal)
		if err != nil {
			return err
		}
		if err := e.store(ctx, texts, keys); err != nil {
			// What is known is searched, in spite of the failure.
			if fresh > written {
				e.x.restoreVectors(context.WithoutCancel(ctx), name)
			}
			return err
		}
		fresh += settled
		e.so.Done += settled
		e.report(e.so)
		if ordinal = next; ordinal < 0 {
			break
		}
		if fresh-written >= max(refreshAfter, written) {
			if err := e.x.refreshVectors(ctx, name, true); err != nil {
				return err
			}
			written = fresh
		}
	}
	e.tried[name] = true
	return e.x.refreshVectors(ctx, name, true)
}

// gather looks through the documents of a segment, from an ordinal on, for texts that have no vector. settled are the
// chunks that have one when these are embedded and had none in the segment's file; next is where to go on, −1 at the
// end.
func (e *embedding) gather(ctx context.Context, name string, from int) (texts []string, keys []vector.Key, settled,
	next int, err error) {
	seen, err := e.x.openView(ctx)
	if err != nil {
		return nil, nil, 0, 0, err
	}
	defer seen.close()
	p := seen.state.named(name)
	if p == nil {
		return nil, nil, 0, 0, errOvertaken
	}
	model, ok, err := currentModel(ctx, e.x.db.Reader)
	if err != nil {
		return nil, nil, 0, 0, err
	}
	var known *embeddings
	if ok && model.name == e.model {
		if known, err = newEmbeddings(ctx, e.x.db.Reader, model); err != nil {
			return nil, nil, 0, 0, err
		}
		defer known.close()
	}
	has, err := p.vectored(e.model)
	if err != nil {
		return nil, nil, 0, 0, err
	}
	batch, bytes := make(map[vector.Key]bool), 0
	err = segment.Protect(p.segment.reader.Name, func() error {
		for next = from; next < p.documents && len(texts) < embedTexts && bytes < embedBytes; next++ {
			first, end := p.segment.reader.DocumentChunks(next)
			if p.isDeleted(next) || all(has, first, end) {
				continue
			}
			whole, err := storedDocument(ctx, seen.library, p, next)
			if err != nil {
				return err
			}
			for i := range whole.Chunks {
				text := embeddedText(&whole, i)
				key := keyOf(text)
				bytes += len(text)
				if has == nil || !has[first+i] {
					settled++
				}
				if batch[key] {
					continue
				}
				if known != nil {
					if values, err := known.find(ctx, key); err != nil || values != nil {
						if err != nil {
							return err
						}
						continue
					}
				}
				batch[key] = true
				texts, keys = append(texts, text), append(keys, key)
			}
		}
		return ctx.Err()
	})
	if next == p.documents {
		next = -1
	}
	return texts, keys, settled, next, e.x.blame([]*part{p}, err)
}

// vectored tells which chunks of a part have a vector by a model; nil when none has.
func (p *part) vectored(model string) (has []bool, err error) {
	if p.vectors == nil || p.vectors.model != model || p.vectors.file == nil {
		return nil, nil
	}
	file := p.vectors.file.reader
	err = segment.Protect(file.Name, func() error {
		has = make([]bool, p.segment.reader.Chunks())
		for _, chunk := range file.Chunks() {
			has[chunk] = true
		}
		return nil
	})
	if isDamage(err) {
		return nil, nil // the file is made anew in the end
	}
	return has, err
}

func all(has []bool, from, to int) bool {
	if has == nil {
		return from == to
	}
	for _, h := range has[from:to] {
		if !h {
			return false
		}
	}
	return true
}

// store embeds texts and keeps what they become.
func (e *embedding) store(ctx context.Context, texts []string, keys []vector.Key) error {
	if len(texts) == 0 {
		return nil
	}
	values, err := e.vectors(ctx, texts)
	if err != nil {
		return err
	}
	if len(values) != len(texts) {
		return fmt.Errorf("%w: %d for %d texts", errVectors, len(values), len(texts))
	}
	dimensions := len(values[0])
	for _, v := range values {
		if len(v) != dimensions || dimensions == 0 || dimensions > vector.MaxDimensions {
			return fmt.Errorf("%w: %d and %d dimensions", errVectors, dimensions, len(v))
		}
	}
	return e.x.db.Update(ctx, func(tx *sql.Tx) error {
		id, err := e.enter(ctx, tx, dimensions)
		if err != nil {
			return err
		}
		statement := context.WithoutCancel(ctx)
		insert, err := tx.PrepareContext(statement, "INSERT OR IGNORE INTO embeddings (model, hash, vector) VALUES (?, ?, ?)")
		if err != nil {
			return sqlite.Explain(fmt.Errorf("store vectors: %w", err))
		}
		defer func() { _ = insert.Close() }()
		for i, v := range values {
			raw := make([]byte, 0, 4*dimensions)
			for _, value := range v {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(value))
			}
			if _, err := insert.ExecContext(statement, id, keys[i][:], raw); err != nil {
				return sqlite.Explain(fmt.Errorf("store vectors: %w", err))
			}
		}
		return nil
	})
}

// enter makes the model the current one and returns its row. A model whose vectors have another length than they had is
// another model: the old ones go.
func (e *embedding) enter(ctx context.Context, tx *sql.Tx, dimensions int) (id int64, err error) {
	statement := context.WithoutCancel(ctx)
	result, err := tx.ExecContext(statement, "DELETE FROM embedding_models WHERE name = ? AND dimensions <> ?", e.model,
		dimensions)
	if err != nil {
		return 0, sqlite.Explain(fmt.Errorf("note the embedding model: %w", err))
	}
	if n, err := result.RowsAffected(); err == nil && n > 0 {
		e.tried = make(map[string]bool)
		if err := bumpManifest(ctx, tx); err != nil {
			return 0, err
		}
	}
	for _, change := range []string{
		"INSERT INTO embedding_models (name, dimensions, current) VALUES (?1, ?2, 0) ON CONFLICT (name) DO NOTHING",
		"UPDATE embedding_models SET current = (name = ?1) WHERE current <> (name = ?1) AND ?2 > 0",
	} {
		if _, err := tx.ExecContext(statement, change, e.model, dimensions); err != nil {
			return 0, sqlite.Explain(fmt.Errorf("note the embedding model: %w", err))
		}
	}
	row := tx.QueryRowContext(statement, "SELECT id FROM embedding_models WHERE name = ?", e.model)
	if err := row.Scan(&id); err != nil {
		return 0, sqlite.Explain(fmt.Errorf("note the embedding model: %w", err))
	}
	return id, nil
}
