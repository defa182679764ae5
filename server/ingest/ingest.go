// Package ingest fills an index with the documents of files: it walks folders, reads Markdown, text, HTML and JSONL,
// cuts documents into chunks by their structure, and keeps the index in sync with the files.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/ingest/web"
)

// Local is what reading files needs to know about this machine.
type Local struct {
	// Own are absolute paths of the library's own files and folders, which are not read.
	Own []string
	// Readers read documents in other processes; nil: in this one, without PDF files.
	Readers *Readers
	// Web is how pages are fetched.
	Web web.Options
	// FilesOnly leaves out what is on the web when everything is synchronised.
	FilesOnly bool

	batch int // replaces batchDocuments in tests; 0: does not
}

// Options control how added files are stored.
type Options struct {
	// As is the source of the documents, a value of DocumentSource that is not internal. Empty: as before, else the
	// host of the files' git repository, else file; JSONL documents have their own.
	As string
	// Set is the document set of the documents. Empty: as before, else none.
	Set string
	// Name is the short name of what is added, which must be one path. Empty: as before, else that of its repository or
	// folder.
	Name string
	// Access are the access terms of the documents. Empty: as before, else PUBLIC. JSONL documents with their own
	// permissions keep them.
	Access []string
	// Include are patterns of files that are read although they are hidden or look like secrets, by name or, with a
	// slash, by path from the root. Empty: as before, else none.
	Include []string
	// DryRun reports what would change, and stores nothing.
	DryRun bool
	Local
	// Now is the clock for synced_at; nil means time.Now.
	Now func() time.Time
}

// Report is called with the progress, with each skipped file, and with the result.
type Report = func(wire.LibraryEvent)

const longestSet = 200 // bytes of a document set's name

// ErrNotAdded: the path is not part of the library.
var ErrNotAdded = errors.New("it was not added to the library")

// Add reads files and folders into the index and stores them as roots for Sync. A path inside a root with the same
// options is read as part of it; with other options it becomes a root of its own, which the outer one leaves out. What
// a root has under another path is read under that of the root. A folder replaces the roots below it that were added
// without options.
//
// Unchanged files are not read again. Documents that are no longer in a file, and those of deleted files, are deleted.
// report is called with the progress, with each skipped file, and with the result, which is also returned. Without an
// error the last event is of type done. After an error, what was reported as done is stored, and adding again
// continues.
func Add(ctx context.Context, idx index.Index, paths []string, options Options, report Report) (
	done wire.LibraryEvent, err error) {
	if len(paths) == 0 {
		return done, errors.New("missing path")
	}
	if options.Name != "" && len(paths) > 1 {
		return done, errors.New("a short name is of one path")
	}
	return inRun(libraryIndex{ctx, idx}, options, report, func(r *run) {
		var targets []*target
		for _, path := range paths {
			if absolute, err := absolutePath(path); err == nil && !wire.IsURL(path) {
				if known := knownPath(r.roots, absolute); known != absolute {
					report(wire.LibraryEvent{Type: wire.LibraryTaken, Path: absolute, Kind: "another path of " + known})
					path = known
				}
			}
			t, err := planAdd(path, options, r.roots)
			guard.While("add "+withoutUser(path), err)
			targets = append(targets, t)
		}
		r.sync(withoutCovered(targets))
	})
}

// check returns what is wrong with the options.
func (o Options) check() error {
	if o.As != "" {
		if err := CheckSource(o.As); err != nil {
			return err
		}
	}
	if set := oneLine(o.Set, longestSet); set != o.Set {
		return fmt.Errorf("%q is not a valid name for a document set", text.Clip(o.Set, longestSet))
	}
	if bad := slices.IndexFunc(
		o.Include, func(pattern string) bool { return !doublestar.ValidatePattern(pattern) }); bad >= 0 {
		return fmt.Errorf("%q is not a valid pattern", text.Clip(o.Include[bad], longestValue))
	}
	return CheckName(o.Name)
}

// planAdd adds a path to the root that it belongs to, or to roots.
func planAdd(path string, options Options, roots map[string]rootState) (*target, error) {
	if wire.IsURL(path) {
		address, err := web.Normalise(path)
		if err != nil {
			return nil, err
		}
		return addRemote(remoteRoot(address), options, roots)
	}
	absolute, err := absolutePath(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.FromSlash(absolute))
	if err != nil {
		return nil, errors.New(reasonOf(err))
	}
	if roots[absolute].damaged {
		delete(roots, absolute)
	}
	state, known := roots[absolute]
	outer := owner(roots, absolute)
	if !known && outer != "" {
		state = rootState{As: roots[outer].As, Set: roots[outer].Set, Access: roots[outer].Access,
			Include: roots[outer].Include}
	}
	state.apply(options)
	if !known && outer != "" && options.Name == "" && state.sameSettings(roots[outer]) {
		start := below(outer, absolute)
		if reachable(outer, start, state.Include) {
			return &target{path: outer, state: roots[outer], start: start, force: true}, nil
		}
	}
	state.File = !info.IsDir()
	_, _, state.Device = statIdentity(info)
	t := &target{path: absolute, state: state, force: true, fresh: !known}
	for inner, other := range roots {
		if inner == absolute || !within(absolute, inner) ||
			!other.sameSettings(rootState{}) && !other.sameSettings(state) {
			continue
		}
		if reachable(absolute, below(absolute, inner), state.Include) {
			t.replaces = append(t.replaces, inner)
			delete(roots, inner)
		}
	}
	if err := t.state.nameNew(absolute, options.Name, roots); err != nil {
		return nil, err
	}
	roots[absolute] = t.state
	return t, nil
}

// apply sets what options say of a root; the rest stays as it was.
func (r *rootState) apply(options Options) {
	r.As, r.Set = cmp.Or(options.As, r.As), cmp.Or(options.Set, r.Set)
	if len(options.Access) > 0 {
		r.Access = options.Access
	}
	if len(options.Include) > 0 {
		r.Include = options.Include
	}
}

// withoutCovered drops targets that another one also reads: the same root, a part of it, or a replaced root.
func withoutCovered(targets []*target) []*target {
	var kept []*target
	for i, t := range targets {
		covered := slices.ContainsFunc(targets[i+1:], func(later *target) bool {
			return slices.Contains(later.replaces, t.path) || later.path == t.path && within(later.start, t.start)
		}) || slices.ContainsFunc(kept, func(earlier *target) bool {
			return earlier.path == t.path && within(earlier.start, t.start)
		})
		if !covered {
			kept = append(kept, t)
		}
	}
	return kept
}

// reachable reports whether a walk of root that reads what include names reaches name.
func reachable(root, name string, include []string) bool {
	w := &walker{root: root, include: include}
	_, _, err := w.descend(w.enter(place{}, ""), name)
	return err == nil
}

func absolutePath(path string) (string, error) {
	if strings.TrimSpace(path) == "" || strings.ContainsRune(path, 0) {
		return "", errors.New("invalid path")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the absolute path: %w", err)
	}
	return filepath.ToSlash(absolute), nil
}

// rootPath returns the path that a root has, for a path or an address.
func rootPath(path string) (string, error) {
	if !wire.IsURL(path) {
		return absolutePath(path)
	}
	address, err := web.Normalise(path)
	return remoteRoot(address), err
}

// withoutUser returns a path for an error. What may be a password in an address is not repeated.
func withoutUser(path string) string {
	scheme, rest, _ := strings.Cut(path, "://")
	if authority, _, _ := strings.Cut(rest, "/"); wire.IsURL(path) && strings.Contains(authority, "@") {
		return scheme + "://…" + rest[strings.LastIndexByte(authority, '@'):]
	}
	return path
}

// Sync updates the documents of all roots, of the named ones, or of the named parts of roots. A root that does not
// exist is skipped and keeps its documents, because its disk may be unmounted; Remove deletes them.
// It reports like Add, and returns ErrNotAdded for a path that was not added.
func Sync(ctx context.Context, idx index.Index, paths []string, local Local, report Report) (
	done wire.LibraryEvent, err error) {
	return inRun(libraryIndex{ctx, idx}, Options{Local: local}, report, func(r *run) {
		r.sync(withoutCovered(planSync(paths, local.FilesOnly, r.roots)))
	})
}

// ErrNoFile: a document is not a file of the library, or not any more.
var ErrNoFile = errors.New("the document is not a file of the library")

// FileOf returns the path of the file that a document is: a regular file in a folder that was added, and not one of the
// documents in it. Otherwise the error wraps ErrNoFile.
func FileOf(ctx context.Context, idx index.Index, document index.Document) (string, error) {
	file := document.Origin
	if file == "" || document.ID != fileID(file) || document.ID != "file:"+file { // the name can be shown as it is
		return "", ErrNoFile
	}
	roots, err := guard.Result(libraryIndex{ctx, idx}.loadRoots)
	if err != nil {
		return "", err
	}
	root := owner(roots, file)
	if root == "" {
		return "", fmt.Errorf("%w: it is in no folder that was added", ErrNoFile)
	}
	info, err := lstatIn(root, below(root, file))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoFile, err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: it is not a regular file", ErrNoFile)
	}
	return filepath.FromSlash(file), nil
}

// lstatIn describes a file below a root, or the root itself if name is empty. It follows no link out of the root.
func lstatIn(root, name string) (fs.FileInfo, error) {
	if name == "" {
		return os.Lstat(filepath.FromSlash(root))
	}
	folder, err := os.OpenRoot(filepath.FromSlash(root))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Lstat(filepath.FromSlash(name))
}

// CheckAdded returns ErrNotAdded for a path that Sync would refuse.
func CheckAdded(ctx context.Context, idx index.Index, paths []string) error {
	return guard.Ended(func() { planSync(paths, false, libraryIndex{ctx, idx}.loadRoots()) })
}

func planSync(paths []string, filesOnly bool, roots map[string]rootState) (targets []*target) {
	sorted := slices.Sorted(maps.Keys(roots))
	add := func(root, start string) {
		targets = append(targets, &target{path: root, state: roots[root], start: start})
	}
	if len(paths) == 0 {
		for _, root := range sorted {
			if !filesOnly || !isRemote(root) {
				add(root, "")
			}
		}
	}
	for _, path := range paths {
		absolute, err := rootPath(path)
		guard.While("sync "+withoutUser(path), err)
		absolute = knownPath(roots, absolute)
		outer := owner(roots, absolute)
		if outer != "" {
			add(outer, below(outer, absolute))
		}
		found := outer != ""
		for _, root := range sorted { // a folder above roots stands for all of them
			if root != absolute && within(absolute, root) {
				add(root, "")
				found = true
			}
		}
		if !found {
			guard.Abort(fmt.Errorf("sync %s: %w%s", path, ErrNotAdded,
				didYouMean(shownPath(absolute), exslices.CastFunc(sorted, shownPath))))
		}
	}
	return targets
}

func didYouMean(value string, candidates []string) string {
	if near := wire.Nearest(value, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// missing returns why a root cannot be synchronized now, or "". gone reports that it is a file that was deleted from a
// folder that still exists, so that its disk is mounted.
func (t *target) missing() (reason string, gone bool) {
	if t.state.damaged {
		return "its options were lost; its documents are kept; `add` it again with its options", false
	}
	info, err := os.Stat(filepath.FromSlash(t.path))
	if err == nil {
		_, _, device := statIdentity(info)
		if t.state.File || !info.IsDir() || t.state.Device == 0 || device == t.state.Device {
			return "", false
		}
		if entries, err := os.ReadDir(filepath.FromSlash(t.path)); err != nil || len(entries) > 0 {
			return "", false
		}
		return "the folder is empty and on another disk than before; its documents are kept; `remove` deletes them",
			false
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return reasonOf(err), false
	}
	if t.state.File {
		if parent, err := os.Stat(filepath.Dir(filepath.FromSlash(t.path))); err == nil {
			_, _, device := statIdentity(parent)
			return "the file no longer exists; its documents were removed", device == t.state.Device
		}
	}
	return "it no longer exists, or its disk is not mounted; its documents are kept; `remove` deletes them", false
}

// unreadable reports a root that cannot be read now, for status too. Its documents stay.
func (r *run) unreadable(t *target, reason string) {
	r.skip(t.path, reason)
	if !t.fresh && !t.state.damaged && t.state.Problem != reason {
		t.state.Problem = reason
		r.cursor(rootPrefix+t.path, encode(t.state))
	}
}
