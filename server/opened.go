package server

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/semaphore"

	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/index"
)

// errAbsent: nothing was ever stored there.
var errAbsent = errors.New("nothing is stored yet")

// opened is what is opened when it is first needed, and then kept.
type opened[T io.Closer] struct {
	value T
	ready bool
}

// take returns what is open, which is not kept any more.
func (o *opened[T]) take() []io.Closer {
	if !o.ready {
		return nil
	}
	value := o.value
	*o = opened[T]{}
	return []io.Closer{value}
}

// tenantState is what is open of one tenant. All but the lane is guarded by the server's mutex.
type tenantState struct {
	lane      *semaphore.Weighted // of 1: held by who opens, closes or moves its files, and waited for by nobody else
	documents opened[index.Index]
	chats     opened[*chat.Store]
	files     tenantFiles // that they were opened from; not noted of the default tenant, which is not removed
}

func (t *tenantState) take() []io.Closer {
	t.files = tenantFiles{}
	return append(t.documents.take(), t.chats.take()...)
}

// sharedState is what is open for all tenants: the directory, and what stands for things that do not exist, in memory.
// All but the lanes is guarded by the server's mutex.
type sharedState struct {
	lane   *semaphore.Weighted // of people
	people opened[*directory.Directory]

	standIns *semaphore.Weighted // lane of the others
	nobody   opened[*directory.Directory]
	noChats  opened[*chat.Store]
	nothing  opened[index.Index]
}

func (t *sharedState) takeStandIns() []io.Closer {
	return append(append(t.nothing.take(), t.noChats.take()...), t.nobody.take()...)
}

// state returns what is open of a tenant.
func (s *Server) state(tenant string) *tenantState {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.tenants[tenant] == nil {
		s.tenants[tenant] = &tenantState{lane: semaphore.NewWeighted(1)}
	}
	return s.tenants[tenant]
}

// obtain returns what is open, or opens it. What is opened outlives the request that needed it first, so that it must
// not end with that request.
func obtain[T io.Closer](ctx context.Context, s *Server, lane *semaphore.Weighted, kept *opened[T],
	open func(context.Context) (T, error)) (value T, err error) {
	look := func() (found opened[T], err error) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if s.closed {
			err = ErrClosed
		}
		return *kept, err
	}
	if found, err := look(); found.ready || err != nil {
		return found.value, err
	}
	if err := lane.Acquire(ctx, 1); err != nil {
		return value, err
	}
	defer lane.Release(1)
	if found, err := look(); found.ready || err != nil {
		return found.value, err
	}
	if value, err = open(context.WithoutCancel(ctx)); err != nil {
		return value, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	*kept = opened[T]{value, true} // Close, if it was called meanwhile, waits for the lane
	return value, nil
}

// closeAll closes everything. It waits for what is being opened.
func (s *Server) closeAll() error {
	s.mutex.Lock()
	tenants := s.tenants
	s.tenants = map[string]*tenantState{} // nothing is opened any more
	s.mutex.Unlock()
	var files []io.Closer
	collect := func(lane *semaphore.Weighted, take func() []io.Closer) {
		_ = lane.Acquire(context.Background(), 1) // which has no end
		defer lane.Release(1)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		files = append(files, take()...)
	}
	for _, state := range tenants {
		collect(state.lane, state.take)
	}
	collect(s.shared.lane, s.shared.people.take)
	collect(s.shared.standIns, s.shared.takeStandIns)
	var failed []error
	for _, file := range append(files, s.left...) {
		failed = append(failed, file.Close())
	}
	return errors.Join(failed...)
}
