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

// answers tracks the answers in progress, so that they can be stopped.
type answers struct {
	mutex sync.Mutex
	stops map[*turn]context.CancelCauseFunc
}

func (a *answers) begin(t *turn, cancel context.CancelCauseFunc) (end func()) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.stops == nil {
		a.stops = map[*turn]context.CancelCauseFunc{}
	}
	a.stops[t] = cancel
	return func() {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		delete(a.stops, t)
	}
}

// running returns the functions that stop the answers that are being written in a session.
func (a *answers) running(session string) (stops []context.CancelCauseFunc) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for t, stop := range a.stops {
		if t.session.ID == session {
			stops = append(stops, stop)
		}
	}
	return stops
}

// watch stops the answer when another process was asked to stop it.
func (t *turn) watch(ctx context.Context, cancel context.CancelCauseFunc) (end func()) {
	return t.every(ctx, t.server.stopCheck, "watch for a request to stop the answer", func(ctx context.Context) bool {
		stopped, err := t.store.Stopped(ctx, t.session.ID, t.answer.ID)
		if stopped {
			cancel(errStopped)
		} else if err != nil && ctx.Err() == nil {
			t.server.Log.WarnContext(ctx, "checking for a request to stop the answer failed", slog.String("error", err.Error()))
		}
		return !stopped && err == nil
	})
}

// every calls do at each interval until it returns false, ctx is done or end is called, which waits for it.
func (t *turn) every(ctx context.Context, interval time.Duration, what string, do func(context.Context) bool) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	guard.Go(func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if !do(ctx) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}, guard.Log(t.server.Log, what))
	return func() {
		cancel()
		<-done
	}
}
