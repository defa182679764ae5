package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"quarry/server/index"
)

// repairVectors makes damaged files of vectors again from what is stored, and all others that turn out to be damaged:
// damage rarely comes alone, and a search is repeated only once.
func (x *Index) repairVectors(ctx context.Context, suspects *damagedError) error {
	x.repairs.Lock()
	defer x.repairs.Unlock()
	parts, err := readManifest(ctx, x.db.Reader)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.vectors == nil || !slices.Contains(suspects.files, p.vectors.name) && x.states.vectors.verify(p.vectors.name) == nil {
			continue
		}
		if err := x.refreshVectors(ctx, p.name, false); err != nil && !errors.Is(err, errOvertaken) {
			return fmt.Errorf("restore vectors: %w", err)
		}
	}
	return nil
}

// restoreVectors gives a new segment the vectors that are stored. Without them words are still searched, and the next
// Embed tries again.
func (x *Index) restoreVectors(ctx context.Context, name string) {
	if err := x.refreshVectors(ctx, name, false); err != nil && !errors.Is(err, errOvertaken) {
		x.log.Warn("cannot restore vectors yet", "segment", name, "error", err)
	}
}

// refreshVectors writes the file of a segment's vectors again, with all that are stored by the current model. news says
// that search results change by it. errOvertaken: the segment or its vectors were replaced meanwhile.
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
	// The pool is newer than the view: what was embedded since counts too.
	built, err := knownVectors(ctx, x.db.Reader, model, p.segment.reader, func(ordinal int) (*index.Document, error) {
		if p.isDeleted(ordinal) {
			return nil, nil
		}
		whole, err := storedDocument(ctx, seen.library, p, ordinal)
		return &whole, err
	})
	if err != nil {
		return blame([]*part{p}, err)
	}
	made, err := x.createVectors(built, model.name)
	if err != nil {
		return err
	}
	unused := p.vectors
	err = x.db.Update(ctx, func(tx *sql.Tx) error { return replaceVectors(ctx, tx, p, made, news) })
	if err != nil {
		unused = made
	}
	x.remove(unused.fileName())
	return err
}

// storedDocument reads the document that a live ordinal of a part stands for.
func storedDocument(ctx context.Context, library *library, p *part, ordinal int) (index.Document, error) {
	id, err := p.segment.reader.DocumentID(ordinal)
	if err != nil {
		return index.Document{}, err
	}
	return library.indexed(ctx, id)
}

// replaceVectors names made, which may be nil, in the place of a part's vectors.
func replaceVectors(ctx context.Context, tx *sql.Tx, p *part, made *vectorFile, news bool) error {
	now := ""
	err := get(ctx, tx, []any{&now}, `SELECT coalesce(v.name, '') FROM segments s
		LEFT JOIN vector_files v ON v.segment = s.id WHERE s.id = ? AND s.name = ?`, p.id, p.name)
	if errors.Is(err, sql.ErrNoRows) || err == nil && now != p.vectors.fileName() {
		return errOvertaken
	}
	if err == nil {
		_, err = execute(ctx, tx, "DELETE FROM vector_files WHERE segment = ?", p.id)
	}
	if err == nil && made != nil {
		err = made.insert(ctx, tx, p.id)
	}
	if err == nil && news {
		_, err = execute(ctx, tx, "UPDATE meta SET generation = generation + 1")
	}
	if err != nil {
		return err
	}
	return bumpManifest(ctx, tx)
}
