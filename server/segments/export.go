package segments

import "context"

// Embeddings implements index.Exporter.
func (x *Index) Embeddings(ctx context.Context, model string, texts []string) ([][]float32, error) {
	current, ok, err := currentModel(ctx, x.db.Reader)
	if err != nil || !ok || current.name != model {
		return make([][]float32, len(texts)), err
	}
	return (&embeddings{x, current, x.db.Reader}).find(ctx, texts...)
}
