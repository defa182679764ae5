package weaviate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"golang.org/x/sync/errgroup"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/index/codec"
	"quarry/server/index/shared"
	"quarry/server/index/vector"
)

const (
	// followAtOnce documents are applied together, batchObjects objects sent at once, patchesAtOnce at the same time.
	followAtOnce  = 100
	batchObjects  = 200
	batchBytes    = 8 << 20
	patchesAtOnce = 8
	// leaseTime is how long the others wait for a process that follows the log and has died.
	leaseTime = 30 * time.Second
	// releaseTime bounds the end of that at Close.
	releaseTime = 2 * time.Second
	// lookAfter is how often a process looks for changes that another one has stored and not applied.
	lookAfter = 5 * time.Second
	// deletedAtOnce is how many objects Weaviate deletes with one call at most.
	deletedAtOnce = 10_000
)

// ErrRefused: Weaviate refused objects.
var ErrRefused = errors.New("an object was refused by Weaviate")

// follow applies changes whenever there may be some, until ctx ends.
func (x *Index) follow(ctx context.Context) {
	if x.docs.ReadOnly() {
		return
	}
	ticker := time.NewTicker(lookAfter)
	defer ticker.Stop()
	defer x.release(context.WithoutCancel(ctx))
	for {
		err := x.catchUp(ctx)
		x.failure.Store(nil)
		if err != nil {
			x.failure.Store(&err)
		}
		if err != nil && ctx.Err() == nil {
			x.log.Warn("Weaviate does not follow the documents", "error", err)
		}
		x.applied.Broadcast()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-x.kick:
		}
	}
}

// release lets another process follow at once.
func (x *Index) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	if err := x.docs.Release(ctx, x.holder); err != nil {
		x.log.Warn("release the log of the documents", "error", err)
	}
}

// catchUp applies all changes, unless another process does.
func (x *Index) catchUp(ctx context.Context) error {
	for {
		model, err := x.docs.Model(ctx)
		if err != nil {
			return err
		}
		name := className(model)
		if err := x.ensure(ctx, name); err != nil {
			return err
		}
		position, ok, err := x.docs.Lease(ctx, x.follower(name), x.holder, time.Now().Add(leaseTime))
		if err != nil || !ok {
			return err
		}
		done, err := x.step(ctx, name, model, position)
		if err != nil || done {
			return err
		}
	}
}

// follower is the name of the position in the log of a collection.
func (x *Index) follower(class string) string { return "weaviate/" + class + "/" + x.tenant }

// step applies some changes behind a position.
func (x *Index) step(ctx context.Context, class, model string, position int64) (done bool, err error) {
	if last, err := x.docs.Sequence(ctx); err != nil || last == position {
		return true, err
	}
	shown, err := x.docs.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	changes, err := shown.Changes(ctx, position, followAtOnce)
	shown.Close()
	if err != nil {
		return false, err
	}
	if err := x.apply(ctx, class, model, &changes); err != nil {
		return false, explain(ctx, "index the documents in Weaviate", err)
	}
	ok, err := x.docs.Advance(ctx, x.follower(class), x.holder, changes.Last, time.Now().Add(leaseTime))
	return !ok || changes.Left == 0, err
}

// apply makes the objects what they are after some changes. Applying changes twice changes nothing.
func (x *Index) apply(ctx context.Context, class, model string, changes *shared.Changes) error {
	gone := slices.Clone(changes.Removed)
	if err := x.remove(ctx, class, anyOf, gone); err != nil {
		return err
	}
	var full, older []int
	oldest := int64(1) << 62
	for i := range changes.Put {
		put := &changes.Put[i]
		if put.AccessAlone {
			switch patched, err := x.patch(ctx, class, put); {
			case err != nil:
				return err
			case patched:
				continue
			}
		}
		if full = append(full, i); !put.New {
			older, oldest = append(older, i), min(oldest, put.Changed)
		}
	}
	send := batch{x: x}
	analyser := analysis.New()
	for _, i := range full {
		vectors, err := x.vectors(ctx, model, &changes.Put[i].Document)
		if err != nil {
			return err
		}
		made, err := objects(class, x.tenant, &changes.Put[i], analyser, func(chunk int) []float32 { return vectors[chunk] })
		if err != nil {
			return err
		}
		for _, o := range made {
			if err := send.add(ctx, o); err != nil {
				return err
			}
		}
	}
	if err := send.flush(ctx); err != nil {
		return err
	}
	// Passages that the documents had before, and have no more.
	ids := make([]string, 0, len(older))
	for _, i := range older {
		ids = append(ids, changes.Put[i].ID)
	}
	return x.remove(ctx, class, func(property string, ids []string) *pb.Filters {
		return all(anyOf(property, ids), number(propVersion, pb.Filters_OPERATOR_LESS_THAN, oldest))
	}, ids)
}

// vectors returns the vectors of the passages of a document, by number.
func (x *Index) vectors(ctx context.Context, model string, d *index.Document) ([][]float32, error) {
	vectors := make([][]float32, len(d.Chunks))
	if model == "" || len(d.Chunks) == 0 {
		return vectors, nil
	}
	keys := make([]vector.Key, len(d.Chunks))
	for i := range d.Chunks {
		keys[i] = codec.KeyOf(codec.EmbeddedText(d, i))
	}
	found, err := x.docs.Vectors(ctx, model, keys)
	for i, key := range keys {
		if len(found[key]) > 0 {
			vectors[i] = found[key]
		}
	}
	return vectors, err
}

// remove deletes the objects of documents that a filter admits. gRPC deletes with the time of the call, so that no replica that
// was away brings them back.
func (x *Index) remove(ctx context.Context, class string, filter func(property string, ids []string) *pb.Filters, ids []string) error {
	quorum := pb.ConsistencyLevel_CONSISTENCY_LEVEL_QUORUM
	for some := range slices.Chunk(ids, batchObjects) {
		for more := true; more; {
			err := x.client.patiently(ctx, func(ctx context.Context, _ int) error {
				reply, err := x.client.grpc.BatchDelete(ctx, &pb.BatchDeleteRequest{Collection: class, Tenant: &x.tenant,
					Filters: filter(propDocument, some), ConsistencyLevel: &quorum})
				if err != nil {
					return err
				}
				if more = reply.GetMatches() >= deletedAtOnce; reply.GetFailed() > 0 {
					return &httpError{http.StatusServiceUnavailable, fmt.Sprintf("%d objects were not deleted", reply.GetFailed())}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// patch changes the rights of a document's objects, which keeps their vectors. It returns false if one of them is missing.
func (x *Index) patch(ctx context.Context, class string, put *shared.Put) (patched bool, err error) {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(patchesAtOnce)
	body := map[string]any{"class": class, "tenant": x.tenant, "properties": changeable(&put.Document, put.Changed)}
	for ordinal := wholeDocument; ordinal < len(put.Chunks); ordinal++ {
		group.Go(guard.Err(func() error {
			path := "/v1/objects/" + class + "/" + objectID(x.tenant, put.ID, ordinal) + "?tenant=" + x.tenant + "&consistency_level=QUORUM"
			return x.client.rest(within, http.MethodPatch, path, body, nil)
		}))
	}
	if err = group.Wait(); notFound(err) {
		return false, nil
	}
	return err == nil, err
}

// batch sends objects, some at a time.
type batch struct {
	x       *Index
	objects []*pb.BatchObject
	bytes   int
}

func (b *batch) add(ctx context.Context, o *pb.BatchObject) error {
	b.objects = append(b.objects, o)
	b.bytes += len(o.VectorBytes) + len(o.Properties.NonRefProperties.Fields[propText].GetStringValue())
	for _, list := range o.Properties.TextArrayProperties {
		for _, value := range list.Values {
			b.bytes += len(value) + 2
		}
	}
	if len(b.objects) < batchObjects && b.bytes < batchBytes {
		return nil
	}
	return b.flush(ctx)
}

// flush sends the objects. Those that failed for a passing reason are sent again: storing an object twice changes nothing.
func (b *batch) flush(ctx context.Context) error {
	if len(b.objects) == 0 {
		return nil
	}
	quorum, left := pb.ConsistencyLevel_CONSISTENCY_LEVEL_QUORUM, b.objects
	b.objects, b.bytes = nil, 0
	refused := ""
	err := b.x.client.patiently(ctx, func(ctx context.Context, _ int) error {
		reply, err := b.x.client.grpc.BatchObjects(ctx, &pb.BatchObjectsRequest{Objects: left, ConsistencyLevel: &quorum})
		if err != nil || len(reply.GetErrors()) == 0 {
			return err
		}
		var failed []*pb.BatchObject
		for _, e := range reply.GetErrors() {
			if at := int(e.GetIndex()); at >= 0 && at < len(left) {
				failed, refused = append(failed, left[at]), e.GetError()
			}
		}
		left = failed
		return &httpError{http.StatusServiceUnavailable, refused}
	})
	if err != nil && refused != "" {
		return fmt.Errorf("%w: %s", ErrRefused, refused)
	}
	return err
}
