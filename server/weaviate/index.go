// Package weaviate is a distributed search engine: the documents are in a database (package shared), and their passages
// in a Weaviate cluster, which follows the log of the database. Weaviate finds candidates under all filters; what is
// shown is read from the database, where rights are checked again, and ranked by package lexical with the statistics of
// all documents, so that results do not depend on the engine.
package weaviate

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"quarry/internal/guard"
	"quarry/internal/memo"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/segment"
)

const (
	// openWait is how long opening a library waits for Weaviate.
	openWait = 3 * time.Second
	// writeWait is how long a write waits until it can be searched without reading the log.
	writeWait = 5 * time.Second
	// settlePause is how long a wait for the log asks for its state again.
	settlePause = 20 * time.Millisecond
	// settleLook is how often it does so while changes are applied.
	settleLook = 500 * time.Millisecond
	// cachedBytes of documents are kept as they are searched, each with about readerBytes beside its data.
	cachedBytes = 64 << 20
	// cachedShare of them is the most that one document may take.
	cachedShare = 64
	readerBytes = 4 << 10
)

// Index is an open library.
type Index struct {
	*documents.Store
	client   *client
	tenant   string
	holder   string // of leases
	analysed *memo.Cache[version, *segment.Reader]
	words    vocabulary
	counts   *lru.Cache[countedTerm, segment.TermCounts]
	changes  int      // documents that are read from the log; replaced in tests
	ensured  sync.Map // names of collections that are as they must be
	whole    sync.Map // the last position at which this process left no change, by collection

	following *documents.Follower
	unsure    atomic.Int64 // when a write failed last, in nanoseconds since 1970
}

var _ index.Index = (*Index)(nil)

// version identifies what a document says at one time.
type version struct {
	id      string
	changed int64
}

// Open opens the library of a tenant in a store, which is closed with it, and creates its collection in a cluster or
// checks it.
func Open(ctx context.Context, store *documents.Store, cluster Cluster, tenant string) (*Index, error) {
	c, err := newClient(cluster)
	if err != nil {
		return nil, err
	}
	x := &Index{Store: store, client: c, holder: uuid.NewString(), changes: maxChanged}
	x.analysed = memo.New[version](cachedBytes, cachedBytes/cachedShare,
		func(r *segment.Reader) int { return r.Size() + readerBytes })
	x.counts, _ = lru.New[countedTerm, segment.TermCounts](maxTerms) // a positive size is no error
	if err := x.start(ctx, tenant); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return x, nil
}

func (x *Index) start(ctx context.Context, tenant string) error {
	now, err := x.State(ctx)
	if err != nil {
		return err
	}
	x.tenant = tenantName(tenant, now.Store)
	if err := x.CountWords(ctx); err != nil && !errors.Is(err, fault.ErrReadOnly) {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	if err := x.ensure(limited, className(now.Model)); err != nil && (ctx.Err() != nil || !transient(err)) {
		return err
	} else if err != nil { // documents can be stored, and are indexed later
		x.Log.Warn("Weaviate is not available", "error", err)
	}
	x.Stored = x.await
	x.following = documents.Follow(ctx, x.Log, "Weaviate", x.follow, func() time.Duration { return lookAfter })
	return nil
}

// ensure creates or checks a collection, once unless calls fail. What was indexed in a collection that is gone is
// indexed again.
func (x *Index) ensure(ctx context.Context, class string) error {
	if _, done := x.ensured.Load(class); done {
		return nil
	}
	err := x.create(ctx, class)
	if err == nil {
		x.ensured.Store(class, true)
	}
	return err
}

// Close implements index.Index.
func (x *Index) Close() error {
	x.following.Close()
	x.release()
	return errors.Join(x.client.close(), x.Store.Close())
}

// await waits a while until the log is applied. Failing that is no failure of the change: searches read the rest of the
// log.
func (x *Index) await(ctx context.Context) {
	if x.following.Failure() != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	_ = x.Settle(limited, nil)
}

// Settle implements index.Follower.
func (x *Index) Settle(ctx context.Context, report func(done, total int)) (err error) {
	defer guard.End(&err)
	now := guard.Must(x.State(ctx))
	for first := int64(-1); !x.ReadOnly(); {
		next := x.following.Next()
		x.following.Wake()
		position := x.position(ctx)
		if position >= now.Generation {
			return nil
		}
		if first < 0 || position < first {
			first = position
		}
		if report != nil {
			report(int(position-first), int(now.Generation-first))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
			guard.Check(x.following.Failure())
		case <-time.After(settleLook): // another process may be the one that follows
		}
		guard.Check(guard.Sleep(ctx, settlePause))
	}
	return nil
}

// Problem implements index.Follower: the hosts that are not available, or why documents are not indexed.
func (x *Index) Problem(ctx context.Context) string {
	limited, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	hosts := x.client.cluster.Hosts
	problems := make([]string, len(hosts))
	group, _ := guard.NewGroup(limited)
	for i, host := range hosts {
		group.Run(func() {
			if err := x.client.once(limited, host, http.MethodGet, "/v1/.well-known/ready", nil, nil); err != nil {
				problems[i] = explain(ctx, host, err).Error()
			}
		})
	}
	_ = group.Wait()
	problems = slices.DeleteFunc(problems, func(problem string) bool { return problem == "" })
	if failure := x.following.Failure(); len(problems) == 0 && failure != nil {
		problems = append(problems, failure.Error())
	}
	return strings.Join(problems, "\n")
}

// position returns how far the collection is that is searched.
func (x *Index) position(ctx context.Context) int64 {
	shown := guard.Must(x.Store.Snapshot(ctx))
	defer shown.Close()
	_, position := x.searched(ctx, shown)
	return position
}

// Check implements index.Index: it checks the database. What Weaviate has is candidates, and is checked with each
// search. A full check that repairs sends what Weaviate did not take again.
func (x *Index) Check(ctx context.Context, options index.CheckOptions,
	report func(done, total int)) ([]index.Damage, error) {
	found, err := x.Store.Check(ctx, options, report)
	if err == nil && options.Full && options.Repair && !x.ReadOnly() {
		err = x.RetryRefused(ctx)
		x.await(ctx)
	}
	return found, err
}
