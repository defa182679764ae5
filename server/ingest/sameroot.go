package ingest

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// knownPath returns the path under which a root has a file or folder, or the path itself if none has it: a folder has
// several paths by links, mounts, and on some file systems by case, and must be stored once.
func knownPath(roots map[string]rootState, absolute string) string {
	if _, isRoot := roots[absolute]; isRoot || isRemote(absolute) {
		return absolute
	}
	candidates := []string{absolute}
	if real, err := filepath.EvalSymlinks(filepath.FromSlash(absolute)); err == nil &&
		filepath.ToSlash(real) != absolute {
		candidates = append(candidates, filepath.ToSlash(real))
	}
	for _, candidate := range candidates {
		if known := reachedBy(roots, candidate); known != "" {
			return known
		}
	}
	for _, candidate := range candidates {
		for up, last := candidate, ""; up != last; up, last = path.Dir(up), up {
			for _, root := range slices.Sorted(maps.Keys(roots)) {
				if !isSamePlace(root, up) {
					continue
				}
				if known := reachedBy(roots, path.Join(root, below(up, candidate))); known != "" {
					return known
				}
			}
		}
	}
	return absolute
}

// reachedBy returns a path if a root's walk reaches it, else "".
func reachedBy(roots map[string]rootState, absolute string) string {
	if root := owner(roots, absolute); root != "" &&
		(root == absolute || reachable(root, below(root, absolute), roots[root].Include)) {
		return absolute
	}
	return ""
}

// isSamePlace reports whether two paths lead to one folder, or to one file by one name: hard links are files of their
// own.
func isSamePlace(one, other string) bool {
	if isRemote(one) || isRemote(other) {
		return false
	}
	first, err := os.Stat(filepath.FromSlash(one))
	if err != nil {
		return false
	}
	second, err := os.Stat(filepath.FromSlash(other))
	if err != nil || !os.SameFile(first, second) {
		return false
	}
	return first.IsDir() || strings.EqualFold(realName(one), realName(other))
}

// realName returns the name of a file at the end of links.
func realName(file string) string {
	real, err := filepath.EvalSymlinks(filepath.FromSlash(file))
	if err != nil {
		return file
	}
	return filepath.Base(real)
}

// otherRoot is a root that may be a place in the one of a walk, under another path.
type otherRoot struct {
	info fs.FileInfo
	name string // of a file
}

// otherRoots returns the roots but that of the walk.
func (w *walker) otherRoots() (others []otherRoot) {
	for root := range w.roots {
		if isRemote(root) || root == w.root {
			continue
		}
		if info, err := os.Stat(filepath.FromSlash(root)); err == nil {
			others = append(others, otherRoot{info, realName(root)})
		}
	}
	return others
}

// isRoot reports whether an entry of a walk is a root of its own, by its path or by another one.
func (w *walker) isRoot(name string, isFolder bool) bool {
	if _, isRoot := w.roots[path.Join(w.root, name)]; isRoot {
		return true
	}
	var info fs.FileInfo
	for _, other := range w.others {
		if other.info.IsDir() != isFolder || !isFolder && !strings.EqualFold(other.name, path.Base(name)) {
			continue
		}
		if info == nil {
			var err error
			if info, err = os.Lstat(w.absolute(name)); err != nil {
				return false // reported when it is read
			}
		}
		if os.SameFile(info, other.info) {
			return true
		}
	}
	return false
}
