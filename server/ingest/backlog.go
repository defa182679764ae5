package ingest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"quarry/internal/guard"
)

// startReaders reads tasks in order, on all processors, ahead of the writer by what a backlog holds. A panic ends the
// run.
func (r *run) startReaders(ctx context.Context, unread []*task, broke func(error)) *sync.WaitGroup {
	var group sync.WaitGroup
	ahead, large := newBacklog(ctx, broke), new(sync.Mutex)
	for _, t := range unread {
		t.ahead = ahead
	}
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		group.Go(guard.Func(func() {
			reader := newFileReader(ctx, r.local.Readers)
			reader.large = large
			for ahead.wait() {
				at := int(next.Add(1)) - 1
				if at >= len(unread) {
					return
				}
				reader.read(unread[at])
			}
		}, broke))
	}
	return &group
}

// backlog counts the text that was read and not taken by the writer yet. Readers start no further file while it is
// full.
type backlog struct {
	ctx     context.Context
	mutex   sync.Mutex
	changed sync.Cond
	bytes   int
}

const fullBacklog = 8 << 20

func newBacklog(ctx context.Context, broke func(error)) *backlog {
	b := &backlog{ctx: ctx}
	b.changed.L = &b.mutex
	context.AfterFunc(ctx, guard.Func(func() { b.add(0) }, broke))
	return b
}

func (b *backlog) add(bytes int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.bytes += bytes; bytes <= 0 {
		b.changed.Broadcast()
	}
}

// wait waits until the backlog is not full. It returns false if the context ended.
func (b *backlog) wait() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for b.bytes >= fullBacklog && b.ctx.Err() == nil {
		b.changed.Wait()
	}
	return b.ctx.Err() == nil
}
