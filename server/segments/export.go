package segments

import (
	"context"

	"quarry/server/documents"
)

// Embeddings implements index.Exporter.
func (x *Index) Embeddings(ctx context.Context, model string, texts []string) ([][]float32, error) {
	found := make([][]float32, len(texts))
	current, ok, err := currentModel(ctx, x.db.Reader)
	if err != nil || !ok || current.name != model {
		return found, err
	}
	known := &embeddings{current, x.db.Reader}
	for i, text := range texts {
		if found[i], err = known.find(ctx, documents.KeyOf(text)); err != nil {
			return nil, err
		}
	}
	return found, nil
}
