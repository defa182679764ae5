package plain

import (
	"context"

	"quarry/client"
	"quarry/internal/guard"
)

// opening is one attempt to open the target. A search that is cancelled while it waits leaves it to the next one, so
// that nothing is opened twice.
type opening struct {
	done    chan struct{} // closed when session and err are set
	session *client.Session
	err     error
}

// connect opens the target, unless that is done or in progress. Another attempt follows one that failed.
func (s *session) connect(ctx context.Context) *opening {
	if s.opening != nil && !(s.opening.isDone() && s.opening.err != nil) {
		return s.opening
	}
	o := &opening{done: make(chan struct{})}
	s.opening = o
	guard.Go(func() {
		o.session, o.err = s.Open(ctx)
		close(o.done)
	}, func(err error) {
		o.err = err
		close(o.done)
	})
	return o
}

func (o *opening) isDone() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

func (o *opening) wait(ctx context.Context) (*client.Client, error) {
	select {
	case <-o.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o.err != nil {
		return nil, o.err
	}
	return o.session.Client, nil
}

// leave closes what was opened, now or as soon as it is.
func (o *opening) leave() {
	if o == nil {
		return
	}
	closeSession := func() {
		if <-o.done; o.err == nil {
			_ = o.session.Close() // nothing was written, so nothing is lost
		}
	}
	if o.isDone() {
		closeSession()
	} else {
		guard.Go(closeSession, func(error) {})
	}
}
