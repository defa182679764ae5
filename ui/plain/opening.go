package plain

import (
	"context"
	"sync"

	"quarry/client"
	"quarry/internal/guard"
)

// opening is the one attempt to connect, or what came of it. Whoever cancels a search that waits for it leaves it to
// the next search, so that nothing is opened twice.
type opening struct {
	done   chan struct{} // closed when the client or the error is there
	client *client.Client
	err    error

	mu    sync.Mutex
	close func() error
	left  bool // nobody wants it any more
}

// connect begins to open the target, unless that is done or under way. Only the conversation itself calls it; a failed attempt is
// followed by another.
func (s *session) connect(ctx context.Context) *opening {
	if s.opening == nil || s.opening.failed() {
		o := &opening{done: make(chan struct{})}
		s.opening = o
		guard.Go(func() {
			opened, err := s.Open(ctx)
			o.finish(opened, err)
		}, func(err error) { o.finish(nil, err) })
	}
	return s.opening
}

// finish keeps what was opened, or releases it where the conversation is over.
func (o *opening) finish(opened *client.Session, err error) {
	if err != nil {
		opened = &client.Session{}
	}
	o.client, o.err = opened.Client, err
	o.mu.Lock()
	o.close = opened.Close
	left := o.left
	o.mu.Unlock()
	close(o.done)
	if left {
		o.leave()
	}
}

// wait gives the client as soon as it is there.
func (o *opening) wait(ctx context.Context) (*client.Client, error) {
	select {
	case <-o.done:
		return o.client, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (o *opening) failed() bool {
	select {
	case <-o.done:
		return o.err != nil
	default:
		return false
	}
}

// leave releases what was opened, now or as soon as it is.
func (o *opening) leave() {
	if o == nil {
		return
	}
	o.mu.Lock()
	closer := o.close
	o.close, o.left = nil, true
	o.mu.Unlock()
	if closer != nil {
		_ = closer() // nothing was written, so nothing is lost
	}
}
