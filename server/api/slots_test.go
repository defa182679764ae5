package api

import (
	"context"
	"errors"
	"testing"

	"quarry/client/wire"
	"quarry/server/llm"
	"quarry/server/pipeline"
)

// TestSlots: searches that compute wait for a slot; those that wait for others need none.
func TestSlots(t *testing.T) {
	slot := make(slots, 1)
	first, err := slot.acquireFor(t.Context(), pipeline.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for name, free := range map[string]pipeline.Request{
		"a model":        {Model: llm.Counted(nil, nil)},
		"vectors":        {Embedder: llm.CountedEmbedder(nil, nil, "")},
		"a stream":       {Search: wire.SearchRequest{Stream: true}},
		"another server": {Federated: make([]pipeline.Federated, 1)},
	} {
		if done, err := slot.acquireFor(t.Context(), free); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			done()
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	instant := pipeline.Request{Model: llm.Counted(nil, nil), Search: wire.SearchRequest{Instant: true}}
	if _, err := slot.acquireFor(gone, instant); !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	served := make(chan func())
	for range 3 {
		go func() {
			done, err := slot.acquireFor(t.Context(), pipeline.Request{})
			if err != nil {
				t.Error(err)
			}
			served <- done
		}()
	}
	select {
	case <-served:
		t.Fatal("two at once")
	default:
	}
	first()
	first() // more than once is once
	for range 3 {
		(<-served)()
	}
	if len(slot) != 0 {
		t.Error("a slot never ends")
	}
}
