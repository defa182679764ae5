package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"quarry/internal/guard"
	"quarry/server/index"
)

// embedRetry is the pause after an embedding model failed.
const embedRetry = time.Minute

// embedding makes the vectors of documents that requests have stored, in one goroutine per tenant, until it is stopped.
// Missing vectors are made after the next change, or by the next sync.
type embedding struct {
	embed func(ctx context.Context, tenant string) error
	log   func(tenant string, err error)

	ctx    context.Context // of the server, not of a request
	cancel context.CancelFunc

	mutex   sync.Mutex
	stopped bool
	due     map[string]bool // by tenant in progress: whether to run again
	working sync.WaitGroup
}

func newEmbedding(embed func(ctx context.Context, tenant string) error, log func(string, error)) *embedding {
	ctx, cancel := context.WithCancel(context.Background())
	return &embedding{embed: embed, log: log, ctx: ctx, cancel: cancel, due: map[string]bool{}}
}

// changed starts making the vectors of a tenant.
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
			case <-time.After(embedRetry):
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

// stop cancels the work and waits for it. Stored vectors are kept.
func (e *embedding) stop() {
	e.mutex.Lock()
	e.stopped = true
	e.mutex.Unlock()
	e.cancel()
	e.working.Wait()
}

// newEmbedding returns the embedding of a server, which does nothing without an embedding model.
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
