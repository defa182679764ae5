// Package weaviate is a distributed search engine: the documents are in a database (package shared), and their passages in a
// Weaviate cluster, which follows the log of the database. Weaviate finds candidates under all filters; what is shown is read
// from the database, where rights are checked again, and ranked by package lexical with the statistics of all documents, so
// that results do not depend on the engine.
package weaviate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/segment"
	"quarry/server/index/shared"
)

const (
	// writeWait is how long a write waits until it can be searched without reading the log.
	writeWait = 5 * time.Second
	// settlePause is how long a wait for the log asks for its state again.
	settlePause = 20 * time.Millisecond
	// cachedDocuments are kept analysed.
	cachedDocuments = 4096
	cachedBytes     = 64 << 10 // of one document
)

// Options are where the documents and the cluster are.
type Options struct {
	Cluster Cluster
	Tenant  string
	Log     *slog.Logger // nil: nothing is logged
}

// Index is an open library.
type Index struct {
	docs     *shared.Store
	client   *client
	tenant   string
	holder   string // of leases
	log      *slog.Logger
	analysed *lru.Cache[version, *segment.Reader]
	words    vocabulary
	changes  int      // documents that are read from the log; replaced in tests
	ensured  sync.Map // names of collections that are as they must be

	stop    context.CancelFunc
	stopped chan struct{}
	kick    chan struct{} // has a place for one
	applied event
	closed  atomic.Bool
	failure atomic.Pointer[error] // of the last attempt to follow the log; nil: none
}

var _ index.Index = (*Index)(nil)

// version identifies what a document says at one time.
type version struct {
	id      string
	changed int64
}

// Open opens a library of a store, which is closed with it, and creates its collection or checks it.
func Open(ctx context.Context, store *shared.Store, options Options) (*Index, error) {
	c, err := newClient(options.Cluster)
	if err != nil {
		return nil, err
	}
	x := &Index{docs: store, client: c, holder: uuid.NewString(), changes: maxChanged, log: options.Log, kick: make(chan struct{}, 1), stopped: make(chan struct{})}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	if x.analysed, err = lru.New[version, *segment.Reader](cachedDocuments); err != nil {
		return nil, fmt.Errorf("open the library: %w", err)
	}
	if err := x.start(ctx, options.Tenant); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return x, nil
}

func (x *Index) start(ctx context.Context, tenant string) error {
	shown, err := x.docs.Snapshot(ctx)
	if err != nil {
		return err
	}
	x.tenant = tenantName(tenant, shown.Store())
	model := shown.Model()
	shown.Close()
	if err := x.docs.CountWords(ctx); err != nil && !errors.Is(err, index.ErrReadOnly) {
		return err
	}
	if err := x.ensure(ctx, className(model)); err != nil {
		return err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	x.stop = stop
	guard.Go(func() {
		defer close(x.stopped)
		x.follow(background)
	}, func(err error) { x.log.Error("follow the documents", "error", err) })
	return nil
}

// ensure creates or checks a collection once.
func (x *Index) ensure(ctx context.Context, class string) error {
	if _, done := x.ensured.Load(class); done {
		return nil
	}
	err := x.client.ensure(ctx, class, x.tenant)
	if err == nil {
		x.ensured.Store(class, true)
	}
	return err
}

// Close implements index.Index.
func (x *Index) Close() error {
	if x.closed.Swap(true) {
		return nil
	}
	x.stop()
	<-x.stopped
	return errors.Join(x.client.close(), x.docs.Close())
}

// Version implements index.Index.
func (x *Index) Version(ctx context.Context) (string, error) { return x.docs.Version(ctx) }

// Cursors implements index.Index.
func (x *Index) Cursors(ctx context.Context, prefix string) (map[string]string, error) {
	return x.docs.Cursors(ctx, prefix)
}

// Write implements index.Index: it returns when the batch is in the database, and most often when it is in Weaviate, too.
func (x *Index) Write(ctx context.Context, batch index.Batch) (index.Written, error) {
	written, err := x.docs.Write(ctx, batch)
	if err == nil && !batch.DryRun && written.Added+written.Updated+written.Removed > 0 {
		x.await(ctx)
	}
	return written, err
}

// UpdateAccess implements index.Index.
func (x *Index) UpdateAccess(ctx context.Context, patches []index.AccessPatch) (int, error) {
	n, err := x.docs.UpdateAccess(ctx, patches)
	if n > 0 {
		x.await(ctx)
	}
	return n, err
}

// await waits a while until the log is applied. Failing that is no failure of the change: searches read the rest of the log.
func (x *Index) await(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	_ = x.Settle(limited)
}

// Settle implements index.Follower.
func (x *Index) Settle(ctx context.Context) error {
	wanted, err := x.docs.Sequence(ctx)
	for err == nil && !x.docs.ReadOnly() {
		next := x.applied.Next()
		select {
		case x.kick <- struct{}{}:
		default:
		}
		shown, err := x.docs.Snapshot(ctx)
		if err != nil {
			return err
		}
		position, err := shown.Position(ctx, x.follower(className(shown.Model())))
		shown.Close()
		if err != nil || position >= wanted {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
			if failure := x.failure.Load(); failure != nil {
				return *failure
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settlePause): // another process may be the one that follows
		}
	}
	return err
}

// event is something that happens again and again.
type event struct {
	mutex sync.Mutex
	next  chan struct{}
}

// Next returns a channel that is closed when it happens next.
func (e *event) Next() <-chan struct{} {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.next == nil {
		e.next = make(chan struct{})
	}
	return e.next
}

// Broadcast closes the channels that Next returned.
func (e *event) Broadcast() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.next != nil {
		close(e.next)
		e.next = nil
	}
}

// Embed implements index.Index.
func (x *Index) Embed(ctx context.Context, model string, vectors index.Vectorise, report func(index.Embedded)) error {
	err := x.docs.Embed(ctx, model, vectors, report)
	if err == nil {
		x.await(ctx)
	}
	return err
}

// Check implements index.Index: it checks the database. What Weaviate has is candidates, and is checked with each search.
func (x *Index) Check(ctx context.Context, options index.CheckOptions, report func(done, total int)) ([]index.Damage, error) {
	return x.docs.Check(ctx, options, report)
}
