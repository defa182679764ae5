package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/ingest/web"
)

// Remove deletes documents from the library: those of files and folders, by id, or by source and set (if both are set,
// with both). A removed root is no longer synchronized; what is removed below a root stays out until it is added again.
// If a ref is unknown nothing is deleted: the error wraps fault.ErrNotFound and names the nearest known one.
func Remove(ctx context.Context, idx index.Index, request wire.RemoveRequest, local Local, report Report) (
	done wire.LibraryEvent, err error) {
	if len(request.Refs) == 0 && request.Source == "" && request.Set == "" {
		return done, errors.New("missing document, path, source or set to remove")
	}
	return inRun(libraryIndex{ctx, idx}, Options{Local: local}, report, func(started *run) {
		r := &removal{run: started, files: started.loadFiles(""), snapshot: started.openSnapshot(),
			ids: map[string]bool{}}
		defer r.snapshot.Close()
		r.stored = guard.Must(r.snapshot.Origins(ctx))
		r.resolve(request)
		r.apply()
		r.refill(nil)
	})
}

// notFoundError wraps fault.ErrNotFound.
type notFoundError struct{ what string }

func (a notFoundError) Error() string { return "not in the library: " + a.what }

func (a notFoundError) Unwrap() error { return fault.ErrNotFound }

type removal struct {
	*run     // also stores deleted ids from other files
	snapshot index.Snapshot
	stored   map[string]int // documents by origin
	files    map[string]fileState

	ids   map[string]bool // documents
	paths []string        // files and folders
}

func (r *removal) resolve(request wire.RemoveRequest) {
	for _, ref := range request.Refs {
		if strings.TrimSpace(ref) == "" {
			guard.Abort(errors.New("empty reference"))
		}
		r.ref(ref)
	}
	if request.Source == "" && request.Set == "" {
		return
	}
	if request.Source != "" {
		if err := CheckSource(request.Source); err != nil {
			guard.Abort(notFoundError{err.Error()})
		}
	}
	ids := idsIn(r.ctx, r.snapshot, index.Selector{Source: request.Source, Set: request.Set})
	if len(ids) == 0 {
		guard.Abort(r.nothingIn(request))
	}
	for _, id := range ids {
		r.ids[id] = true
	}
}

// nothingIn returns the error for a source or set without documents.
func (r *removal) nothingIn(request wire.RemoveRequest) error {
	counts, err := r.snapshot.Facets(r.ctx, index.Filter{Access: index.Everything()})
	guard.While("list sources and sets", err)
	what, value, values := "set", request.Set, counts.Values[field.Set]
	if value == "" {
		what, value, values = "source", request.Source, counts.Values[field.Source]
	}
	names := exslices.CastFunc(values, func(v index.ValueCount) string { return v.Value })
	if slices.Contains(names, value) { // exists, but not with the other condition
		return notFoundError{fmt.Sprintf("documents of source %q in set %q", request.Source, request.Set)}
	}
	return notFoundError{fmt.Sprintf("%s %q%s", what, text.Clip(value, 64), didYouMean(value, names))}
}

// ref resolves a path or document id.
func (r *removal) ref(ref string) {
	if file, isFile := strings.CutPrefix(ref, "file:"); isFile {
		if r.files[file].Flag != flagRemoved && fileID(file) == ref && r.stored[originOf(file)] > 0 {
			r.paths = append(r.paths, file)
			return
		}
	}
	if address, err := web.Normalise(ref); err == nil {
		ref = address
	}
	if root := remoteRoot(ref); isRemote(root) && r.contains(root) {
		r.paths = append(r.paths, root)
		return
	}
	if absolute, err := absolutePath(ref); err == nil {
		if !r.contains(absolute) {
			absolute = knownPath(r.roots, absolute)
		}
		if r.contains(absolute) {
			r.paths = append(r.paths, absolute)
			return
		}
	}
	quoted := strconv.Quote(text.Clip(ref, longestID))
	found, err := r.snapshot.Documents(r.ctx, []string{ref}, index.Everything())
	guard.While("look for "+quoted, err)
	if len(found) == 0 {
		guard.Abort(r.notFound(ref))
	}
	if origin := found[0].Origin; ofConnector(origin) {
		guard.Abort(fmt.Errorf("document %s belongs to %s; %w", quoted, connectorName(origin), ErrOwned))
	}
	r.ids[ref] = true
}

// contains reports whether path is a root or file of the library, or a folder above one.
func (r *removal) contains(path string) bool {
	for root := range r.roots {
		if within(path, root) {
			return true
		}
	}
	for file, state := range r.files {
		if state.Flag != flagRemoved && within(path, file) {
			return true
		}
	}
	return false
}

func (r *removal) notFound(ref string) error {
	candidates := slices.Concat(slices.Sorted(maps.Keys(r.roots)), slices.Sorted(maps.Keys(r.files)))
	value := ref
	if strings.HasPrefix(ref, "file:") {
		for i := range candidates {
			candidates[i] = fileID(candidates[i])
		}
	} else if absolute, err := absolutePath(ref); err == nil {
		value = absolute
	}
	return notFoundError{fmt.Sprintf("%q%s", text.Clip(ref, longestID), didYouMean(value, candidates))}
}

func (r *removal) apply() {
	r.setOwner(func(origin string) bool { return !ofConnector(origin) })
	elsewhere := func(name string) bool {
		return !slices.ContainsFunc(r.paths, func(path string) bool { return within(path, name) })
	}
	forgotten := slices.DeleteFunc(slices.Sorted(maps.Keys(r.roots)), elsewhere)
	for _, root := range forgotten {
		delete(r.roots, root)
	}
	files := slices.DeleteFunc(slices.Sorted(maps.Keys(r.files)), elsewhere)
	r.durable.Total += len(files)
	for _, file := range files {
		r.removeFile(file)
	}
	r.durable.Total += len(r.ids)
	r.removeIDs()
	for _, root := range forgotten {
		r.cursor(rootPrefix+root, "")
	}
	if len(r.roots) == 0 {
		for id := range r.gone {
			r.cursor(gonePrefix+id, "")
		}
	}
	r.flush()
}

// removeFile deletes the documents of a file. If its root stays, the file is marked as removed.
func (r *removal) removeFile(file string) {
	var ids []string
	if !isRemote(file) && !r.files[file].several(file) && r.stored[originOf(file)] == 1 {
		ids = []string{fileID(file)}
	} else if r.stored[originOf(file)] > 0 {
		ids = idsIn(r.ctx, r.snapshot, index.Selector{Origin: originOf(file)})
	}
	for _, id := range ids {
		delete(r.ids, id)
		r.remove(id)
	}
	kept := ""
	if owner(r.roots, file) != "" {
		kept = encode(fileState{Flag: flagRemoved})
	}
	r.cursor(filePrefix+file, kept)
	delete(r.files, file)
	r.fileDone(file, 0, false)
}

// removeIDs deletes single documents and marks them as removed.
func (r *removal) removeIDs() {
	const batchSize = 500
	connectors := map[string]int{}                 // number of their documents, by origin
	files := make(map[string]string, len(r.files)) // by origin
	for file := range r.files {
		files[originOf(file)] = file
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(r.ids)), batchSize) {
		found, err := r.snapshot.Documents(r.ctx, ids, index.Everything())
		guard.While("describe documents", err)
		origins := make(map[string]string, len(found))
		for i := range found {
			origins[found[i].ID] = found[i].Origin
		}
		for _, id := range ids {
			if origin := origins[id]; ofConnector(origin) {
				connectors[origin]++
				continue
			}
			r.noteMissing(id, files[origins[id]])
			r.remove(id)
			r.fileDone(id, 0, false)
		}
	}
	for _, origin := range slices.Sorted(maps.Keys(connectors)) {
		r.skipLines(connectorName(origin), []string{fmt.Sprintf(
			"its %d documents were kept; `quarry admin connector remove` removes them", connectors[origin])})
	}
}

func (r *removal) noteMissing(id, file string) {
	r.gone[id] = true
	state, known := r.files[file]
	if !known {
		return
	}
	r.cursor(gonePrefix+id, goneByHand)
	if !state.several(file) {
		state = fileState{Flag: flagRemoved}
	} else {
		state.Documents--
		state.Flag = flagLeft
	}
	r.files[file] = state
	r.cursor(filePrefix+file, encode(state))
}

// idsIn returns the ids of stored documents.
func idsIn(ctx context.Context, snapshot index.Snapshot, by index.Selector) []string {
	ids, err := snapshot.DocumentIDs(ctx, by)
	guard.While("list documents", err)
	return ids
}
