package ingest

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// names lists the short names of a library's roots by their paths: "docs=docs".
func (l *library) names() string {
	l.t.Helper()
	status, err := Status(l.t.Context(), l.idx)
	must(l.t, err)
	var names []string
	for _, root := range status.Roots {
		names = append(names, strings.TrimPrefix(root.Path, filepath.ToSlash(l.folder)+"/")+"="+root.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (l *library) expectNames(want string) {
	l.t.Helper()
	if got := l.names(); got != want {
		l.t.Errorf("names %s\nwant  %s", got, want)
	}
}

// TestNamesOfRoots names roots by their folder, repository or file, as asked for, and apart from each other.
func TestNamesOfRoots(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"v1/docs/html/a.md": "a", "v2/docs/html/b.md": "b", "note.md": "n", "x/note.md": "n2",
		"clone/c.md": "c", "clone/.git/HEAD": "ref: refs/heads/main",
		"clone/.git/config": "[remote \"origin\"]\n\turl = https://jo:secret@github.com/acme/handbook.git/\n",
	})
	for _, root := range []string{"v1/docs/html", "v2/docs/html", "note.md", "x/note.md", "clone"} {
		l.add(Options{}, root)
	}
	l.expectNames("clone=handbook note.md=note.md v1/docs/html=html v2/docs/html=v2-html x/note.md=x-note.md")

	// A name stays with its root, until another is asked for.
	l.add(Options{}, "v1/docs/html")
	l.sync()
	l.add(Options{Name: "old"}, "v1/docs/html")
	l.expectNames("clone=handbook note.md=note.md v1/docs/html=old v2/docs/html=v2-html x/note.md=x-note.md")
	_, err := Add(context.Background(), l.idx, []string{l.path("note.md")}, Options{Name: "Handbook"}, l.record())
	if err == nil || !strings.Contains(err.Error(), `clone has the short name "Handbook"`) {
		t.Errorf("a name twice: %v", err)
	}

	// A folder of a root becomes one of its own by a name.
	l.counts(l.add(Options{Name: "the html"}, "v2/docs"), 0, 1, 0, 0)
	l.expectNames("clone=handbook note.md=note.md v1/docs/html=old v2/docs=the html x/note.md=x-note.md")
	for _, name := range []string{"..", "a\nb", "a\u202Eb", " a", strings.Repeat("a", 101), "a/b", "a/", "/"} {
		if CheckName(name) == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

// TestNoPasswordInNames: what a remote signs in with is no part of a name.
func TestNoPasswordInNames(t *testing.T) {
	for remote, want := range map[string]string{
		"https://" + someToken + "@github.com/acme/handbook.git": "handbook", "https://" + someToken + "@github.com": "clone",
		"https://jo:" + someToken + "@github.com/": "clone", "https://git.acme.example/handbook.git?private_token=" + someToken: "handbook",
		"https://git.acme.example?private_token=x/" + someToken: "clone", "ssh://git:" + someToken + "@host:22/~/handbook#" + someToken: "handbook",
		"jo:" + someToken + "@host:acme/handbook": "handbook", "/srv/git/handbook.git": "handbook", `C:\\git\\handbook`: "handbook",
	} {
		l := newLibrary(t, map[string]string{"clone/a.md": "a", "clone/.git/HEAD": "ref: refs/heads/main",
			"clone/.git/config": "[remote \"origin\"]\n\turl = \"" + remote + "\"\n"})
		l.add(Options{}, "clone")
		l.expectNames("clone=" + want)
		for key, value := range l.idx.cursors {
			if strings.Contains(key+value, someToken) {
				t.Errorf("%s: %s is kept as %s", remote, key, value)
			}
		}
	}
}

// TestNamesOfOlderRoots gives the roots of earlier versions the same names in each process, and stores them with the
// next change.
func TestNamesOfOlderRoots(t *testing.T) {
	l := newLibrary(t, map[string]string{"a/docs/x.md": "x", "b/docs/y.md": "y", "c/docs/z.md": "z"})
	l.add(Options{}, "a/docs")
	l.add(Options{}, "b/docs")
	for _, root := range []string{"a/docs", "b/docs"} {
		l.idx.cursors[rootPrefix+l.path(root)] = `{"source":"file"}`
	}
	stored := maps.Clone(l.idx.cursors)
	l.expectNames("a/docs=docs b/docs=b-docs")
	if !maps.Equal(stored, l.idx.cursors) {
		t.Error("listing the roots changed them")
	}
	l.add(Options{}, "c/docs")
	l.remove(wire.RemoveRequest{Refs: []string{l.path("a/docs")}})
	l.expectNames("b/docs=b-docs c/docs=c-docs")
}

// TestFreeNamesAreUnique names many roots of few names.
func TestFreeNamesAreUnique(t *testing.T) {
	roots := map[string]rootState{"https://acme.example/a!": {}, "https://acme.example/b!": {}, "stdin:x/y!": {}, "/": {}}
	for i := range 200 {
		roots[fmt.Sprintf("/%c/%c/docs", 'a'+i%3, 'A'+i%7)] = rootState{}
		roots[fmt.Sprintf("/%d/docs/docs", i%11)] = rootState{}
	}
	nameRoots(roots)
	seen := map[string]string{}
	for root, state := range roots {
		name := strings.ToLower(state.Name)
		if other, again := seen[name]; again || !isName(name) || name == "" {
			t.Errorf("%s is %q, as %s", root, state.Name, other)
		}
		seen[name] = root
	}
}
