package embedded

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"quarry/internal/guard"
)

// closeGrace is how long Close waits for a merge to end by itself.
const closeGrace = 3 * time.Second

// maxSetbacks bounds how often in a row a merge is tried again because another writer was faster.
const maxSetbacks = 8

// worker merges and sweeps in one goroutine, which is started by the first write.
type worker struct {
	index  *Index
	policy mergePolicy
	wake   chan struct{}

	ctx      context.Context // it outlives calls
	cancel   context.CancelFunc
	stopping chan struct{}
	done     chan struct{}

	mutex   sync.Mutex
	started bool
	stopped bool
	wrote   atomic.Bool
	idle    sync.WaitGroup // in tests: to wait until nothing is left to do
}

func newWorker(x *Index, policy mergePolicy) *worker {
	ctx, cancel := context.WithCancel(context.Background())
	return &worker{index: x, policy: policy, wake: make(chan struct{}, 1), ctx: ctx, cancel: cancel,
		stopping: make(chan struct{}), done: make(chan struct{})}
}

// begin starts the goroutine before the first write; files left by a crash are removed then.
func (w *worker) begin() {
	if !w.wrote.Swap(true) {
		w.kick()
	}
}

// kick makes the worker look for something to do.
func (w *worker) kick() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.stopped {
		return
	}
	if !w.started {
		w.started = true
		guard.Go(w.run, guard.Log(w.index.log, "tidy segments"))
	}
	w.idle.Add(1)
	select {
	case w.wake <- struct{}{}:
	default:
		w.idle.Done()
	}
}

// stop ends the goroutine: at once when this process wrote nothing, else it may finish what it does.
func (w *worker) stop() {
	w.mutex.Lock()
	again, started := w.stopped, w.started
	w.stopped = true
	w.mutex.Unlock()
	if again {
		return
	}
	close(w.stopping)
	defer w.cancel()
	if !started {
		return
	}
	if w.wrote.Load() {
		grace := time.NewTimer(closeGrace)
		defer grace.Stop()
		select {
		case <-w.done:
		case <-grace.C:
		}
	}
	w.cancel()
	<-w.done
}

func (w *worker) run() {
	defer close(w.done)
	for {
		select {
		case <-w.wake:
			w.work()
		case <-w.stopping:
			select {
			case <-w.wake:
				w.work()
			default:
			}
			return
		}
	}
}

// work tidies once. A panic costs only that: the next write tries again.
func (w *worker) work() {
	defer w.idle.Done()
	guard.Func(w.tidy, guard.Log(w.index.log, "tidy segments"))()
}

// tidy merges for as long as there is something to merge, then sweeps. Its failures cost speed and space, not
// correctness, and so are logged only; the next write tries again.
func (w *worker) tidy() {
	for setbacks := 0; w.ctx.Err() == nil && setbacks < maxSetbacks; {
		more, err := w.index.mergeOnce(w.ctx, w.policy)
		if suspects := damageOf(err); suspects != nil {
			if err = w.index.repair(w.ctx, suspects); err == nil {
				err = errOvertaken
			}
		}
		switch {
		case errors.Is(err, errOvertaken):
			setbacks++
			continue
		case err != nil && w.ctx.Err() == nil:
			w.index.log.Warn("cannot merge segments; searching the old ones", "error", err)
		}
		if err != nil || !more {
			break
		}
	}
	if w.ctx.Err() != nil {
		return
	}
	if err := w.index.sweep(w.ctx); err != nil && w.ctx.Err() == nil {
		w.index.log.Warn("cannot remove unused segments", "error", err)
	}
}
