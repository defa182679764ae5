package ingest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"quarry/client/wire"
	"quarry/server/index"
)

// Restore reads the files of damaged documents again, even if they did not change. Documents of deleted files are
// removed, as in Sync. Files that cannot be read now are skipped: their documents stay. own is Options.Own.
func Restore(ctx context.Context, idx index.Index, damaged []index.Damage, own []string, report Report) (wire.LibraryEvent, error) {
	r, err := newRun(ctx, idx, own, func(event wire.LibraryEvent) {
		if event.Type == wire.LibraryProgress && report != nil {
			report(event)
		}
	})
	if err != nil {
		return wire.LibraryEvent{}, err
	}
	known, err := loadFiles(ctx, idx, "")
	if err != nil {
		return wire.LibraryEvent{}, err
	}
	var targets []*target
	for file, ids := range filesOf(damaged, known) {
		root := owner(r.roots, file)
		if root == "" || r.roots[root].damaged {
			continue
		}
		if isDeleted(root, file) {
			for _, id := range ids {
				if err := r.batcher.remove(id); err != nil {
					return r.batcher.done, err
				}
			}
		}
		targets = append(targets, &target{path: root, state: r.roots[root], again: true,
			start: below(root, file)})
	}
	return r.run(ctx, targets)
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
		file, found := byID[d.ID]
		if found {
			files[file] = append(files[file], d.ID)
		} else if file, found = byOrigin[d.Origin]; found {
			files[file] = append(files[file], d.ID)
		} else if d.Kind == index.DamagedDocument {
			unknown = true
		}
	}
	for file, state := range known {
		if kind, _ := formatOf(file); unknown && kind.lines && state.Documents > 0 && files[file] == nil {
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
	if damage.Origin != "" {
		return damage.Origin
	}
	file, _ := strings.CutPrefix(damage.ID, "file:")
	if file == damage.ID {
		return ""
	}
	return file
}

// UntrackedFolder returns the innermost folder around all files with documents but without a root, as after a loss of
// root entries; "" for none.
func UntrackedFolder(ctx context.Context, idx index.Index) (folder string, err error) {
	roots, err := loadRoots(ctx, idx)
	if err != nil {
		return "", err
	}
	origins, err := storedByOrigin(ctx, idx)
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
