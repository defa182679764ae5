package api

import (
	"net/http"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// libraryMigrate answers POST /library/migrate.
func (s *Server) libraryMigrate(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := libraryFields(r)
	request := wire.MigrateRequest{To: f.textOr("to", "", maxItemRunes), DryRun: f.flag("dry_run")}
	if request.To != wire.EnginePostgres {
		f.refuse(f.raw["to"], "enum", "Input should be 'postgres'", "to")
	}
	if err := f.failure(); err != nil {
		return err
	}
	if s.Migrate == nil {
		return coded(http.StatusNotFound, "NOT_FOUND", "no database is configured to copy to")
	}
	return s.libraryWork(w, r, who, false, func(_ index.Index, report progress) (wire.LibraryEvent, error) {
		return s.Migrate(r.Context(), request, report)
	})
}
