package embedded

import (
	"context"
	"fmt"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/sqldb"
)

// exportBytes bounds the text that Export reads at once, beside that of one document.
const exportBytes = 8 << 20

// Export implements index.Exporter.
func (x *Index) Export(ctx context.Context, after string, limit int) (documents []index.Document, err error) {
	shown, err := x.openView(ctx)
	if err != nil {
		return nil, err
	}
	defer shown.close()
	ids, err := sqldb.ColumnWhole[string](ctx, shown.library,
		"SELECT id FROM documents WHERE id > ? ORDER BY id LIMIT ?", after, limit)
	bytes := 0
	for i := 0; err == nil && i < len(ids) && bytes < exportBytes; i++ {
		var document index.Document
		if document, err = exported(ctx, shown.library, ids[i]); err == nil {
			documents = append(documents, document)
		}
		for _, chunk := range document.Chunks {
			bytes += len(chunk.Text)
		}
	}
	return documents, err
}

func exported(ctx context.Context, l *library, id string) (document index.Document, err error) {
	lost := true
	found, err := l.look(ctx, id)
	if err == nil && found != nil {
		document, lost, err = l.whole(ctx, found)
	}
	if err == nil && lost {
		err = fmt.Errorf("document %q: %w", id, fault.ErrDamaged)
	}
	return document, err
}

// Embeddings implements index.Exporter.
func (x *Index) Embeddings(ctx context.Context, model string, texts []string) ([][]float32, error) {
	found := make([][]float32, len(texts))
	current, ok, err := currentModel(ctx, x.db.Reader)
	if err != nil || !ok || current.name != model {
		return found, err
	}
	known := newEmbeddings(x.db.Reader, current)
	for i, text := range texts {
		if found[i], err = known.find(ctx, codec.KeyOf(text)); err != nil {
			return nil, err
		}
	}
	return found, nil
}
