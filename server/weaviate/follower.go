package weaviate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"quarry/internal/guard"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/analysis"
)

const (
	// followAtOnce documents are applied together.
	followAtOnce = 100
	// leaseTime is how long the others wait for a process that follows the log and has died.
	leaseTime = 30 * time.Second
	// releaseTime bounds the end of that at Close.
	releaseTime = 2 * time.Second
	// lookAfter is how often a process looks for changes that another one has stored and not applied.
	lookAfter = 5 * time.Second
	// deletedAtOnce is how many objects Weaviate deletes with one call at most.
	deletedAtOnce = 10_000
)

// follow is catchUp for the background.
func (x *Index) follow(ctx context.Context) error {
	if x.ReadOnly() {
		return nil
	}
	err := x.catchUp(ctx)
	if err != nil {
		x.ensured.Clear()
	}
	return err
}

// release lets another process follow at once.
func (x *Index) release() {
	if x.ReadOnly() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	if err := x.Release(ctx, x.holder); err != nil {
		x.Log.Warn("release the log of the documents", "error", err)
	}
}

// catchUp applies all changes, unless another process does.
func (x *Index) catchUp(ctx context.Context) (err error) {
	defer guard.End(&err)
	replicas := true
	for first, done := true, false; !done; first = false {
		replicas = !replicas // neither waits for the other
		model := guard.Must(x.State(ctx)).Model
		f := &filling{x, ctx, className(model), model}
		guard.Check(x.ensure(ctx, f.class))
		if !f.leased() {
			return nil
		}
		err := guard.Ended(func() { done = f.step(replicas) })
		guard.Check(errors.Join(err, guard.Ended(func() { f.others(first && done && err == nil) })))
	}
	return nil
}

// filling applies changes to a collection.
type filling struct {
	*Index
	ctx          context.Context
	class, model string // the model of its vectors; empty: it gets none
}

// leased makes this process the one that fills the collection, unless another one is.
func (f *filling) leased() bool {
	return guard.Must(f.Lease(f.ctx, f.follower(f.class), f.holder, time.Now().Add(leaseTime)))
}

// others keeps the collection that is searched up to date until this one, that of the current model, has everything,
// and then removes it.
func (f *filling) others(complete bool) {
	shown := guard.Must(f.Store.Snapshot(f.ctx))
	defer shown.Close()
	found := f.collections(f.ctx, shown)
	complete = complete && found[f.class] == shown.State.Generation
	shown.Close()
	for class := range found {
		switch other := (&filling{Index: f.Index, ctx: f.ctx, class: class}); {
		case class == f.class:
		case complete:
			f.ensured.Delete(class)
			guard.Check(f.client.removeTenant(f.ctx, class, f.tenant))
			guard.Check(f.client.removeEmpty(f.ctx, class))
			guard.Check(f.Forget(f.ctx, f.follower(class)))
		case usable(class) && other.leased():
			other.step(false)
		}
	}
}

// collections returns how far the collections are that have the library.
func (x *Index) collections(ctx context.Context, shown *documents.Snapshot) map[string]int64 {
	found := map[string]int64{}
	for name, position := range guard.Must(shown.Followers(ctx, "weaviate/")) {
		if class, tenant, _ := strings.Cut(name, "/"); tenant == x.tenant {
			found[class] = position
		}
	}
	return found
}

// searched returns the collection that has the most changes, and how far it is: that of the current model, or, as long
// as it is being filled, of the model before.
func (x *Index) searched(ctx context.Context, shown *documents.Snapshot) (class string, position int64) {
	found := x.collections(ctx, shown)
	class = className(shown.State.Model)
	position = found[class]
	for other, at := range found {
		if at > position && usable(other) {
			class, position = other, at
		}
	}
	return class, position
}

// follower is the name of the position in the log of a collection.
func (x *Index) follower(class string) string { return "weaviate/" + class + "/" + x.tenant }

// step applies some changes: those that Weaviate lacks, or those that one of its replicas lacks, which come first if
// wanted.
func (f *filling) step(first bool) (done bool) {
	shown := guard.Must(f.Store.Snapshot(f.ctx))
	defer shown.Close()
	name := f.follower(f.class)
	position := guard.Must(shown.Followers(f.ctx, name))[""]
	replicas := guard.Must(shown.Followers(f.ctx, name+"/"))
	from, current := position, position == shown.State.Generation
	if first || current {
		if from = f.lacking(position, replicas); current && from == position {
			return true
		}
	}
	whole, _ := f.whole.Load(f.class)
	changes := guard.Must(shown.Changes(f.ctx, from, whole == from, followAtOnce))
	shown.Close()
	var written *writer
	var refused []index.Unindexed
	err := guard.Ended(func() { written, refused = f.write(&changes) })
	guard.Check(explain(f.ctx, "index the documents in Weaviate", err))
	nodes := slices.DeleteFunc(written.proven(),
		func(node string) bool { return replicas[node] < from || replicas[node] >= changes.Last })
	ok, err := f.Advance(f.ctx, name, f.holder, &changes, refused, nodes, time.Now().Add(leaseTime))
	if changes.Left == 0 {
		f.whole.Store(f.class, changes.Last)
	}
	guard.Check(err)
	return !ok || changes.Last <= position && len(nodes) == 0
}

// apply makes the objects what they are after some changes, and returns documents that Weaviate does not take. Applying
// changes twice changes nothing.
func (w *writer) apply(changes *documents.Changes) []index.Unindexed {
	w.remove(changes.Removed)
	var older []string // documents that may have had passages before which they have no more
	oldest := int64(1) << 62
	send, analyser := batch{writer: w}, analysis.New()
	for i := range changes.Put {
		put := &changes.Put[i]
		if !put.New {
			older, oldest = append(older, put.ID), min(oldest, put.Changed)
		}
		vectors := w.vectors(w.ctx, w.model, &put.Document)
		made, err := guard.Result(func() []*pb.BatchObject { return w.objects(put, analyser, vectors) })
		if err != nil {
			send.refuse(put.ID, err.Error())
		}
		for _, o := range made {
			send.add(put.ID, o)
		}
	}
	send.flush()
	w.remove(older, number(propVersion, pb.Filters_OPERATOR_LESS_THAN, oldest))
	return send.refused
}

// vectors returns the vectors of the passages of a document, by number.
func (x *Index) vectors(ctx context.Context, model string, d *index.Document) [][]float32 {
	if model == "" || len(d.Chunks) == 0 {
		return make([][]float32, len(d.Chunks))
	}
	texts := make([]string, len(d.Chunks))
	for i := range d.Chunks {
		texts[i] = documents.EmbeddedText(d, i)
	}
	return guard.Must(x.Embeddings(ctx, model, texts))
}

// remove deletes the objects of documents that filters admit. gRPC deletes with the time of the call, so that no
// replica that was away brings them back.
func (w *writer) remove(ids []string, filters ...*pb.Filters) {
	for some := range slices.Chunk(ids, batchObjects) {
		for more := true; more; {
			guard.Check(w.try(w.patience, func(ctx context.Context) error {
				var reply *pb.BatchDeleteReply
				err := w.client.onLast(func(host int64) (err error) {
					reply, err = w.client.grpc(host).BatchDelete(ctx,
						&pb.BatchDeleteRequest{Collection: w.class, Tenant: &w.tenant,
							Filters: all(append(filters, anyOf(propDocument, some))...), ConsistencyLevel: &w.level})
					return err
				})
				if err != nil {
					return err
				}
				if more = reply.GetMatches() >= deletedAtOnce; reply.GetFailed() > 0 {
					return &httpError{http.StatusServiceUnavailable,
						fmt.Sprintf("%d objects were not deleted", reply.GetFailed())}
				}
				return nil
			}))
		}
	}
}
