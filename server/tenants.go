package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"quarry/server/directory"
	"quarry/server/index/embedded"
)

// removedPrefix begins the name of a folder of a tenant that is being removed; no tenant is called so.
const removedPrefix = ".removed-"

// removeTenant ends a tenant and deletes its people, its tokens, what was arranged for it, its documents and its
// conversations. Servers in other processes, too, answer its tokens no more.
func (s *Server) removeTenant(ctx context.Context, id string) error {
	people, err := s.directory(ctx, true)
	if err != nil {
		return err
	}
	if _, err := people.DescribeTenant(ctx, id); errors.Is(err, directory.ErrNotFound) {
		return errors.Join(err, s.sweepRemoved(id)) // of one that was broken off
	} else if err != nil {
		return err
	}
	restore, err := s.setAside(ctx, id)
	if err != nil {
		return err
	}
	if err := people.RemoveTenant(ctx, id); err != nil {
		return errors.Join(err, restore())
	}
	return s.sweepRemoved(id)
}

// setAside closes the files of a tenant and gives its folder another name, so that a tenant of the same name begins with
// nothing, whatever happens next. It returns what undoes it.
func (s *Server) setAside(ctx context.Context, tenant string) (restore func() error, err error) {
	if tenant == directory.DefaultTenant {
		return func() error { return nil }, nil // the directory refuses it
	}
	state := s.state(tenant)
	if err := state.lane.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer state.lane.Release(1)
	if err := s.closeTenant(state); err != nil {
		return nil, err
	}
	folder := tenantFolder(s.options.Home, tenant)
	aside, err := os.MkdirTemp(filepath.Join(s.options.Home, tenantsFolder), removedPrefix+tenant+"-")
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil // nothing was ever stored
	}
	if err != nil {
		return nil, fmt.Errorf("set the tenant's folder aside: %w", err)
	}
	place := filepath.Join(aside, tenant)
	if err := os.Rename(folder, place); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("set the tenant's folder aside: %w", err), os.Remove(aside))
	}
	return func() error {
		if err := os.Rename(place, folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put the tenant's folder back: %w", err)
		}
		return os.Remove(aside)
	}, nil
}

// sweepRemoved deletes what was set aside of a tenant.
func (s *Server) sweepRemoved(tenant string) error {
	folder := filepath.Join(s.options.Home, tenantsFolder)
	found, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for the folder of the removed tenant: %w", err)
	}
	for _, entry := range found {
		if !strings.HasPrefix(entry.Name(), removedPrefix+tenant+"-") {
			continue
		}
		aside := filepath.Join(folder, entry.Name())
		within, err := os.ReadDir(aside)
		if err != nil || len(within) > 0 && within[0].Name() != tenant {
			continue // of a tenant whose name only begins like that
		}
		if err := os.RemoveAll(aside); err != nil {
			return fmt.Errorf("delete the folder of the removed tenant: %w", err)
		}
	}
	return nil
}

// closeTenant closes what is open of a tenant, whose lane the caller is in.
func (s *Server) closeTenant(state *tenantState) error {
	s.mutex.Lock()
	files := state.take()
	s.mutex.Unlock()
	var failed []error
	for _, file := range files {
		failed = append(failed, file.Close())
	}
	return errors.Join(failed...)
}

// tenantFiles are the files that a tenant's documents and conversations were opened from; nil for what is not open.
type tenantFiles struct{ documents, chats fs.FileInfo }

// replaced reports whether a file that was opened is not the one that is there now.
func (t tenantFiles) replaced(now tenantFiles) bool {
	same := func(then, now fs.FileInfo) bool { return then == nil || now != nil && os.SameFile(then, now) }
	return !same(t.documents, now.documents) || !same(t.chats, now.chats)
}

// filesOf describes the files that a tenant has now.
func (s *Server) filesOf(tenant string) (now tenantFiles, err error) {
	folder := tenantFolder(s.options.Home, tenant)
	if now.documents, err = embedded.Stat(folder); err != nil {
		return now, err
	}
	now.chats, err = os.Stat(filepath.Join(folder, chatsFile))
	if errors.Is(err, fs.ErrNotExist) {
		now.chats, err = nil, nil
	}
	return now, err
}

// onDisk tells that a tenant's files can be removed by another process.
func (s *Server) onDisk(tenant string) bool {
	return tenant != directory.DefaultTenant && !s.options.Sample && !s.options.Empty
}

// noteFiles notes which files are open now.
func (s *Server) noteFiles(tenant string, note func(now tenantFiles)) error {
	if !s.onDisk(tenant) {
		return nil
	}
	now, err := s.stat(tenant)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	note(now)
	return nil
}

// current returns what is open of a tenant. It lets go of files that another process has removed: a tenant of the same
// name that was made since must not be answered out of them. They are closed with the server, as somebody may still be
// reading.
func (s *Server) current(ctx context.Context, tenant string) (*tenantState, error) {
	state := s.state(tenant)
	s.mutex.Lock()
	then := state.files
	s.mutex.Unlock()
	if then == (tenantFiles{}) {
		return state, nil
	}
	now, err := s.stat(tenant)
	if err != nil {
		return nil, err
	}
	if !then.replaced(now) {
		return state, nil
	}
	if err := state.lane.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer state.lane.Release(1)
	if now, err = s.stat(tenant); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if state.files.replaced(now) {
		s.left = append(s.left, state.take()...)
	}
	return state, nil
}
