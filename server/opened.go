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

// errAbsent: nothing is stored yet.
var errAbsent = errors.New("nothing is stored yet")

// opened is a file that is opened on first use.
type opened[T io.Closer] struct {
	value T
	ready bool
}

// detach returns what is open, and forgets it.
func (o *opened[T]) detach() []io.Closer {
	if !o.ready {
		return nil
	}
	value := o.value
	*o = opened[T]{}
	return []io.Closer{value}
}

// tenantState has the open files of a tenant. The server's mutex guards all fields but the lock.
type tenantState struct {
	lock      *semaphore.Weighted // of 1: held while its files are opened, closed or moved
	documents opened[index.Index]
	chats     opened[*chat.Store]
	files     tenantFiles // not set for the default tenant, which cannot be removed
}

func (t *tenantState) detach() []io.Closer {
	t.files = tenantFiles{}
	return append(t.documents.detach(), t.chats.detach()...)
}

// sharedState has the open files of all tenants: the directory, and empty stand-ins in memory for files that do not exist.
// The server's mutex guards all fields but the locks.
type sharedState struct {
	lock   *semaphore.Weighted // of people
	people opened[*directory.Directory]

	emptyLock      *semaphore.Weighted // lock of the others
	emptyDirectory opened[*directory.Directory]
	emptyChats     opened[*chat.Store]
	emptyIndex     opened[index.Index]
}

func (t *sharedState) detachEmpty() []io.Closer {
	return append(append(t.emptyIndex.detach(), t.emptyChats.detach()...), t.emptyDirectory.detach()...)
}

// state returns the open files of a tenant.
func (s *Server) state(tenant string) *tenantState {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.tenants[tenant] == nil {
		s.tenants[tenant] = &tenantState{lock: semaphore.NewWeighted(1)}
	}
	return s.tenants[tenant]
}

// openOnce returns an open file, or opens it. The file outlives the request that opens it, so open gets a context without
// cancellation.
func openOnce[T io.Closer](ctx context.Context, s *Server, lock *semaphore.Weighted, kept *opened[T],
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
	if err := lock.Acquire(ctx, 1); err != nil {
		return value, err
	}
	defer lock.Release(1)
	if found, err := look(); found.ready || err != nil {
		return found.value, err
	}
	if value, err = open(context.WithoutCancel(ctx)); err != nil {
		return value, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	*kept = opened[T]{value, true} // a concurrent Close waits for the lock
	return value, nil
}

// closeAll closes all files. It waits for files that are being opened.
func (s *Server) closeAll() error {
	s.mutex.Lock()
	tenants := s.tenants
	s.tenants = map[string]*tenantState{} // no further files are opened
	s.mutex.Unlock()
	var files []io.Closer
	collect := func(lock *semaphore.Weighted, detach func() []io.Closer) {
		_ = lock.Acquire(context.Background(), 1) // cannot fail
		defer lock.Release(1)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		files = append(files, detach()...)
	}
	for _, state := range tenants {
		collect(state.lock, state.detach)
	}
	collect(s.shared.lock, s.shared.people.detach)
	collect(s.shared.emptyLock, s.shared.detachEmpty)
	var failed []error
	for _, file := range append(files, s.replaced...) {
		failed = append(failed, file.Close())
	}
	return errors.Join(failed...)
}
