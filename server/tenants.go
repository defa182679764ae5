package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/semaphore"

	"quarry/internal/guard"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/documents"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/segments"
	"quarry/server/sqlite"
)

// removedPrefix begins the folder name of a tenant that is being removed. It is no valid tenant name.
const removedPrefix = ".removed-"

// removeTenant removes a tenant with its users, tokens, connectors, sets, agents, documents and conversations. Its
// tokens are invalid at once, in other processes too.
func (s *Server) removeTenant(ctx context.Context, id string) error {
	if _, err := s.people.DescribeTenant(ctx, id); errors.Is(err, directory.ErrNotFound) {
		return errors.Join(err, s.dropDocuments(ctx, id), s.sweepRemoved(id)) // of an interrupted removal
	} else if err != nil {
		return err
	}
	forget, err := s.noteRemoved(ctx, id)
	if err != nil {
		return err
	}
	state := s.state(id)
	removing := func(is bool) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		state.removing = is
	}
	removing(true)
	defer removing(false)
	restore, err := s.setAside(ctx, id)
	if err != nil {
		return errors.Join(err, forget())
	}
	if err := s.dropDocuments(ctx, id); err != nil {
		return errors.Join(err, restore(), forget())
	}
	if err := s.people.RemoveTenant(ctx, id); err != nil {
		return errors.Join(err, restore(), forget())
	}
	// Another server may have stored something meanwhile.
	err = errors.Join(s.dropDocuments(ctx, id), s.sweepRemoved(id))
	s.sweepNow(ctx)
	return err
}

// removed reports whether a tenant does not exist any more.
func (s *Server) removed(ctx context.Context, id string) bool {
	s.mutex.Lock()
	removing := s.tenants[id] != nil && s.tenants[id].removing
	s.mutex.Unlock()
	if removing || id == directory.DefaultTenant {
		return removing
	}
	tenants, err := s.people.Tenants(ctx)
	return err == nil && !slices.Contains(tenants, id)
}

// library is index for requests: what a request stores for a tenant that is being removed would stay for ever.
func (s *Server) library(ctx context.Context, tenant string, create bool) (index.Index, error) {
	if s.isDistributed() && s.removed(ctx, tenant) {
		return nil, fault.ErrReplaced
	}
	return s.index(ctx, tenant, create)
}

// dropDocuments removes a tenant's documents from the database that several servers share.
func (s *Server) dropDocuments(ctx context.Context, id string) error {
	if s.pool == nil || !s.isDistributed() || id == directory.DefaultTenant {
		return nil
	}
	return documents.Drop(ctx, s.options.Database, id)
}

// setAside closes the files of a tenant and renames its folder, so that a new tenant of the same name starts empty. It
// returns a function that restores the folder.
func (s *Server) setAside(ctx context.Context, tenant string) (restore func() error, err error) {
	if tenant == directory.DefaultTenant {
		return func() error { return nil }, nil // the directory refuses to remove it
	}
	defer guard.End(&err)
	state := s.state(tenant)
	guard.Check(state.lock.Acquire(ctx, 1))
	defer state.lock.Release(1)
	guard.Check(s.closeTenant(state))
	folder := s.folder(tenant)
	aside, err := os.MkdirTemp(filepath.Join(s.options.Home, tenantsFolder), removedPrefix+tenant+"-")
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil // nothing was ever stored
	}
	guard.While("rename the tenant's folder", err)
	place := filepath.Join(aside, tenant)
	if err := os.Rename(folder, place); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("rename the tenant's folder: %w", err), os.Remove(aside))
	}
	return func() error {
		if err := os.Rename(place, folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restore the tenant's folder: %w", err)
		}
		return os.Remove(aside)
	}, nil
}

// sweepRemoved deletes the renamed folders of a tenant.
func (s *Server) sweepRemoved(tenant string) error {
	folder := filepath.Join(s.options.Home, tenantsFolder)
	found, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("find the folder of the removed tenant: %w", err)
	}
	for _, entry := range found {
		if !strings.HasPrefix(entry.Name(), removedPrefix+tenant+"-") {
			continue
		}
		aside := filepath.Join(folder, entry.Name())
		within, err := os.ReadDir(aside)
		if err != nil || len(within) > 0 && within[0].Name() != tenant {
			continue // of another tenant whose name has this prefix
		}
		if err := os.RemoveAll(aside); err != nil {
			return fmt.Errorf("delete the folder of the removed tenant: %w", err)
		}
	}
	return nil
}

// closeTenant closes what is open of a tenant, whose lock the caller is in.
func (s *Server) closeTenant(state *tenantState) error {
	s.mutex.Lock()
	files := state.detach()
	s.mutex.Unlock()
	return closeFiles(files)
}

func closeFiles(files []io.Closer) (err error) {
	for _, file := range files {
		err = errors.Join(err, file.Close())
	}
	return err
}

// current returns the open files of a tenant. It detaches files that another process has removed: they must not be used
// for a new tenant of the same name. They are closed with the server, because requests may still read them.
func (s *Server) current(ctx context.Context, tenant string) (state *tenantState, err error) {
	defer guard.End(&err)
	if state = s.state(tenant); !s.replacedNow(ctx, state) {
		return state, nil
	}
	guard.Check(state.lock.Acquire(ctx, 1))
	defer state.lock.Release(1)
	if s.replacedNow(ctx, state) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.replaced = append(s.replaced, state.detach()...)
	}
	return state, nil
}

// replacedNow reports whether another process has removed what is open of a tenant. It aborts with its error.
func (s *Server) replacedNow(ctx context.Context, state *tenantState) bool {
	s.mutex.Lock()
	open, chats := state.documents, state.chats
	s.mutex.Unlock()
	documents, ok := open.value.(interface {
		Replaced(ctx context.Context) (bool, error)
	})
	return ok && guard.Must(documents.Replaced(ctx)) || open.replaced() || chats.replaced()
}

// errAbsent: nothing is stored yet.
var errAbsent = errors.New("nothing is stored yet")

// opened is a file that is opened on first use.
type opened[T io.Closer] struct {
	value T
	ready bool
	stat  func() (fs.FileInfo, error) // describes the file, nil if there is none; nil: no other process removes it
	file  fs.FileInfo                 // as it was when it was opened
}

// replaced reports whether an open file is no longer the file at its path.
func (o opened[T]) replaced() bool {
	if o.file == nil {
		return false
	}
	now := guard.Must(o.stat())
	return now == nil || !os.SameFile(o.file, now)
}

// detach returns what is open, and forgets it.
func (o *opened[T]) detach() []io.Closer {
	if !o.ready {
		return nil
	}
	value := o.value
	*o = opened[T]{stat: o.stat}
	return []io.Closer{value}
}

// tenantState has the open files of a tenant. The server's mutex guards all fields but the lock.
type tenantState struct {
	lock      *semaphore.Weighted // of 1: held while its files are opened, closed or moved
	documents opened[index.Index]
	chats     opened[*chat.Store]
	removing  bool // by this process
}

func (t *tenantState) detach() []io.Closer {
	return append(t.documents.detach(), t.chats.detach()...)
}

// sharedState has the open files of all tenants: the directory, and empty stand-ins in memory for files that do not
// exist. The server's mutex guards all fields but the locks.
type sharedState struct {
	lock   *semaphore.Weighted // of people
	people opened[*directory.Directory]

	emptyLock      *semaphore.Weighted // lock of the others
	emptyDirectory opened[*directory.Directory]
	emptyChats     opened[*chat.Store]
	emptyIndex     opened[index.Index]
}

// state returns the open files of a tenant.
func (s *Server) state(tenant string) *tenantState {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known := s.tenants[tenant]; known != nil {
		return known
	}
	state := &tenantState{lock: semaphore.NewWeighted(1)}
	if tenant != directory.DefaultTenant && !s.options.Sample && !s.options.Empty { // another process may remove it
		folder, stat := s.folder(tenant), segments.Stat
		if s.isDistributed() {
			stat = documents.Stat
		}
		state.documents.stat = func() (fs.FileInfo, error) { return stat(folder) }
		state.chats.stat = func() (fs.FileInfo, error) { return sqlite.Stat(filepath.Join(folder, chatsFile)) }
	}
	s.tenants[tenant] = state
	return state
}

// openOnce returns an open file, or opens it. The file outlives the request that opens it, so open gets a context
// without cancellation.
func openOnce[T io.Closer](ctx context.Context, s *Server, lock *semaphore.Weighted, kept *opened[T],
	open func(context.Context) (T, error)) (value T, err error) {
	defer guard.End(&err)
	look := func() opened[T] {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if s.closed {
			guard.Abort(ErrClosed)
		}
		return *kept
	}
	if found := look(); found.ready {
		return found.value, nil
	}
	guard.Check(lock.Acquire(ctx, 1))
	defer lock.Release(1)
	if found := look(); found.ready {
		return found.value, nil
	}
	if value, err = open(context.WithoutCancel(ctx)); err != nil {
		return value, err
	}
	var file fs.FileInfo
	if kept.stat != nil {
		if file, err = kept.stat(); err != nil {
			return value, errors.Join(fmt.Errorf("open the files of a tenant: %w", err), value.Close())
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	kept.value, kept.ready, kept.file = value, true, file // a concurrent Close waits for the lock
	return value, nil
}

// openOrEmpty is openOnce with an empty file in memory as long as open returns errAbsent.
func openOrEmpty[T io.Closer](ctx context.Context, s *Server, lock *semaphore.Weighted, kept *opened[T],
	open func(context.Context) (T, error), empty *opened[T], openEmpty func(context.Context) (T, error)) (T, error) {
	value, err := openOnce(ctx, s, lock, kept, open)
	if errors.Is(err, errAbsent) {
		return openOnce(ctx, s, s.shared.emptyLock, empty, openEmpty)
	}
	return value, err
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
	collect(s.shared.emptyLock, func() []io.Closer {
		return slices.Concat(s.shared.emptyIndex.detach(), s.shared.emptyChats.detach(),
			s.shared.emptyDirectory.detach())
	})
	return closeFiles(append(files, s.replaced...))
}
