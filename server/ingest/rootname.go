package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"quarry/internal/text"
	"quarry/server/ingest/githistory"
)

// longestRootName bounds the short name of a root, in bytes. It stands in every id that leaves this machine.
const longestRootName = 100

// CheckName returns an error if a text cannot be the short name of a root.
func CheckName(name string) error {
	why := ""
	switch {
	case strings.Contains(name, "/"):
		why = ": a slash separates places"
	case isName(name):
		return nil
	}
	return fmt.Errorf("%q is not a valid short name%s", text.Clip(name, longestRootName), why)
}

// isName reports whether a text can be the short name of a root. No name has a colon, so that no id that begins with
// one is a stored id or an address, and lines can follow.
func isName(name string) bool {
	return name == oneLine(name, longestRootName) && !strings.ContainsFunc(name, isHidden) &&
		!strings.Contains(name, ":") && name != "." && name != ".."
}

// rootNames has the roots by their nameKey.
type rootNames map[string]string

// nameKey returns what no two names have in common.
func nameKey(name string) string { return strings.ToLower(escapedName(name)) }

// nameRoots names the roots of earlier versions, which have no name, in the order of their paths: each process gives
// them the same names until the next change of the library stores them.
func nameRoots(roots map[string]rootState) {
	names := namesOf(roots)
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		if state := roots[root]; state.Name == "" {
			state.Name, state.unnamed = names.free(root, defaultName(root)), true
			names[nameKey(state.Name)], roots[root] = root, state
		}
	}
}

func namesOf(roots map[string]rootState) rootNames {
	names := rootNames{}
	for root, state := range roots {
		if state.Name != "" {
			names[nameKey(state.Name)] = root
		}
	}
	return names
}

// free returns a name for a root that no other root has. If the wanted one is taken, the nearest folder above that
// tells the two apart comes before it (v2-html), or a number behind it.
func (n rootNames) free(root, wanted string) string {
	isFree := func(name string) bool {
		holder, taken := n[nameKey(name)]
		return !taken || holder == root
	}
	if isFree(wanted) {
		return wanted
	}
	one, other := path.Dir(root), path.Dir(n[nameKey(wanted)])
	for ; one != path.Dir(one) && !isRemote(root); one, other = path.Dir(one), path.Dir(other) {
		name := path.Base(one) + "-" + wanted
		if path.Base(one) != path.Base(other) && isName(name) && isFree(name) {
			return name
		}
	}
	for number := 2; ; number++ {
		if name := wanted + "-" + strconv.Itoa(number); isFree(name) {
			return name
		}
	}
}

// nameNew names a root that is added: as asked for, as before, or by its repository, folder or address. It returns an
// error if the name that was asked for is not free.
func (r *rootState) nameNew(root, wanted string, roots map[string]rootState) error {
	names := namesOf(roots)
	if r.Name = cmp.Or(wanted, r.Name); r.Name == "" {
		r.Name = names.free(root, cmp.Or(repositoryName(root), defaultName(root)))
	}
	if holder, taken := names[nameKey(r.Name)]; taken && holder != root {
		return fmt.Errorf("%s has the short name %q", shownPath(holder), r.Name)
	}
	return nil
}

// defaultName returns the name of a root's folder or file, the host of an address, or the title of a document that was
// piped.
func defaultName(root string) string {
	shown := shownPath(root)
	name := path.Base(shown)
	if title, isPiped := strings.CutPrefix(shown, pipedPrefix); isPiped && isRemote(root) {
		name = title
	} else if address, err := url.Parse(shown); err == nil && isRemote(root) {
		name = address.Hostname()
	}
	if name = shortName(name); name == "" {
		return "files" // the root of a disk
	}
	return name
}

// repositoryName returns the name of the repository that a folder is the working tree of, as its remote has it; else
// "".
func repositoryName(root string) string {
	git, ok := githistory.Find(filepath.FromSlash(root))
	if !ok || isRemote(root) {
		return ""
	}
	remote := strings.TrimRight(pathInRemote(git.Remote()), "/")
	return shortName(strings.TrimSuffix(remote[strings.LastIndexAny(remote, "/:\\")+1:], ".git"))
}

// pathInRemote returns a remote, of a URL its path: what is before and behind that may be a password.
func pathInRemote(remote string) string {
	_, rest, isURL := strings.Cut(remote, "://")
	if !isURL {
		return remote
	}
	end := strings.IndexAny(rest, "?#")
	if end < 0 {
		end = len(rest)
	}
	_, inHost, _ := strings.Cut(rest[:end], "/")
	return inHost
}

// shortName turns a name from outside into a short name, or "".
func shortName(name string) string {
	name = oneLine(escapeID(strings.ReplaceAll(name, ":", "-")), longestRootName-len("-1000"))
	if !isName(name) || name == "/" {
		return ""
	}
	return name
}
