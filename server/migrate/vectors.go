package migrate

import (
	"context"

	"quarry/server/index"
)

// WithVectors returns the target with an Embed that takes the vectors which the source has stored, so that the model is
// asked only for the others.
func WithVectors(from Source, to index.Index) index.Index { return embedding{to, from} }

type embedding struct {
	index.Index
	from Source
}

// Embed implements index.Index.
func (e embedding) Embed(ctx context.Context, model string, ask index.Vectorise, report func(index.Embedded)) error {
	return e.Index.Embed(ctx, model, func(ctx context.Context, texts []string) ([][]float32, error) {
		found, err := e.from.Embeddings(ctx, model, texts)
		if err != nil {
			return nil, err
		}
		var unknown []string
		for i, vector := range found {
			if vector == nil {
				unknown = append(unknown, texts[i])
			}
		}
		if len(unknown) == 0 {
			return found, nil
		}
		asked, err := ask(ctx, unknown)
		if err != nil {
			return nil, err
		}
		for i, next := 0, 0; i < len(found) && next < len(asked); i++ {
			if found[i] == nil {
				found[i], next = asked[next], next+1
			}
		}
		return found, nil
	}, report)
}
