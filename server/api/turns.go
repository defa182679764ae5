package api

import (
	"context"
	"runtime"
	"sync"

	"quarry/server/pipeline"
)

// turnsPerProcessor is more than one, so that a search that waits for the disk leaves no processor idle.
const turnsPerProcessor = 2

// turns has searches computed one after the other, in the order in which they came, as many at once as there are
// processors for. All at once they would take as long in all, but the unlucky ones many times as long as the others.
type turns chan struct{}

func newTurns() turns { return make(turns, turnsPerProcessor*runtime.GOMAXPROCS(0)) }

// wait returns when it is a search's turn, which lasts until done is called, once or more often. What waits for others,
// a model, another server or a reader of its stream, has no turn: it would keep those waiting who need nobody.
func (t turns) wait(ctx context.Context, request pipeline.Request) (done func(), err error) {
	asks := (request.Model != nil || request.Embedder != nil || len(request.Federated) > 0) && !request.Search.Instant
	if asks || request.Search.Stream {
		return func() {}, nil
	}
	return t.take(ctx)
}

// take waits for a turn.
func (t turns) take(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return sync.OnceFunc(func() { <-t }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
