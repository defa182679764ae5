package api

import (
	"context"
	"runtime"
	"sync"

	"quarry/server/pipeline"
)

// slotsPerProcessor is more than one, so that a search that waits for the disk leaves no processor idle.
const slotsPerProcessor = 2

// slots bound the searches that compute at once, in the order in which they came. More at once would take as long in
// all, but some of them many times as long as others.
type slots chan struct{}

func newSlots() slots { return make(slots, slotsPerProcessor*runtime.GOMAXPROCS(0)) }

// acquireFor waits for a slot for a search, until done is called once or more often. A search that waits for a model,
// another server or a reader of its stream takes no slot: it would block those that wait for nobody.
func (s slots) acquireFor(ctx context.Context, request pipeline.Request) (done func(), err error) {
	asks := (request.Model != nil || request.Embedder != nil || len(request.Federated) > 0) && !request.Search.Instant
	if asks || request.Search.Stream {
		return func() {}, nil
	}
	return s.acquire(ctx)
}

// acquire waits for a slot.
func (s slots) acquire(ctx context.Context) (done func(), err error) {
	select {
	case s <- struct{}{}:
		return sync.OnceFunc(func() { <-s }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
