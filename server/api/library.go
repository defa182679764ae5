package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

// libraryRoutes returns the routes that change the library on this machine. Only the owner's in-process handler has them.
func (s *Server) libraryRoutes() []route {
	return []route{
		{pattern: "POST /library/add", needs: identity, maxBody: 32 * megabyte, handle: s.libraryAdd},
		{pattern: "POST /library/sync", needs: identity, maxBody: 32 * megabyte, handle: s.librarySync},
		{pattern: "POST /library/remove", needs: identity, maxBody: 32 * megabyte, handle: s.libraryRemove},
		{pattern: "POST /library/check", needs: identity, handle: s.libraryCheck},
		{pattern: "GET /library/status", needs: identity, handle: s.query(s.libraryStatus)},
	}
}

// libraryFields reads a request whose lists of paths may be long.
func libraryFields(r *http.Request) *fields {
	f := bodyFields(r)
	f.maxItems, f.maxRunes = 1_000_000, 1<<15
	return f
}

// progress reports how far work on the library has come.
type progress func(wire.LibraryEvent)

// work changes or checks the library.
type work func(documents index.Index, report progress) (wire.LibraryEvent, error)

// libraryAdd answers POST /library/add.
func (s *Server) libraryAdd(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := libraryFields(r)
	paths := absolutePaths(f, "paths")
	if f.require("paths") && len(paths) == 0 {
		f.refuse(f.raw["paths"], "too_short", "List should have at least 1 item", "paths")
	}
	options := ingest.Options{Own: s.LibraryFiles, Now: s.Now, As: f.textOr("as", "", maxItemRunes)}
	if options.As != "" {
		if err := ingest.CheckSource(options.As); err != nil {
			f.refuse(f.raw["as"], "enum", err.Error(), "as")
		}
	}
	options.Set = f.textOr("set", "", maxItemRunes)
	if err := f.failure(); err != nil {
		return err
	}
	if err := mustExist(paths); err != nil {
		return err
	}
	if options.Set != "" {
		if err := s.ensureSet(r.Context(), who, options.Set); err != nil {
			return err
		}
	}
	ctx := r.Context()
	return s.libraryWork(w, r, who, true, func(documents index.Index, report progress) (wire.LibraryEvent, error) {
		done, err := ingest.Add(ctx, documents, paths, options, report)
		if err == nil {
			err = s.matchSets(ctx, who, documents, "")
		}
		if err == nil {
			s.embedAdded(ctx, who, documents, report)
		}
		return done, err
	})
}

// mustExist returns an error for a path that does not exist, before anything is created.
func mustExist(paths []string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return coded(http.StatusBadRequest, "INVALID_INPUT", "%s", err.Error())
		}
	}
	return nil
}

// absolutePaths reads a list of absolute paths.
func absolutePaths(f *fields, name string) []string {
	paths := f.texts(name)
	for i, path := range paths {
		if !filepath.IsAbs(path) {
			f.refuse(mustJSON(path), "value_error", "Value error, a path must be absolute", name, i)
		}
	}
	return paths
}

// librarySync answers POST /library/sync.
func (s *Server) librarySync(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f, ctx := libraryFields(r), r.Context()
	paths := absolutePaths(f, "paths")
	much := checkAmount(f)
	if err := f.failure(); err != nil {
		return err
	}
	return s.libraryWork(w, r, who, true, func(documents index.Index, report progress) (wire.LibraryEvent, error) {
		if err := ingest.CheckAdded(ctx, documents, paths); err != nil && !errors.Is(err, index.ErrDamaged) {
			return wire.LibraryEvent{}, err
		}
		mended, err := s.repair(ctx, documents, much, report)
		if err != nil {
			return mended, err
		}
		done, err := ingest.Sync(ctx, documents, paths, s.LibraryFiles, report)
		if errors.Is(err, index.ErrDamaged) && much == wire.CheckPart {
			// The damage is in a part that was not checked.
			if mended, err = s.repair(ctx, documents, wire.CheckFull, report); err == nil {
				done, err = ingest.Sync(ctx, documents, paths, s.LibraryFiles, report)
			}
		}
		done.Repaired, done.Damaged, done.Updated = mended.Repaired, mended.Damaged, done.Updated+mended.Updated
		done.Removed, done.Unchanged = done.Removed+mended.Removed, max(0, done.Unchanged-mended.Updated)
		if err == nil && done.Added+done.Updated+done.Removed > 0 {
			err = s.matchSets(ctx, who, documents, "")
		}
		if err == nil {
			s.embedAdded(ctx, who, documents, report)
		}
		return done, err
	})
}

// libraryRemove answers POST /library/remove.
func (s *Server) libraryRemove(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := libraryFields(r)
	request := wire.RemoveRequest{Refs: f.texts("refs"), Source: f.textOr("source", "", maxItemRunes),
		Set: f.textOr("set", "", maxItemRunes)}
	for i, ref := range request.Refs {
		if strings.TrimSpace(ref) == "" { // it would be read as the working directory
			f.refuse(mustJSON(ref), "value_error", "Value error, a reference must not be empty", "refs", i)
		}
	}
	if len(request.Refs) == 0 && request.Source == "" && request.Set == "" {
		f.refuse(f.raw["refs"], "missing", "Value error, name what is to be removed", "refs")
	}
	if err := f.failure(); err != nil {
		return err
	}
	return s.libraryWork(w, r, who, true, func(documents index.Index, report progress) (wire.LibraryEvent, error) {
		return s.remove(r.Context(), who, documents, request, report)
	})
}

// remove removes documents. An empty document set is not an error.
func (s *Server) remove(ctx context.Context, who directory.Principal, documents index.Index, request wire.RemoveRequest,
	report progress) (done wire.LibraryEvent, err error) {
	removed := ""
	if request.Source == "" {
		removed = request.Set
	}
	if removed != "" {
		empty, err := s.isEmptySet(ctx, who, documents, removed)
		if err != nil {
			return done, err
		}
		if empty {
			request.Set = ""
		}
	}
	if len(request.Refs) > 0 || request.Source != "" || request.Set != "" {
		if done, err = ingest.Remove(ctx, documents, request, report); err != nil {
			return done, err
		}
	}
	return done, s.matchSets(ctx, who, documents, removed)
}

// libraryWork streams the progress of work, and at the end exactly one event with its result or error. With writes, a
// library that does not exist is created.
func (s *Server) libraryWork(w http.ResponseWriter, r *http.Request, who directory.Principal, writes bool, do work) error {
	documents, err := s.Index(r.Context(), who.Tenant, writes)
	if err != nil {
		return err
	}
	out := newLines(w, wire.MediaTypeNDJSON)
	done, err := do(documents, func(event wire.LibraryEvent) {
		if event.Type != wire.LibraryDone && event.Type != wire.LibraryError {
			out.send(event)
		}
	})
	if err == nil {
		done.Type = wire.LibraryDone
		out.send(done)
		return nil
	}
	if errors.Is(err, ingest.ErrOwned) {
		err = coded(http.StatusConflict, "CONFLICT", "%s", err.Error())
	}
	if errors.Is(err, ingest.ErrNotAdded) || errors.Is(err, index.ErrNotFound) {
		err = coded(http.StatusNotFound, "NOT_FOUND", "%s", err.Error()) // the text may suggest what was meant
	}
	if !out.begun() {
		return err
	}
	f, known := explain(err, true)
	if !known && !errors.Is(err, context.Canceled) {
		s.Log.ErrorContext(r.Context(), "library work failed", "path", r.URL.Path, guard.Attr(err))
	}
	// The counts up to the failure are reported too.
	done.Type = wire.LibraryError
	done.ErrorCode, done.Detail = codeOf(f)
	out.send(done)
	return nil
}

// libraryStatus answers GET /library/status.
func (s *Server) libraryStatus(c *call) (any, error) {
	documents, err := s.Index(c.Context(), c.who.Tenant, false)
	if err != nil {
		return nil, err
	}
	status, err := ingest.Status(c.Context(), documents)
	if err != nil {
		return nil, fmt.Errorf("list what was added: %w", err)
	}
	return c.view(func(snapshot index.Snapshot) (any, error) {
		stats, err := snapshot.Stats(c.Context())
		status.Documents, status.Chunks, status.Bytes = stats.Documents, stats.Chunks, stats.Bytes
		status.Version, status.Path = snapshot.Version(), s.LibraryPath
		status.Vectors, status.VectorModel, status.VectorsRefused = stats.Vectors, stats.VectorModel, stats.Refused
		return status, err
	})
}
