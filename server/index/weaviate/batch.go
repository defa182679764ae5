package weaviate

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"quarry/internal/text"
	"quarry/server/index/shared"
)

const (
	// batchObjects objects are sent at once, of about batchBytes at most.
	batchObjects = 200
	batchBytes   = 8 << 20
	// sendAttempts is how often an object is sent that Weaviate does not take while it takes another one.
	sendAttempts = 3
	maxReason    = 300
)

// batch sends objects, some at a time.
type batch struct {
	*writer
	queued  []queued
	bytes   int
	refused []shared.Refusal
}

// queued is an object of a document.
type queued struct {
	*pb.BatchObject
	document string
}

func (b *batch) add(ctx context.Context, document string, o *pb.BatchObject) error {
	b.queued = append(b.queued, queued{o, document})
	b.bytes += len(o.VectorBytes) + len(o.Properties.NonRefProperties.Fields[propText].GetStringValue())
	for _, list := range o.Properties.TextArrayProperties {
		for _, value := range list.Values {
			b.bytes += len(value) + 2
		}
	}
	if len(b.queued) < batchObjects && b.bytes < batchBytes {
		return nil
	}
	return b.flush(ctx)
}

func (b *batch) flush(ctx context.Context) error {
	list := b.queued
	b.queued, b.bytes = nil, 0
	return b.send(ctx, list)
}

// send stores objects; storing one twice changes nothing. An object that Weaviate does not take, while it takes another
// one, is refused: its document is set aside, so that those behind it are indexed.
func (b *batch) send(ctx context.Context, list []queued) error {
	for attempt := 1; len(list) > 0; attempt++ {
		failed, err := b.store(ctx, list)
		if ctx.Err() != nil || err == nil && len(failed) == 0 {
			return err
		}
		try := b.patiently
		if err != nil { // that was patient
			try = within
		}
		switch away := b.probe(ctx, try); {
		case away != nil:
			return cmp.Or(err, away)
		case err != nil && len(list) > 1:
			half := len(list) / 2
			if err := b.send(ctx, list[:half]); err != nil {
				return err
			}
			return b.send(ctx, list[half:])
		case err != nil:
			failed = map[int]string{0: err.Error()}
			fallthrough
		case attempt == sendAttempts:
			for i, reason := range failed {
				b.refuse(list[i].document, reason)
			}
			return nil
		}
		var again []queued
		for _, i := range slices.Sorted(maps.Keys(failed)) {
			again = append(again, list[i])
		}
		list = again
	}
	return nil
}

// refuse sets a document aside.
func (b *batch) refuse(document, reason string) {
	if !slices.ContainsFunc(b.refused, func(r shared.Refusal) bool { return r.ID == document }) {
		reason = text.Shorten(strings.ToValidUTF8(strings.ReplaceAll(reason, "\x00", ""), "\uFFFD"), maxReason)
		b.refused = append(b.refused, shared.Refusal{ID: document, Reason: reason})
	}
}

// probe stores an object of no document, which searches do not find. It fails if nothing can be stored.
func (b *batch) probe(ctx context.Context, try func(context.Context, func(context.Context) error) error) error {
	none := values{scalars: map[string]any{propDocument: mark(""), propOrdinal: float64(probeObject), propHidden: true}}
	o, err := object(b.class, b.x.tenant, objectID(b.x.tenant, "", probeObject), none)
	if err != nil {
		return err
	}
	return try(ctx, func(ctx context.Context) error {
		failed, err := b.put(ctx, []*pb.BatchObject{o})
		if err == nil && len(failed) > 0 {
			return &httpError{http.StatusServiceUnavailable, failed[0]}
		}
		return err
	})
}

// store sends objects, and returns the places of those that Weaviate does not take, with its reasons.
func (b *batch) store(ctx context.Context, list []queued) (failed map[int]string, err error) {
	sent := make([]*pb.BatchObject, len(list))
	for i, o := range list {
		sent[i] = o.BatchObject
	}
	err = b.patiently(ctx, func(ctx context.Context) (err error) {
		failed, err = b.put(ctx, sent)
		return err
	})
	for i := len(sent) - 1; i >= 0 && err == nil; i-- {
		if _, refused := failed[i]; !refused {
			b.written = append(b.written, stored{sent[i].Uuid, int64(sent[i].Properties.NonRefProperties.Fields[propVersion].GetNumberValue())})
			break
		}
	}
	return failed, err
}

// put sends objects once.
func (w *writer) put(ctx context.Context, list []*pb.BatchObject) (map[int]string, error) {
	failed := map[int]string{}
	var reply *pb.BatchObjectsReply
	err := w.x.client.onLast(func(host int64) (err error) {
		reply, err = w.x.client.grpc(host).BatchObjects(ctx, &pb.BatchObjectsRequest{Objects: list, ConsistencyLevel: &w.level})
		return err
	})
	for _, e := range reply.GetErrors() {
		if at := int(e.GetIndex()); at >= 0 && at < len(list) {
			failed[at] = e.GetError()
		}
	}
	return failed, err
}
