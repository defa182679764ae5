package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/vector"
	"quarry/server/sqldb"
)

// FewTexts to mostTexts are sent to a model at once, as many as it takes a second or two for: a model in this process
// reads ten a second or fewer, and what was not stored yet is lost when the program ends.
const FewTexts, mostTexts = 8, 256

// ErrVectors: a model's answer that cannot be stored.
var ErrVectors = errors.New("invalid vectors")

// Embedder gets the vectors of a pass: those that are stored, and those that it asks the model for and stores as they
// come. It is not safe for concurrent use.
type Embedder struct {
	Pass index.Embedding
	In   *Tables
	// Renewed is called in the transaction that stores vectors of another length than the model had.
	Renewed func(tx *sqldb.Tx)

	atOnce int
}

// AtOnce returns how many texts are sent next.
func (e *Embedder) AtOnce() int { return cmp.Or(e.atOnce, FewTexts) }

// Vectorise returns the vectors of texts, which are stored. Errors: ErrVectors.
func (e *Embedder) Vectorise(ctx context.Context, texts []string) ([][]float32, error) {
	return index.Vectorise(e.made).Unless(func(ctx context.Context, texts []string) ([][]float32, error) {
		return e.In.Embeddings(ctx, e.Pass.Model, texts)
	})(ctx, texts)
}

// made returns the vectors that the model makes.
func (e *Embedder) made(ctx context.Context, texts []string) (all [][]float32, err error) {
	defer guard.End(&err)
	for len(texts) > 0 {
		n, began := min(e.AtOnce(), len(texts)), time.Now()
		values, err := e.Pass.Vectors(ctx, texts[:n])
		guard.Check(err)
		dimensions, err := dimensionsOf(values, n)
		guard.Check(err)
		guard.Check(e.In.Change(ctx, func(tx *sqldb.Tx) {
			if putVectors(tx, e.Pass.Model, texts[:n], values, dimensions) {
				e.Renewed(tx)
			}
		}))
		switch took := time.Since(began); {
		case took > 2*time.Second:
			e.atOnce = max(1, e.AtOnce()/2)
		case took < time.Second && n == e.AtOnce():
			e.atOnce = min(mostTexts, 2*n)
		}
		all, texts = append(all, values...), texts[n:]
	}
	return all, nil
}

// dimensionsOf returns the length of vectors; nil ones, which are allowed, have none.
func dimensionsOf(values [][]float32, texts int) (dimensions int, err error) {
	if len(values) != texts {
		return 0, fmt.Errorf("%w: %d for %d texts", ErrVectors, len(values), texts)
	}
	for _, v := range values {
		switch {
		case v == nil:
			continue
		case dimensions == 0:
			dimensions = len(v)
		}
		if len(v) != dimensions || dimensions == 0 || dimensions > vector.MaxDimensions {
			return 0, fmt.Errorf("%w: %d and %d dimensions", ErrVectors, dimensions, len(v))
		}
	}
	return dimensions, nil
}
