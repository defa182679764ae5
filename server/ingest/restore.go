package ingest

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// Restore reads the files of damaged documents again, even if they did not change. Documents of deleted files are
// removed, as in Sync. Files that cannot be read now are skipped: their documents stay.
func Restore(ctx context.Context, idx index.Index, damaged []index.Damage, local Local, report Report) (
	done wire.LibraryEvent, err error) {
	progress := func(event wire.LibraryEvent) {
		if event.Type == wire.LibraryProgress && report != nil {
			report(event)
		}
	}
	return inRun(libraryIndex{ctx, idx}, Options{Local: local}, progress, func(r *run) {
		var targets []*target
		for file, ids := range filesOf(damaged, r.loadFiles("")) {
			root := owner(r.roots, file)
			if root == "" || r.roots[root].damaged {
				continue
			}
			if isDeleted(root, file) {
				for _, id := range ids {
					r.remove(id)
				}
			}
			targets = append(targets, &target{path: root, state: r.roots[root], again: true, start: below(root, file)})
		}
		r.sync(targets)
	})
}

// filesOf returns the files of damaged documents, with the ids of documents that only that file has. A document without
// a known origin, whose id names no file, may be from any JSONL file.
func filesOf(damaged []index.Damage, known map[string]fileState) map[string][]string {
	byID, byOrigin := make(map[string]string, len(known)), make(map[string]string, len(known))
	for file := range known {
		byID[fileID(file)], byOrigin[originOf(file)] = file, file
	}
	files := make(map[string][]string)
	unknown := false
	for _, d := range damaged {
		if file := cmp.Or(byID[d.ID], byOrigin[d.Origin]); file != "" {
			files[file] = append(files[file], d.ID)
		} else if d.Kind == index.DamagedDocument {
			unknown = true
		}
	}
	for file, state := range known {
		if unknown && state.several(file) && state.Documents > 0 && files[file] == nil {
			files[file] = []string{}
		}
	}
	return files
}

// isDeleted reports whether a file no longer exists although its root does.
func isDeleted(root, file string) bool {
	_, rootErr := os.Stat(filepath.FromSlash(root))
	_, err := os.Lstat(filepath.FromSlash(file))
	return rootErr == nil && root != file && errors.Is(err, fs.ErrNotExist)
}

// PathOf returns the file of a damaged document, if its origin or id names one, or "".
func PathOf(damage index.Damage) string {
	if file, isFile := strings.CutPrefix(damage.ID, "file:"); isFile {
		return cmp.Or(damage.Origin, file)
	}
	if isRemote(damage.Origin) {
		return ""
	}
	return damage.Origin
}

// UntrackedFolder returns the innermost folder around all files with documents but without a root, as after a loss of
// root entries; "" for none.
func UntrackedFolder(ctx context.Context, idx index.Index) (string, error) {
	return guard.Result(func() (folder string) {
		l := libraryIndex{ctx, idx}
		roots := l.loadRoots()
		for origin := range l.origins() {
			if !isFileOrigin(origin) || owner(roots, origin) != "" {
				continue
			}
			if folder == "" {
				folder = path.Dir(origin)
			}
			for !within(folder, origin) {
				folder = path.Dir(folder)
			}
		}
		return folder
	})
}

// RefillCursors returns the cursors to write with a batch that deletes documents, so that the next Sync stores
// documents of the same ids from other files.
func RefillCursors() map[string]string { return map[string]string{refillKey: refillDue} }

// refill stores documents whose ids became free in this run or in an interrupted one: unchanged files may have them
// too. Files of the target's root come first.
func (r *run) refill(removed *target) {
	if len(guard.Must(r.idx.Cursors(r.ctx, refillKey))) == 0 {
		return
	}
	plans := r.planRefills(removed)
	for _, p := range plans {
		if p.target.folder != nil {
			defer p.target.folder.Close()
		}
	}
	done := r.done
	r.quiet = true
	err := guard.Ended(func() { r.applyAll(plans, false) })
	r.quiet = false
	r.done.Unchanged, r.done.Skipped = done.Unchanged, done.Skipped // counted before
	guard.Check(err)
	for _, key := range append(r.goneCited(), refillKey) {
		r.cursor(key, "")
	}
	r.flush()
}

// planRefills plans to read the files that have more documents than are stored.
func (r *run) planRefills(removed *target) (plans []*plan) {
	lacking := r.incompleteFiles()
	sorted := slices.Sorted(maps.Keys(lacking))
	if removed != nil {
		mine := ownsBelow(outermost(r.roots, removed.path))
		sorted = slices.Concat(slices.DeleteFunc(slices.Clone(sorted), func(file string) bool { return !mine(file) }),
			slices.DeleteFunc(slices.Clone(sorted), mine))
	}
	for _, file := range sorted {
		if p := r.planRefill(file, lacking[file]); p != nil {
			plans = append(plans, p)
		}
	}
	return plans
}

// incompleteFiles returns the files with more documents than are stored, by path.
func (l libraryIndex) incompleteFiles() map[string]fileState {
	files, stored := l.loadFiles(""), l.origins()
	maps.DeleteFunc(files, func(file string, state fileState) bool {
		lacking := state.Flag == "" && state.Documents+state.Foreign > stored[originOf(file)]
		return !lacking && state.Flag != flagLeft
	})
	return files
}

// origins returns the numbers of stored documents by origin.
func (l libraryIndex) origins() map[string]int {
	snapshot := l.openSnapshot()
	defer snapshot.Close()
	return guard.Must(snapshot.Origins(l.ctx))
}

func (l libraryIndex) openSnapshot() index.Snapshot {
	snapshot, err := l.idx.Snapshot(l.ctx)
	guard.While("open the library", err)
	return snapshot
}

// planRefill plans to read a file again; nil if it cannot be read, or will be read anyway because it changed.
func (r *run) planRefill(file string, state fileState) *plan {
	root := owner(r.roots, file)
	if root == "" || r.roots[root].damaged || isRemote(root) {
		return nil
	}
	t := &target{path: root, state: r.roots[root], start: below(root, file), refill: true}
	w := &walker{root: t.path, own: r.local.Own, include: t.state.Include, repository: r.repositoryOf,
		clones: map[string]string{}}
	if w.walk(r.ctx, t.start) != nil { // the run ends when it writes if it was the context's error
		return nil
	}
	p := &plan{target: t}
	at := slices.IndexFunc(w.files, func(f foundFile) bool { return f.path == file })
	if at < 0 || w.files[at].reason != "" || !p.unchanged(w.files[at], state) || t.prepare(w) != nil {
		return nil
	}
	p.files = []*task{newTask(w.files[at], t, state)}
	return p
}
