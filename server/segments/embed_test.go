package segments

import (
	"context"
	"errors"
	"testing"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/vector"
)

// A segment that could not be completed counts, too, as one after which vectors that nobody needs are removed: it may
// have been replaced by one that has all.
func TestSegmentsThatAreNotCompleted(t *testing.T) {
	t.Parallel()
	x, _ := filled(t, Options{}, 3)
	broken := errors.New("no vectors")
	pass := index.Embedding{Model: "m", Report: func(index.Embedded) {},
		Vectors: func(context.Context, []string) ([][]float32, error) { return nil, broken }}
	e := &embedding{ctx: t.Context(), x: x, Embedding: pass, tried: map[string]bool{}, opened: map[string]bool{},
		refused: map[string]int{}, seen: map[vector.Key]bool{},
		embedder: documents.Embedder{Pass: pass, In: x.vectorStore}}
	err := guard.Ended(func() { e.step() })
	if !errors.Is(err, broken) || len(e.tried) != 1 {
		t.Errorf("%d segments were tried: %v", len(e.tried), err)
	}
	for name, completed := range e.tried {
		if completed {
			t.Errorf("%s is complete", name)
		}
	}
}
