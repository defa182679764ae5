package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"quarry/internal/guard"
	"quarry/server/index"
)

// embedAgain is how long a failed embedding model is left alone.
const embedAgain = time.Minute

// embedding makes the vectors of documents that requests store, one tenant at a time each, until it is stopped. What is
// not made by then is made after the next change, or by the next sync.
type embedding struct {
	embed func(ctx context.Context, tenant string) error
	log   func(tenant string, err error)

	ctx    context.Context // its life is that of the server, not of a request
	cancel context.CancelFunc

	mutex   sync.Mutex
	stopped bool
	due     map[string]bool // by tenant that is at work: whether it is to begin again
	working sync.WaitGroup
}

func newEmbedding(embed func(ctx context.Context, tenant string) error, log func(string, error)) *embedding {
	ctx, cancel := context.WithCancel(context.Background())
	return &embedding{embed: embed, log: log, ctx: ctx, cancel: cancel, due: map[string]bool{}}
}

// changed has the vectors of a tenant made. It does not wait for them.
func (e *embedding) changed(tenant string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.stopped {
		return
	}
	if _, atWork := e.due[tenant]; atWork {
		e.due[tenant] = true
		return
	}
	e.due[tenant] = false
	e.working.Go(guard.Func(func() { e.work(tenant) }, func(err error) { e.log(tenant, err) }))
}

func (e *embedding) work(tenant string) {
	for {
		if err := guard.Call(func() error { return e.embed(e.ctx, tenant) }); err != nil && e.ctx.Err() == nil && !errors.Is(err, index.ErrReadOnly) {
			e.log(tenant, err)
			select {
			case <-time.After(embedAgain):
				continue
			case <-e.ctx.Done():
			}
		}
		e.mutex.Lock()
		again := e.due[tenant] && e.ctx.Err() == nil
		if e.due[tenant] = false; !again {
			delete(e.due, tenant)
		}
		e.mutex.Unlock()
		if !again {
			return
		}
	}
}

// stop ends the work at once; what was stored stays.
func (e *embedding) stop() {
	e.mutex.Lock()
	e.stopped = true
	e.mutex.Unlock()
	e.cancel()
	e.working.Wait()
}

// newEmbedding makes what keeps vectors in step; it does nothing where no embedding model is configured.
func (s *Server) newEmbedding() *embedding {
	return newEmbedding(func(ctx context.Context, tenant string) error {
		if _, ok := s.options.Models.Embedder(); !ok || s.options.ReadOnly || s.options.Sample {
			return nil
		}
		documents, err := s.index(ctx, tenant, false)
		if err != nil {
			return err
		}
		return s.api.Embed(ctx, tenant, documents, nil)
	}, func(tenant string, err error) {
		s.options.Log.Warn("embedding failed; documents are found by words meanwhile", "tenant", tenant, guard.Attr(err))
	})
}
