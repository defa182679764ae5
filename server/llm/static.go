package llm

import (
	"context"
	"path/filepath"
	"sync"

	"quarry/internal/text"
	"quarry/server/llm/static"
)

// staticEmbedder is a model of static word embeddings in a folder. It is read at its first use: a start without a
// search by vector pays nothing.
type staticEmbedder struct {
	folder string
	open   func() (*static.Model, error)
}

// newStaticEmbedder checks that the folder has the files of a model.
func newStaticEmbedder(folder string) (*staticEmbedder, error) {
	if err := static.Check(folder); err != nil {
		return nil, err
	}
	return &staticEmbedder{folder, sync.OnceValues(func() (*static.Model, error) { return static.Open(folder) })}, nil
}

// Name implements Embedder. Another model in the same folder has another name.
func (e *staticEmbedder) Name() string {
	model, err := e.open()
	if err != nil {
		return filepath.Base(e.folder)
	}
	return model.Name()
}

// Embed implements Embedder. The vector of a text without a known word is nil.
func (e *staticEmbedder) Embed(ctx context.Context, _ Use, texts []string) ([][]float32, Usage, error) {
	model, err := e.open()
	if err != nil {
		return nil, Usage{}, &Error{Kind: ErrUnavailable, Provider: "embeddings", Message: text.Shorten(err.Error(), maxMessage)}
	}
	vectors := make([][]float32, len(texts))
	for i := range texts {
		if err := ctx.Err(); err != nil {
			return nil, Usage{}, err
		}
		vectors[i] = model.Vector(texts[i])
	}
	return vectors, Usage{}, nil
}
