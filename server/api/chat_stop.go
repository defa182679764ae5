package api

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"quarry/internal/guard"
)

var errStopped = errors.New("stopped by its user")

// answers are the answers that are being written, so that they can be stopped.
type answers struct {
	mutex sync.Mutex
	stops map[string]map[*turn]context.CancelCauseFunc // by session
}

func (a *answers) begin(t *turn, cancel context.CancelCauseFunc) (end func()) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	id := t.session.ID
	if a.stops == nil {
		a.stops = map[string]map[*turn]context.CancelCauseFunc{}
	}
	if a.stops[id] == nil {
		a.stops[id] = map[*turn]context.CancelCauseFunc{}
	}
	a.stops[id][t] = cancel
	return func() {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		if delete(a.stops[id], t); len(a.stops[id]) == 0 {
			delete(a.stops, id)
		}
	}
}

// stop ends all answers of a session, does not wait for them, and tells whether there were any.
func (a *answers) stop(session string) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, cancel := range a.stops[session] {
		cancel(errStopped)
	}
	return len(a.stops[session]) > 0
}

// running tells whether an answer is being written in a session.
func (a *answers) running(session string) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return len(a.stops[session]) > 0
}

// watch ends the answer when another process that has the same sessions open was asked to stop it.
func (t *turn) watch(ctx context.Context, cancel context.CancelCauseFunc) (end func()) {
	ctx, enough := context.WithCancel(ctx)
	done := make(chan struct{})
	guard.Go(func() {
		defer close(done)
		tick := time.NewTicker(t.server.stopCheck)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			stopped, err := t.store.Stopped(ctx, t.session.ID, t.answer.ID)
			switch {
			case stopped:
				cancel(errStopped)
				return
			case err != nil && ctx.Err() == nil:
				t.server.Log.WarnContext(ctx, "whether an answer was stopped cannot be seen", slog.String("error", err.Error()))
				return
			}
		}
	}, guard.Log(t.server.Log, "watch for a request to stop the answer"))
	return func() {
		enough()
		<-done
	}
}
