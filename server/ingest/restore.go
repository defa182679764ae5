package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/index"
)

// Restore reads the files of damaged documents again, even if they did not change. Documents of deleted files are
// removed, as in Sync. Files that cannot be read now are skipped: their documents stay.
func Restore(ctx context.Context, idx index.Index, damaged []index.Damage, local Local, report Report) (
	done wire.LibraryEvent, err error) {
	r, err := newRun(libraryIndex{ctx, idx}, local, func(event wire.LibraryEvent) {
		if event.Type == wire.LibraryProgress && report != nil {
			report(event)
		}
	})
	if err != nil {
		return done, err
	}
	known, err := r.loadFiles("")
	if err != nil {
		return done, err
	}
	var targets []*target
	for file, ids := range filesOf(damaged, known) {
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
	return r.run(targets)
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
func UntrackedFolder(ctx context.Context, idx index.Index) (folder string, err error) {
	l := libraryIndex{ctx, idx}
	roots, err := l.loadRoots()
	if err != nil {
		return "", err
	}
	origins, err := l.origins()
	if err != nil {
		return "", err
	}
	for origin := range origins {
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
	return folder, nil
}

// RefillCursors returns the cursors to write with a batch that deletes documents, so that the next Sync stores
// documents of the same ids from other files.
func RefillCursors() map[string]string { return map[string]string{refillKey: refillDue} }

// refill stores documents whose ids became free in this run or in an interrupted one: unchanged files may have them
// too. Files of the target's root come first.
func (r *run) refill(removed *target) {
	if r.err != nil {
		return
	}
	due, err := r.idx.Cursors(r.ctx, refillKey)
	if r.err = err; len(due) == 0 {
		return
	}
	plans, err := r.planRefills(removed)
	r.err = err
	for _, p := range plans {
		if p.target.folder != nil {
			defer p.target.folder.Close()
		}
	}
	done := r.done
	r.quiet = true
	r.applyAll(plans, false)
	r.quiet = false
	r.done.Unchanged, r.done.Skipped = done.Unchanged, done.Skipped // counted before
	gone, err := r.goneCited()
	r.err = cmp.Or(r.err, err)
	for _, key := range append(gone, refillKey) {
		r.cursor(key, "")
	}
	r.flush()
}

// planRefills plans to read the files that have more documents than are stored.
func (r *run) planRefills(removed *target) (plans []*plan, err error) {
	lacking, err := r.incompleteFiles()
	sorted := slices.Sorted(maps.Keys(lacking))
	if removed != nil {
		mine := ownsBelow(outermost(r.roots, removed.path))
		sorted = slices.Concat(slices.DeleteFunc(slices.Clone(sorted), func(file string) bool { return !mine(file) }),
			slices.DeleteFunc(slices.Clone(sorted), mine))
	}
	for _, file := range sorted {
		p, failed := r.planRefill(file, lacking[file])
		if err = cmp.Or(err, failed); p != nil {
			plans = append(plans, p)
		}
	}
	return plans, err
}

// incompleteFiles returns the files with more documents than are stored, by path.
func (l libraryIndex) incompleteFiles() (map[string]fileState, error) {
	files, err := l.loadFiles("")
	if err != nil {
		return nil, err
	}
	stored, err := l.origins()
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(files, func(file string, state fileState) bool {
		lacking := state.Flag == "" && state.Documents+state.Foreign > stored[originOf(file)]
		return !lacking && state.Flag != flagLeft
	})
	return files, nil
}

// origins returns the numbers of stored documents by origin.
func (l libraryIndex) origins() (map[string]int, error) {
	snapshot, err := l.openSnapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	return snapshot.Origins(l.ctx)
}

func (l libraryIndex) openSnapshot() (index.Snapshot, error) {
	snapshot, err := l.idx.Snapshot(l.ctx)
	if err != nil {
		return nil, fmt.Errorf("open the library: %w", err)
	}
	return snapshot, nil
}

// planRefill plans to read a file again; nil if it cannot be read, or will be read anyway because it changed.
func (r *run) planRefill(file string, state fileState) (*plan, error) {
	root := owner(r.roots, file)
	if root == "" || r.roots[root].damaged || isRemote(root) {
		return nil, nil
	}
	t := &target{path: root, state: r.roots[root], start: below(root, file), refill: true}
	w := &walker{root: t.path, own: r.local.Own, include: t.state.Include, repository: r.repositoryOf,
		clones: map[string]string{}}
	if err := w.walk(r.ctx, t.start); err != nil {
		return nil, r.ctx.Err()
	}
	p := &plan{target: t}
	at := slices.IndexFunc(w.files, func(f foundFile) bool { return f.path == file })
	if at < 0 || w.files[at].reason != "" || !p.unchanged(w.files[at], state) || t.prepare(w) != nil {
		return nil, nil
	}
	p.files = []*task{newTask(w.files[at], t, state)}
	return p, nil
}
