package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"quarry/server/index"
	"quarry/server/index/vector"
)

// FewTexts to mostTexts are sent to a model at once, as many as it takes a second or two for: a model in this process
// reads ten a second or fewer, and what was not stored yet is lost when the program ends.
const FewTexts, mostTexts = 8, 256

// ErrVectors: a model's answer that cannot be stored.
var ErrVectors = errors.New("invalid vectors")

// Embedder asks a model for vectors, and stores them as they come. It is not safe for concurrent use.
type Embedder struct {
	Ask index.Vectorise
	// Put stores the vectors of some texts in one transaction; a nil one is that of a text that the model refuses.
	// dimensions is 0 if all are.
	Put func(ctx context.Context, keys []vector.Key, values [][]float32, dimensions int) error

	atOnce int
}

// AtOnce returns how many texts are sent next.
func (e *Embedder) AtOnce() int { return cmp.Or(e.atOnce, FewTexts) }

// Vectorise returns the vectors of texts, which are stored. Errors: ErrVectors.
func (e *Embedder) Vectorise(ctx context.Context, texts []string) (all [][]float32, err error) {
	for len(texts) > 0 {
		n, began := min(e.AtOnce(), len(texts)), time.Now()
		values, err := e.Ask(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		dimensions, err := dimensionsOf(values, n)
		if err != nil {
			return nil, err
		}
		keys := make([]vector.Key, n)
		for i, text := range texts[:n] {
			keys[i] = KeyOf(text)
		}
		if err := e.Put(ctx, keys, values, dimensions); err != nil {
			return nil, err
		}
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
