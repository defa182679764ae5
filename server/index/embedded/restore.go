package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/index/vector"
	"quarry/server/sqlite"
)

// lostVectors returns the segment whose vectors err says are damaged; "" for other errors.
func lostVectors(shown *state, err error) (segmentName string) {
	damaged, _ := segment.NameOf(err)
	for _, p := range shown.parts {
		if damaged != "" && p.vectors.fileName() == damaged {
			return p.name
		}
	}
	return ""
}

// healVectors makes the vectors of segments again from what is stored, and those of others of the state that turn out to
// be damaged too: damage seldom comes alone, and a search is tried only once more.
func (x *Index) healVectors(ctx context.Context, shown *state, names []string, cause error) error {
	if x.ReadOnly() {
		return fmt.Errorf("%w; they are restored when the library is opened with the right to write: %w", cause,
			index.ErrReadOnly)
	}
	x.repairs.Lock()
	defer x.repairs.Unlock()
	x.log.Warn("vectors are damaged and will be restored from the stored ones", "cause", cause)
	for _, p := range shown.parts {
		if p.vectors == nil || !slices.Contains(names, p.name) && x.verifyVectors(p.vectors.name) == nil {
			continue
		}
		if err := x.refreshVectors(ctx, p.name, false); err != nil && !errors.Is(err, errOvertaken) {
			return fmt.Errorf("restore vectors: %w", err)
		}
	}
	return nil
}

// verifyVectors reads all of a file afresh.
func (x *Index) verifyVectors(name string) error {
	data, release, err := x.files.Open(name)
	if err != nil {
		return err
	}
	defer release()
	if err := checkName(name, data); err != nil {
		return err
	}
	file, err := vector.Open(name, data)
	if err != nil {
		return err
	}
	return file.Verify()
}

// restoreVectors gives a new segment the vectors that are stored. Without them searching by words goes on, and the next
// Embed tries again.
func (x *Index) restoreVectors(ctx context.Context, name string) {
	if err := x.refreshVectors(ctx, name, false); err != nil && !errors.Is(err, errOvertaken) {
		x.log.Warn("vectors could not be restored yet", "segment", name, "error", err)
	}
}

// refreshVectors makes the file of a segment's vectors anew from all that are stored by the current model. news says
// that what is found changes by it. errOvertaken: the segment or its vectors were replaced meanwhile.
func (x *Index) refreshVectors(ctx context.Context, name string, news bool) error {
	model, ok, err := currentModel(ctx, x.db.Reader)
	if err != nil || !ok {
		return err
	}
	seen, err := x.openSound(ctx)
	if err != nil {
		return err
	}
	defer seen.close()
	p := seen.state.named(name)
	if p == nil {
		return errOvertaken
	}
	built, err := x.storedVectors(ctx, seen, p, model)
	if err != nil {
		return err
	}
	made, err := x.createVectors(built, model.name)
	if err != nil {
		return err
	}
	err = x.db.Update(ctx, func(tx *sql.Tx) error { return replaceVectors(ctx, tx, p, made, news) })
	if err != nil {
		x.discard("", made)
		return err
	}
	x.discard("", p.vectors)
	return nil
}

// storedVectors looks up the vectors of all live chunks of a part.
func (x *Index) storedVectors(ctx context.Context, seen *view, p *part, model embeddingModel) (*vector.Builder, error) {
	known, err := newEmbeddings(ctx, x.db.Reader, model) // newer than the view: what was embedded since counts too
	if err != nil {
		return nil, err
	}
	defer known.close()
	b := vector.NewBuilder(model.dimensions, p.segment.reader.Chunks())
	err = segment.Protect(p.segment.reader.Name, func() error {
		for ordinal := range p.documents {
			if p.isDeleted(ordinal) {
				continue
			}
			whole, err := storedDocument(ctx, seen.library, p, ordinal)
			if err != nil {
				return err
			}
			first, _ := p.segment.reader.DocumentChunks(ordinal)
			if err := known.add(ctx, b, first, &whole); err != nil {
				return err
			}
		}
		return nil
	})
	return b, x.blame([]*part{p}, err)
}

// storedDocument reads the document that a live ordinal of a part stands for.
func storedDocument(ctx context.Context, library *library, p *part, ordinal int) (index.Document, error) {
	id, err := p.segment.reader.DocumentID(ordinal)
	if err != nil {
		return index.Document{}, err
	}
	found, err := library.find(ctx, id)
	if err != nil {
		return index.Document{}, err
	}
	if found == nil {
		return index.Document{}, fmt.Errorf("%w: document %q is in the index but not stored", segment.ErrDamaged, id)
	}
	whole, _, err := library.whole(ctx, found)
	return whole, err
}

// replaceVectors names made, which may be nil, in the place of a part's vectors.
func replaceVectors(ctx context.Context, tx *sql.Tx, p *part, made *vectorFile, news bool) error {
	statement, now := context.WithoutCancel(ctx), ""
	row := tx.QueryRowContext(statement, `SELECT coalesce(v.name, '') FROM segments s
		LEFT JOIN vector_files v ON v.segment = s.id WHERE s.id = ? AND s.name = ?`, p.id, p.name)
	err := row.Scan(&now)
	if errors.Is(err, sql.ErrNoRows) || err == nil && now != p.vectors.fileName() {
		return errOvertaken
	}
	if err == nil {
		_, err = tx.ExecContext(statement, "DELETE FROM vector_files WHERE segment = ?", p.id)
	}
	if err != nil {
		return sqlite.Explain(fmt.Errorf("replace vectors: %w", err))
	}
	if made != nil {
		if err := insertVectors(ctx, tx, p.id, made); err != nil {
			return err
		}
	}
	if news {
		if _, err := tx.ExecContext(statement, "UPDATE meta SET generation = generation + 1"); err != nil {
			return sqlite.Explain(fmt.Errorf("replace vectors: %w", err))
		}
	}
	return bumpManifest(ctx, tx)
}
