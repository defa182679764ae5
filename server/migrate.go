package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/migrate"
)

// migration moves what is in the files of a library to the database that is configured.
type migration struct {
	from, to *Server
	dryRun   bool
	report   func(wire.LibraryEvent)
	moved    wire.Migration
}

// migrate copies people, tokens, conversations and all else that is not a document from the library's files to the database.
func (s *Server) migrate(ctx context.Context, request wire.MigrateRequest, report func(wire.LibraryEvent)) (done wire.LibraryEvent, err error) {
	files := s.options
	files.Database, files.Federated = "", nil
	from, err := Open(ctx, files)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	m := &migration{from: from, to: s, dryRun: request.DryRun, report: report,
		moved: wire.Migration{Engine: request.To, DryRun: request.DryRun}}
	err = m.run(ctx)
	return wire.LibraryEvent{Migrated: &m.moved}, err
}

func (m *migration) run(ctx context.Context) error {
	tenants, err := m.from.people.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("list the tenants: %w", err)
	}
	if at := slices.Index(tenants, directory.DefaultTenant); at > 0 { // its messages keep their numbers
		tenants[0], tenants[at] = tenants[at], tenants[0]
	}
	m.moved.Tenants = len(tenants)
	if err := m.directory(ctx); err != nil {
		return err
	}
	for i, tenant := range tenants {
		if err := m.chats(ctx, tenant); err != nil {
			return fmt.Errorf("tenant %s: %w", tenant, err)
		}
		m.report(wire.LibraryEvent{Type: wire.LibraryCopying, Tenant: tenant, Done: i + 1, Total: len(tenants)})
	}
	return nil
}

// directory copies people, tokens and all else that the directory has.
func (m *migration) directory(ctx context.Context) error {
	from, err := m.from.directory(ctx, false)
	if err != nil {
		return err
	}
	if m.dryRun {
		m.moved.Directory, err = from.Rows(ctx)
		return err
	}
	to, err := m.to.directory(ctx, true)
	if err != nil {
		return err
	}
	return m.replace(ctx, directory.DefaultTenant, migrate.Part{Name: "directory", Changes: to.Changes, Copy: func(ctx context.Context) (err error) {
		m.moved.Directory, err = from.CopyTo(ctx, to)
		return err
	}})
}

// chats copies the conversations of a tenant.
func (m *migration) chats(ctx context.Context, tenant string) error {
	from, err := m.from.openChats(ctx, tenant, false)
	if err != nil {
		return err
	}
	if m.dryRun {
		rows, err := from.Rows(ctx)
		m.moved.Chats += rows
		return err
	}
	to, err := m.to.openChats(ctx, tenant, true)
	if err != nil {
		return err
	}
	return m.replace(ctx, tenant, migrate.Part{Name: "chats", Changes: to.Changes, Copy: func(ctx context.Context) error {
		rows, err := from.CopyTo(ctx, to)
		m.moved.Chats += rows
		return err
	}})
}

// replace copies a part. The state of the copy is kept with the documents of a tenant.
func (m *migration) replace(ctx context.Context, tenant string, part migrate.Part) error {
	documents, err := m.to.index(ctx, tenant, true)
	if err != nil {
		return err
	}
	return part.Replace(ctx, documents)
}
