package server

import (
	"cmp"
	"context"
	"errors"
	"time"

	"quarry/internal/guard"
	"quarry/server/directory"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/segments"
	"quarry/server/weaviate"
)

const (
	// sweepEvery is how often a server looks for libraries of removed tenants that the cluster still has.
	sweepEvery = time.Minute
	// sweepWait is how long the removal of a tenant waits for the cluster.
	sweepWait = 5 * time.Second
)

// isDistributed reports whether documents are in a store that several servers can share.
func (s *Server) isDistributed() bool {
	return s.options.Weaviate != nil || s.options.DocumentsInDatabase
}

// openDistributed opens a tenant's documents in a store that several servers can share; errAbsent if there are none.
func (s *Server) openDistributed(ctx context.Context, tenant string, create bool) (opened index.Index, err error) {
	store, err := s.openStore(ctx, tenant, create)
	if err != nil {
		return nil, err
	}
	if s.options.Weaviate != nil {
		opened, err = weaviate.Open(ctx, store, *s.options.Weaviate, tenant)
	} else {
		folder := s.folder(tenant)
		opened = segments.NewLocal(ctx, store, folder, func() { s.changedElsewhere(tenant) })
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s.keepSwept()
	return opened, nil
}

// changedElsewhere makes the vectors of documents that other servers have stored; those that they have made are used.
func (s *Server) changedElsewhere(tenant string) {
	s.mutex.Lock()
	serving := s.serving
	s.mutex.Unlock()
	if serving {
		s.vectors.changed(tenant)
	}
}

// openStore opens the database of a tenant's documents; errAbsent if there is none.
func (s *Server) openStore(ctx context.Context, tenant string, create bool) (*documents.Store, error) {
	folder := s.folder(tenant)
	if found, err := documents.Stat(folder); s.pool == nil && (err != nil || found == nil && !create) {
		return nil, cmp.Or(err, errAbsent)
	}
	return documents.Open(ctx, documents.Options{Dir: folder, Database: s.options.Database, Tenant: tenant,
		ReadOnly: s.options.ReadOnly, Now: s.options.Now, Log: s.options.Log})
}

// noteRemoved notes what a tenant has in the cluster, so that it is deleted there even if the cluster is away. forget
// undoes it.
func (s *Server) noteRemoved(ctx context.Context, tenant string) (forget func() error, err error) {
	forget = func() error { return nil }
	if s.options.Weaviate == nil || tenant == directory.DefaultTenant {
		return forget, nil
	}
	store, err := s.openStore(ctx, tenant, false)
	if err != nil {
		if errors.Is(err, errAbsent) {
			err = nil
		}
		return forget, err
	}
	name, err := weaviate.Name(ctx, store, tenant)
	if err = errors.Join(err, store.Close()); err == nil {
		err = s.people.AddRemovedLibrary(ctx, name)
	}
	return func() error { return s.people.ForgetRemovedLibraries(ctx, []string{name}) }, err
}

// keepSwept deletes the libraries of removed tenants in the cluster, now and then, until the server is closed.
func (s *Server) keepSwept() {
	if s.options.Weaviate == nil || s.options.ReadOnly {
		return
	}
	s.sweeping.Kick(func() {
		for ctx := s.vectors.ctx; ctx.Err() == nil; {
			if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
				s.options.Log.Warn("libraries of removed tenants are still in Weaviate", "error", err)
			}
			_ = guard.Sleep(ctx, sweepEvery)
		}
	}, guard.Log(s.options.Log, "remove libraries from Weaviate"))
}

// sweepNow deletes them; if that takes long or fails, keepSwept of any server does it.
func (s *Server) sweepNow(ctx context.Context) {
	if s.options.Weaviate == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, sweepWait)
	defer cancel()
	if err := s.sweep(limited); err != nil {
		s.options.Log.Warn("the documents are deleted from Weaviate later", "error", err)
	}
}

func (s *Server) sweep(ctx context.Context) error {
	names, err := s.people.RemovedLibraries(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	if err := weaviate.Remove(ctx, *s.options.Weaviate, names); err != nil {
		return err
	}
	return s.people.ForgetRemovedLibraries(ctx, names)
}
