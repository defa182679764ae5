package documents

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"quarry/internal/guard"
	"quarry/server/fault"
)

// Follower has something follow the log of a store in the background.
type Follower struct {
	kick    chan struct{} // has a place for one
	stop    context.CancelFunc
	stopped chan struct{}

	mutex   sync.Mutex
	round   chan struct{} // closed at the end of the current one
	failure error         // of the last one
}

// Follow calls catchUp, which applies the changes that are stored, until the follower is closed or it returns
// fault.ErrReplaced: when it is woken, or after pause. Of failures in a row the first is logged under a name.
func Follow(ctx context.Context, log *slog.Logger, name string, catchUp func(context.Context) error,
	pause func() time.Duration) *Follower {
	f := &Follower{kick: make(chan struct{}, 1), stopped: make(chan struct{}), round: make(chan struct{})}
	ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	guard.Go(func() {
		defer close(f.stopped)
		for {
			err := catchUp(ctx)
			if before := f.note(err); err != nil && before == nil && ctx.Err() == nil {
				log.Warn(name+" does not follow the documents", "error", err)
			}
			if errors.Is(err, fault.ErrReplaced) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause()):
			case <-f.kick:
			}
		}
	}, guard.Log(log, "follow the documents"))
	return f
}

// note ends a round with its error, and returns that of the round before.
func (f *Follower) note(err error) (before error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	close(f.round)
	f.round = make(chan struct{})
	before, f.failure = f.failure, err
	return before
}

// Wake has changes applied at once.
func (f *Follower) Wake() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// Next returns a channel that is closed when the current call of catchUp, or else the next one, has ended.
func (f *Follower) Next() <-chan struct{} {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.round
}

// Failure returns the error of the last call of catchUp.
func (f *Follower) Failure() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.failure
}

// Close ends the follower, and waits for a call that runs.
func (f *Follower) Close() {
	f.stop()
	<-f.stopped
}
