package ingest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"quarry/internal/guard"
	"quarry/server/index"
)

// Names translates the ids of documents between the stored form, which begins with a path of this machine, and the one
// that others see, which begins with the short name of a root: file:/home/jo/handbook/people/leave.md is
// handbook/people/leave.md. Ids of documents that are no files are the same in both. A nil Names translates nothing.
type Names struct {
	names   map[string]string // by the id of the root
	roots   map[string]string // ids, by name
	longest int               // bytes of such an id
	clones  map[string]*clone // by the id of the folder
}

// LoadNames returns the names of the roots of a library.
func LoadNames(ctx context.Context, idx index.Index) (*Names, error) {
	return guard.Result(func() *Names { return newNames(libraryIndex{ctx, idx}.loadRoots()) })
}

func newNames(roots map[string]rootState) *Names {
	n := &Names{names: map[string]string{}, roots: map[string]string{}, clones: map[string]*clone{}}
	for root, state := range roots {
		if isRemote(root) {
			continue
		}
		id, name := strings.TrimSuffix(fileID(root), "/"), escapedName(state.Name)
		for folder, base := range state.Clones {
			if c := cloneOf(base); c != nil {
				n.clones[strings.TrimSuffix(fileID(folder), "/")] = c
			}
		}
		n.names[id], n.roots[name], n.longest = name, id, max(n.longest, len(id))
	}
	return n
}

// escapedName returns a root's name as ids and places begin with it: what follows begins with a slash or, in an
// archive, with an exclamation mark.
func escapedName(name string) string {
	return strings.NewReplacer("/", "%2F", "!", "%21").Replace(name)
}

// Public returns the id or ref of a document as others see it.
func (n *Names) Public(id string) string {
	if n == nil || !strings.HasPrefix(id, "file:") {
		return id
	}
	for end := min(len(id), n.longest); end >= len("file:"); end = strings.LastIndexAny(id[:end], "/!") {
		name, known := n.names[id[:end]]
		if known && (end == len(id) || strings.IndexByte("/!#", id[end]) >= 0) {
			return name + id[end:]
		}
	}
	return id
}

// Stored returns the id or ref that Public turned into the given one; false if it begins with no name of a root. The
// document need not exist.
func (n *Names) Stored(public string) (id string, ok bool) {
	if n == nil {
		return public, false
	}
	end := strings.IndexAny(public, "/!")
	if end < 0 {
		end = len(public)
	}
	if root, known := n.roots[public[:end]]; known {
		return root + public[end:], true
	}
	if at := strings.LastIndexAny(public[:end], "#:"); at > 0 { // the passage or the line of a root that is a file
		if root, known := n.roots[public[:at]]; known {
			return root + public[at:], true
		}
	}
	return public, false
}

// Permalinked returns the ids that the file of a permalink, of any commit, has in each clone of its repository, with
// its first line as :LINE. The documents need not exist.
func (n *Names) Permalinked(address string) (ids []string) {
	if n == nil {
		return nil
	}
	for _, folder := range slices.Sorted(maps.Keys(n.clones)) {
		if name, line, isFile := n.clones[folder].fileAt(address); isFile {
			id := folder + "/" + escapePath(name)
			if line != "" {
				id += ":" + line
			}
			ids = append(ids, id)
		}
	}
	return ids
}
