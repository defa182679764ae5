package api

import (
	"context"
	"runtime"
	"testing"

	"quarry/server/index"
	"quarry/server/llm"
)

// watched notes how many goroutines run at once while vectors are made.
type watched struct {
	index.Index
	running int
}

func (w *watched) Embed(context.Context, index.Embedding) error {
	w.running = runtime.GOMAXPROCS(0)
	return nil
}

// TestMakingVectorsTakesNoProcessor: it is not parallel, so that no other test makes any meanwhile.
func TestMakingVectorsTakesNoProcessor(t *testing.T) {
	models, err := llm.New(llm.Config{Embedding: llm.Embedding{BaseURL: "http://localhost:1", Model: "none"}})
	if err != nil {
		t.Fatal(err)
	}
	s, w, before := New(Options{Settings: Settings{Models: models}}), &watched{}, runtime.GOMAXPROCS(0)
	if err := s.Embed(t.Context(), "", w); err != nil || w.running != before+1 || runtime.GOMAXPROCS(0) != before {
		t.Errorf("%d at once before, %d while vectors are made, %d afterwards; %v", before, w.running, runtime.GOMAXPROCS(0), err)
	}
	if err := s.EmbedAll(t.Context(), "", w, nil); err != nil || w.running != before {
		t.Errorf("%d at once where somebody waits, want %d; %v", w.running, before, err)
	}
}
