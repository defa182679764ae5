package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/ingest"
	"quarry/server/migrate"
	"quarry/server/postgres"
	"quarry/server/segments"
)

// migration copies what is in the files of a library to the engine and the database that are configured. Its methods
// abort it with their error, see guard.Abort.
type migration struct {
	from, to      *Server
	request       wire.MigrateRequest
	report        func(wire.LibraryEvent)
	withDocuments bool
	written       index.Written
	moved         wire.Migration
}

// migrate copies the library from its files. The counts of the event are of documents.
func (s *Server) migrate(ctx context.Context, request wire.MigrateRequest,
	report func(wire.LibraryEvent)) (done wire.LibraryEvent, err error) {
	switch {
	case request.To == wire.EngineWeaviate && s.options.Weaviate == nil:
		return done, fmt.Errorf("a Weaviate cluster in index.engine: %w", fault.ErrNotFound)
	case request.To == wire.EnginePostgres && s.pool == nil:
		return done, fmt.Errorf("a PostgreSQL database in directory.url: %w", fault.ErrNotFound)
	}
	files := s.options
	files.Weaviate, files.Database, files.DocumentsInDatabase, files.Federated = nil, "", false, nil
	from, err := Open(ctx, files)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	m := &migration{from: from, to: s, request: request, report: report,
		withDocuments: request.To == wire.EngineWeaviate || s.options.DocumentsInDatabase,
		moved:         wire.Migration{Engine: request.To, DryRun: request.DryRun}}
	err = guard.Ended(func() { m.run(ctx) })
	return wire.LibraryEvent{Added: m.written.Added, Updated: m.written.Updated, Removed: m.written.Removed,
		Migrated: &m.moved}, err
}

func (m *migration) run(ctx context.Context) {
	tenants, err := m.from.people.Tenants(ctx)
	guard.While("list the tenants", err)
	if m.to.pool != nil { // there may be documents of tenants that the database alone knows
		more, err := m.to.people.Tenants(ctx)
		guard.While("list the tenants", err)
		tenants = slices.Compact(slices.Sorted(slices.Values(append(tenants, more...))))
	}
	if at := slices.Index(tenants, directory.DefaultTenant); at > 0 { // its messages keep their numbers
		tenants[0], tenants[at] = tenants[at], tenants[0]
	}
	m.moved.Tenants = len(tenants)
	if m.withDocuments { // nothing is copied if one is refused
		for _, tenant := range tenants {
			to, err := m.to.index(ctx, tenant, !m.request.DryRun)
			if err == nil {
				err = migrate.Check(ctx, to)
			}
			guard.While("tenant "+tenant, err)
		}
	}
	if m.to.pool != nil {
		m.directory(ctx)
	}
	for i, tenant := range tenants {
		err := guard.Ended(func() { m.tenant(ctx, tenant, i+1, len(tenants)) })
		guard.While("tenant "+tenant, err)
	}
}

// tenant copies the conversations of a tenant, and its documents if the target is for them.
func (m *migration) tenant(ctx context.Context, tenant string, number, tenants int) {
	if m.to.pool != nil {
		m.chats(ctx, tenant)
	}
	if m.withDocuments {
		m.documents(ctx, tenant)
		return
	}
	m.report(wire.LibraryEvent{Type: wire.LibraryCopying, Tenant: tenant, Done: number, Total: tenants})
}

// directory copies people, tokens and all else that the directory has.
func (m *migration) directory(ctx context.Context) {
	copyPart(ctx, m, directory.DefaultTenant, "directory", &m.moved.Directory,
		func(s *Server, create bool) (*directory.Directory, error) { return s.directory(ctx, create) })
}

// chats copies the conversations of a tenant.
func (m *migration) chats(ctx context.Context, tenant string) {
	copyPart(ctx, m, tenant, "chats", &m.moved.Chats,
		func(s *Server, create bool) (*chat.Store, error) { return s.openChats(ctx, tenant, create) })
}

// copyPart copies the rows of a part, and adds their number to moved. The state of the copy is kept with the documents
// of a tenant. A part that is in use in the database stays as it is if the documents are what is copied.
func copyPart[T interface{ Copied() postgres.Copied }](ctx context.Context, m *migration, tenant, name string,
	moved *int, open func(s *Server, create bool) (T, error)) {
	from := guard.Must(open(m.from, false))
	if m.request.DryRun {
		rows, err := from.Copied().Rows(ctx)
		*moved += rows
		guard.Check(err)
		return
	}
	to := guard.Must(open(m.to, true))
	documents := guard.Must(m.to.index(ctx, tenant, true))
	rows, err := migrate.Replace(ctx, documents, name, to.Copied(), from.Copied())
	*moved += rows
	if errors.Is(err, fault.ErrInUse) && m.withDocuments {
		if !slices.Contains(m.moved.Kept, name) {
			m.moved.Kept = append(m.moved.Kept, name)
		}
		return
	}
	guard.Check(err)
}

// documents copies the documents of a tenant and, with an embedding model, the vectors that the files have.
func (m *migration) documents(ctx context.Context, tenant string) {
	to := guard.Must(m.to.index(ctx, tenant, !m.request.DryRun))
	files := guard.Must(m.from.index(ctx, tenant, false))
	from, ok := files.(*segments.Index)
	if !ok {
		guard.Abort(errors.New("the library has no files"))
	}
	embed := func(ctx context.Context, to index.Index) error {
		return m.to.api.EmbedAll(ctx, tenant, migrate.WithVectors(from, to), func(e index.Embedded) {
			m.report(wire.LibraryEvent{Type: wire.LibraryEmbedding, Done: e.Done, Total: e.Total, Refused: e.Refused})
		})
	}
	result, err := migrate.Documents(ctx, from, to,
		migrate.Options{DryRun: m.request.DryRun, Embed: embed}, func(done, total int) {
			m.report(wire.LibraryEvent{Type: wire.LibraryCopying, Tenant: tenant, Done: done, Total: total})
		})
	m.add(result)
	guard.Check(err)
	if !m.request.DryRun {
		guard.Check(ingest.CompleteHashes(ctx, to))
	}
}

// add adds up the results of tenants.
func (m *migration) add(result migrate.Result) {
	m.written.Add(result.Written)
	all, found := &m.moved, result.Compared
	if queries := all.Queries + found.Queries; queries > 0 {
		all.SharedResults = (all.SharedResults*float64(all.Queries) +
			found.SharedResults*float64(found.Queries)) / float64(queries)
	}
	all.Documents, all.Passages, all.Resumed = all.Documents+result.Documents, all.Passages+result.Chunks,
		all.Resumed || result.Resumed
	all.Queries, all.Found, all.FoundBefore = all.Queries+found.Queries, all.Found+found.Target,
		all.FoundBefore+found.Source
	all.SameFirst += found.SameFirst
}
