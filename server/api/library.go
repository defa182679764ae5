package api

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/ingest"
)

// libraryRoutes returns the routes that change the library on this machine. Only the owner's in-process handler has
// them.
func libraryRoutes() []route {
	change := func(pattern string, do responder, traits ...func(*route)) route {
		return withBody(pattern, identity, do, append(traits, func(r *route) { r.read = libraryFields })...)
	}
	return []route{
		change("POST /library/add", libraryAdd, upTo(2*wire.MaxContent)),
		change("POST /library/sync", librarySync, huge), change("POST /library/remove", libraryRemove, huge),
		change("POST /library/check", libraryCheck), change("POST /library/migrate", libraryMigrate),
		noBody("GET /library/status", identity, libraryStatus),
		noBody("GET /library/model", identity, modelStatus),
		withBody("POST /library/model", identity, testModel),
		noBody("GET /library/file", identity, libraryFile),
	}
}

// libraryFields reads a request whose lists of paths may be long.
func libraryFields(r *http.Request) *fields {
	f := bodyFields(r)
	f.maxItems, f.maxRunes = 1_000_000, 1<<15
	return f
}

// work is a request that changes or checks the library, and reports its progress.
type work struct {
	*call
	documents index.Index
	report    func(wire.LibraryEvent)
	done      wire.LibraryEvent // what it has done so far
}

// count notes what has been done, and aborts the work if there is an error.
func (w *work) count(done wire.LibraryEvent, err error) {
	w.done = done
	check(err)
}

// libraryAdd answers POST /library/add.
func libraryAdd(c *call) any {
	paths := absolutePaths(c.fields, "paths")
	piped := ingest.Piped{Title: c.textOf("title", maxItemRunes), Content: c.bytes("content")}
	if piped.Title == "" && c.require("paths") && len(paths) == 0 {
		c.refuse(c.raw["paths"], "too_short", "List should have at least 1 item", "paths")
	}
	options := ingest.Options{Local: c.Local, Now: c.Now, DryRun: c.flag("dry_run")}
	options.As = c.textOf("as", maxItemRunes)
	if options.As != "" {
		if err := ingest.CheckSource(options.As); err != nil {
			c.refuse(c.raw["as"], "enum", err.Error(), "as")
		}
	}
	options.Name = c.textOf("name", maxItemRunes)
	options.Set, options.Include = c.textOf("set", maxItemRunes), c.texts("include")
	check(c.failure())
	if err := ingest.CheckName(options.Name); err != nil {
		abort(coded("INVALID_INPUT", "%s", err.Error()))
	}
	checkExist(paths)
	add := func(w *work) {
		if piped.Title != "" {
			w.count(ingest.AddPiped(w.ctx, w.documents, piped, options, w.report))
		} else {
			w.count(ingest.Add(w.ctx, w.documents, paths, options, w.report))
		}
	}
	if options.DryRun {
		return c.libraryWork(false, add)
	}
	if options.Set != "" {
		// Before its first document is stored: those of an unknown set cannot be found by its name.
		check(c.directory.EnsureDocumentSet(options.Set))
	}
	return c.libraryWork(true, func(w *work) {
		add(w)
		w.matchSets("")
		w.embedAdded(addedWithin)
	})
}

// checkExist refuses a path that does not exist, before anything is created.
func checkExist(paths []string) {
	for _, path := range paths {
		if wire.IsURL(path) {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			abort(coded("INVALID_INPUT", "%s", err.Error()))
		}
	}
}

// absolutePaths reads a list of absolute paths and addresses.
func absolutePaths(f *fields, name string) []string {
	paths := f.texts(name)
	for i, path := range paths {
		if !filepath.IsAbs(path) && !wire.IsURL(path) {
			f.refuse(mustJSON(path), "value_error", "Value error, a path must be absolute", name, i)
		}
	}
	return paths
}

// librarySync answers POST /library/sync.
func librarySync(c *call) any {
	paths := absolutePaths(c.fields, "paths")
	extent := c.enumOr("check", wire.CheckPart, wire.CheckPart, wire.CheckFull, wire.CheckNone)
	local, meaning := c.Local, c.flag("meaning")
	local.FilesOnly = c.flag("files_only")
	if _, ok := c.Models.Embedder(); meaning && !ok {
		abort(message("No vectors for search by meaning can be made: embeddings.mode is off. Switch it on: " +
			"quarry config set embeddings.mode auto"))
	}
	return c.libraryWork(true, func(w *work) {
		if err := ingest.CheckAdded(w.ctx, w.documents, paths); !errors.Is(err, fault.ErrDamaged) {
			check(err)
		}
		repaired := w.repair(extent)
		done, err := w.syncFiles(paths, local)
		if errors.Is(err, fault.ErrDamaged) && extent == wire.CheckPart {
			repaired = w.repair(wire.CheckFull) // the damage is in a part that was not checked
			done, err = w.syncFiles(paths, local)
		}
		done.Repaired, done.Damaged, done.Updated = repaired.Repaired, repaired.Damaged, done.Updated+repaired.Updated
		done.Removed, done.Unchanged = done.Removed+repaired.Removed, max(0, done.Unchanged-repaired.Updated)
		if w.count(done, err); done.Added+done.Updated+done.Removed > 0 {
			w.matchSets("")
		}
		limit := addedWithin
		if meaning {
			limit = 0
		}
		w.embedAdded(limit)
	})
}

// libraryRemove answers POST /library/remove.
func libraryRemove(c *call) any {
	request := wire.RemoveRequest{Refs: c.texts("refs"), Source: c.textOf("source", maxItemRunes),
		Set: c.textOf("set", maxItemRunes)}
	for i, ref := range request.Refs {
		if strings.TrimSpace(ref) == "" { // it would be read as the working directory
			c.refuse(mustJSON(ref), "value_error", "Value error, a reference must not be empty", "refs", i)
		}
	}
	if len(request.Refs) == 0 && request.Source == "" && request.Set == "" {
		c.refuse(c.raw["refs"], "missing", "Value error, give refs, a source or a set", "refs")
	}
	return c.libraryWork(true, func(w *work) { w.remove(request) })
}

// remove removes documents. An empty document set is not an error.
func (w *work) remove(request wire.RemoveRequest) {
	removed := ""
	if request.Source == "" {
		removed = request.Set
	}
	if removed != "" {
		sets := must(w.directory.DocumentSets())
		sets = slices.DeleteFunc(sets, func(set directory.DocumentSet) bool { return set.Name != removed })
		if len(w.emptySets(mapped(sets, setName))) > 0 {
			request.Set = ""
		}
	}
	if len(request.Refs) > 0 || request.Source != "" || request.Set != "" {
		w.count(ingest.Remove(w.ctx, w.documents, request, w.Local, w.report))
	}
	w.matchSets(removed)
}

// workMemory is the memory, in bytes, from which garbage is collected sooner while files are read and indexed.
const workMemory = 512 << 20

// libraryWork streams the progress of work, and at the end exactly one event with its result or error. With writes, a
// library that does not exist is created. A request with invalid fields is refused.
func (c *call) libraryWork(writes bool, do func(*work)) any {
	check(c.failure())
	documents := must(c.Index(c.ctx, c.who.Tenant, writes))
	if usual := debug.SetMemoryLimit(-1); usual > workMemory {
		debug.SetMemoryLimit(workMemory)
		defer debug.SetMemoryLimit(usual)
	}
	out := newLines(c.w, wire.MediaTypeNDJSON)
	w := &work{call: c, documents: documents, report: func(event wire.LibraryEvent) {
		if event.Type != wire.LibraryDone && event.Type != wire.LibraryError {
			out.send(event)
		}
	}}
	err := guard.Ended(func() { do(w) })
	if err == nil {
		if writes {
			w.settle()
		}
		w.done.Type = wire.LibraryDone
		out.send(w.done)
		return written{}
	}
	if errors.Is(err, ingest.ErrOwned) {
		err = coded("CONFLICT", "%s", err.Error())
	}
	if errors.Is(err, ingest.ErrNotAdded) || errors.Is(err, fault.ErrNotFound) {
		err = coded("NOT_FOUND", "%s", err.Error()) // the text may suggest what was meant
	}
	if !out.begun() {
		abort(err)
	}
	failed, known := explain(err, true)
	if !known && !errors.Is(err, context.Canceled) {
		c.Log.ErrorContext(c.ctx, "library work failed", "path", c.URL.Path, guard.Attr(err))
	}
	// The counts up to the failure are reported too.
	w.done.Type = wire.LibraryError
	w.done.ErrorCode, w.done.Detail = failed.code, failed.detail
	out.send(w.done)
	return written{}
}

// libraryStatus answers GET /library/status. If the library still has the version known, only that is returned:
// explorers ask every second, and the state of many files takes long to read.
func libraryStatus(c *call) any {
	documents := must(c.Index(c.ctx, c.who.Tenant, false))
	if known := c.textOf("known", maxItemRunes); known != "" {
		if now := must(documents.Version(c.ctx)); now == known {
			return wire.LibraryStatus{Version: now, Meaning: c.running(c.who.Tenant)}
		}
	}
	status, err := ingest.Status(c.ctx, documents)
	guard.While("list what was added", err)
	if status.Database = c.Database; status.Database != "" {
		must(c.Directory.Tenants(c.ctx))
	}
	return c.view(func(snapshot index.Snapshot) any {
		stats := must(snapshot.Stats(c.ctx))
		status.Documents, status.Chunks, status.Bytes = stats.Documents, stats.Chunks, stats.Bytes
		status.Engine, status.Version, status.Path = stats.Engine, snapshot.Version(), c.folder(directory.DefaultTenant)
		status.Vectors, status.VectorModel, status.VectorsRefused = stats.Vectors, stats.VectorModel, stats.Refused
		if follower, ok := documents.(index.Follower); ok {
			status.EngineProblem = follower.Problem(c.ctx)
		}
		status.Meaning = c.meaningStatus(c.who.Tenant, stats)
		status.UnindexedDocuments = stats.Unindexed
		for _, d := range stats.UnindexedFirst {
			status.Unindexed = append(status.Unindexed, wire.UnindexedDocument(d))
		}
		return status
	})
}

// libraryFile answers GET /library/file: the path of the file that a document is.
func libraryFile(c *call) any {
	return c.viewDocument(c.documentID(), func(edge edge, document index.Stored, _ *int) any {
		file, err := ingest.FileOf(c.ctx, edge.documents, document.Document)
		if errors.Is(err, ingest.ErrNoFile) {
			err = coded("NOT_FOUND", "%s", err.Error())
		}
		return wire.LibraryFile{Path: must(file, err)}
	})
}

// checkedEvery is how often the progress of a check is reported.
const checkedEvery = 100 * time.Millisecond

// libraryCheck answers POST /library/check.
func libraryCheck(c *call) any {
	repair := c.flag("repair")
	return c.libraryWork(repair, func(w *work) {
		found, err := w.documents.Check(w.ctx, index.CheckOptions{Full: true, Repair: repair}, w.checking())
		w.count(w.reportDamage(found), err)
	})
}

// repair checks the library, rebuilds derived data, and rereads the files of damaged documents.
func (w *work) repair(extent string) (done wire.LibraryEvent) {
	if extent == wire.CheckNone {
		return done
	}
	options := index.CheckOptions{Full: extent == wire.CheckFull, Repair: true}
	found, err := w.documents.Check(w.ctx, options, w.checking())
	if err == nil {
		found, err = w.addUnfollowed(found)
	}
	if err != nil {
		w.count(w.reportDamage(found), err)
	}
	damaged := slices.DeleteFunc(slices.Clone(found), func(d index.Damage) bool {
		return d.Kind != index.DamagedDocument && d.Kind != index.DamagedText
	})
	if len(damaged) == 0 {
		return w.reportDamage(found)
	}
	ids := mapped(damaged, func(d index.Damage) string { return d.ID })
	w.count(ingest.Restore(w.ctx, w.documents, damaged, w.Local, w.report))
	left := must(w.documents.Check(w.ctx, index.CheckOptions{Documents: ids}, nil))
	for i := range found {
		damage := &found[i]
		damage.Repaired = damage.Repaired || slices.Contains(ids, damage.ID) &&
			!slices.ContainsFunc(left, func(d index.Damage) bool { return d.ID == damage.ID })
	}
	counts := w.reportDamage(found)
	w.done.Repaired, w.done.Damaged = counts.Repaired, counts.Damaged
	return w.done
}

// kindUnfollowed is the damage of files whose added folder was lost with the database.
const kindUnfollowed = "unfollowed"

// addUnfollowed adds the files that sync no longer updates after the database was repaired.
func (w *work) addUnfollowed(found []index.Damage) ([]index.Damage, error) {
	if !slices.ContainsFunc(found, func(d index.Damage) bool { return d.Kind == index.DamagedDatabase }) {
		return found, nil
	}
	folder, err := ingest.UntrackedFolder(w.ctx, w.documents)
	if err == nil && folder != "" {
		found = append(found, index.Damage{Kind: kindUnfollowed, ID: folder, Origin: folder,
			Reason: "its files are in the library, but sync no longer updates them"})
	}
	return found, err
}

// checking reports the progress of a check.
func (w *work) checking() func(done, total int) {
	var last time.Time
	return func(done, total int) {
		if now := time.Now(); done == total || now.Sub(last) >= checkedEvery {
			last = now
			w.report(wire.LibraryEvent{Type: wire.LibraryChecking, Done: done, Total: total})
		}
	}
}

// reportDamage reports and counts what a check found.
func (w *work) reportDamage(found []index.Damage) (done wire.LibraryEvent) {
	for _, damage := range found {
		event := wire.LibraryEvent{Type: wire.LibraryDamaged, Reason: describeDamage(damage)}
		if slices.Contains([]string{index.DamagedDocument, index.DamagedText, kindUnfollowed}, damage.Kind) {
			event.ID, event.Path = damage.ID, ingest.PathOf(damage)
		}
		if done.Damaged++; damage.Repaired {
			event.Type = wire.LibraryRepaired
			done.Damaged--
			done.Repaired++
		}
		w.report(event)
	}
	return done
}

// describeDamage returns the text of a damage.
func describeDamage(damage index.Damage) string {
	switch damage.Kind {
	case index.DamagedText, kindUnfollowed:
		if n := len(damage.Chunks); n > 0 {
			return text.Count(n, "passage") + " cannot be read"
		}
		return damage.Reason
	case index.DamagedDocument:
		return "the document cannot be read"
	case index.DamagedSegment:
		return "a file of the index: " + damage.Reason
	case index.DamagedVectors:
		return "a file of vectors: " + damage.Reason
	default:
		return "the database: " + damage.Reason
	}
}

// libraryMigrate answers POST /library/migrate.
func libraryMigrate(c *call) any {
	request := wire.MigrateRequest{To: c.requireEnum("to", wire.Engines()), DryRun: c.flag("dry_run")}
	check(c.failure())
	if c.Migrate == nil {
		abort(coded("NOT_FOUND", "no engine and no database is configured to copy to"))
	}
	return c.libraryWork(false, func(w *work) { w.count(w.Migrate(w.ctx, request, w.report)) })
}

// settle waits until searches find what was stored. If that fails, another process indexes it later.
func (w *work) settle() {
	follower, ok := w.documents.(index.Follower)
	if !ok {
		return
	}
	event := wire.LibraryEvent{Type: wire.LibraryIndexing}
	err := follower.Settle(w.ctx, func(done, total int) {
		event.Done, event.Total = done, total
		w.report(event)
	})
	if err != nil && w.ctx.Err() == nil {
		w.Log.WarnContext(w.ctx, "the index lacks documents that were stored", "error", err)
		event.Reason = err.Error()
		w.report(event)
	}
}
