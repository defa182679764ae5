package server

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/segments"
)

// slowServer is a server with the tenants acme and globex, of which input and output for acme waits until go on.
type slowServer struct {
	*Server
	slow, goOn chan struct{} // closed when acme's begins to wait; to be closed when it may go on
}

func newSlowServer(t *testing.T) *slowServer {
	t.Helper()
	s := &slowServer{Server: open(t, Options{Home: filepath.Join(t.TempDir(), "quarry")}), slow: make(chan struct{}), goOn: make(chan struct{})}
	people, err := s.directory(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"acme", "globex"} {
		if err := people.AddTenant(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// wait waits as slow input and output does, the first time.
func (s *slowServer) wait(tenant string) {
	if !strings.HasSuffix(tenant, "acme") {
		return
	}
	select {
	case <-s.slow:
	default:
		close(s.slow)
	}
	<-s.goOn
}

// others uses everything of globex and of the directory, which must not wait for acme.
func (s *slowServer) others(t *testing.T) {
	t.Helper()
	for range 2 {
		if _, err := s.index(t.Context(), "globex", true); err != nil {
			t.Error(err)
		}
		if _, err := s.openChats(t.Context(), "globex", true); err != nil {
			t.Error(err)
		}
		if _, err := s.directory(t.Context(), true); err != nil {
			t.Error(err)
		}
		if _, err := s.index(t.Context(), "initech", false); err != nil { // which has nothing yet
			t.Error(err)
		}
	}
}

func TestOpeningOneLibraryKeepsNobodyElseWaiting(t *testing.T) {
	s := newSlowServer(t)
	s.open = func(ctx context.Context, options segments.Options) (index.Index, error) {
		s.wait(options.Dir)
		return openEmbedded(ctx, options)
	}
	found := make(chan index.Index, 3)
	for range cap(found) {
		go func() {
			documents, err := s.index(t.Context(), "acme", true)
			if err != nil {
				t.Error(err)
			}
			found <- documents
		}()
	}
	<-s.slow
	s.others(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.index(gone, "acme", true); err == nil {
		t.Error("a caller who has left waits for the library")
	}
	close(s.goOn)
	if first := <-found; first == nil || first != <-found || first != <-found {
		t.Error("the library was opened more than once")
	}
}

func TestLookingAtOneTenantsFilesKeepsNobodyElseWaiting(t *testing.T) {
	s := newSlowServer(t)
	if _, err := s.index(t.Context(), "acme", true); err != nil {
		t.Fatal(err)
	}
	kept := &s.state("acme").documents
	stat := kept.stat
	kept.stat = func() (fs.FileInfo, error) {
		s.wait("acme")
		return stat()
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.index(t.Context(), "acme", false)
		done <- err
	}()
	<-s.slow
	s.others(t)
	close(s.goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A library that is being opened when the server is closed is closed, too, and one that is removed is not answered from.
func TestOpeningMeetsTheEndAndRemoval(t *testing.T) {
	s := newSlowServer(t)
	s.open = func(ctx context.Context, options segments.Options) (index.Index, error) {
		s.wait(options.Dir)
		return openEmbedded(ctx, options)
	}
	opened, removed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.index(t.Context(), "acme", true)
		opened <- err
	}()
	<-s.slow
	go func() {
		removed <- s.removeTenant(t.Context(), "acme")
	}()
	close(s.goOn)
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
	if left := files(t, filepath.Join(s.options.Home, tenantsFolder)); len(left) != 0 {
		t.Errorf("left %v", left)
	}

	s.slow, s.goOn = make(chan struct{}), make(chan struct{})
	people, err := s.directory(t.Context(), true)
	if err == nil {
		err = people.AddTenant(t.Context(), "acme")
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := s.index(t.Context(), "acme", true)
		opened <- err
	}()
	<-s.slow
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	close(s.goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	<-opened // it was in time, or was told that the server is closed
	if _, err := s.index(t.Context(), directory.DefaultTenant, false); err != ErrClosed {
		t.Errorf("a server that is closed: %v", err)
	}
}
