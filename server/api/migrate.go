package api

import (
	"context"
	"net/http"
	"slices"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// libraryMigrate answers POST /library/migrate.
func (s *Server) libraryMigrate(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := libraryFields(r)
	request := wire.MigrateRequest{To: f.textOr("to", "", maxItemRunes), DryRun: f.flag("dry_run")}
	if !slices.Contains(wire.Engines(), request.To) {
		f.refuse(f.raw["to"], "enum", "Input should be 'weaviate' or 'postgres'", "to")
	}
	if err := f.failure(); err != nil {
		return err
	}
	if s.Migrate == nil {
		return coded(http.StatusNotFound, "NOT_FOUND", "no engine and no database is configured to copy to")
	}
	return s.libraryWork(w, r, who, false, func(_ index.Index, report progress) (wire.LibraryEvent, error) {
		return s.Migrate(r.Context(), request, report)
	})
}

// settle waits until searches find what was stored. If that fails, another process indexes it later.
func (s *Server) settle(ctx context.Context, documents index.Index, report progress) {
	follower, ok := documents.(index.Follower)
	if !ok {
		return
	}
	event := wire.LibraryEvent{Type: wire.LibraryIndexing}
	err := follower.Settle(ctx, func(done, total int) {
		event.Done, event.Total = done, total
		report(event)
	})
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "the index lacks documents that were stored", "error", err)
		event.Reason = err.Error()
		report(event)
	}
}
