package ingest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/gittest"
)

// TestClones turns remotes into permalinks and back, without what is not for others.
func TestClones(t *testing.T) {
	for remote, want := range map[string]string{
		"https://jo:secret@github.com/acme/handbook.git": "https://github.com/acme/handbook/blob/1f/a%20b/%23.md?plain=1#LFIRST-LLAST",
		"git@github.com:acme/handbook.git":               "https://github.com/acme/handbook/blob/1f/a%20b/%23.md?plain=1#LFIRST-LLAST",
		"ssh://git@gitlab.acme.example:2222/a/b/c.git":   "https://gitlab.acme.example/a/b/c/-/blob/1f/a%20b/%23.md?plain=1#LFIRST-LAST",
		"https://bitbucket.org/acme/x":                   "https://bitbucket.org/acme/x/src/1f/a%20b/%23.md#lines-FIRST:LAST",
		"https://codeberg.org/acme/x":                    "https://codeberg.org/acme/x/src/commit/1f/a%20b/%23.md?display=source#LFIRST-LLAST",
		"git@git.sr.ht:~jo/x":                            "https://git.sr.ht/~jo/x/tree/1f/item/a%20b/%23.md#LFIRST-LAST",
		"https://unknown.example/acme/x":                 "", "": "", "/srv/git/x.git": "", "../x": "",
		"javascript://github.com/acme/%0aalert(1)": "", "https://github.com/../x": "", "https://github.com": "",
		"https://github.com/a": "", "https://gi\x1bthub.com/a/b": "", "https://github.com/a/\x1b[31mb": "",
		"file:///home/jo/github/x": "", "https://example/github/x": "",
	} {
		c, got := cloneOf(remote), ""
		if c != nil {
			got = c.permalink("1f", "a b/#.md")
			address := strings.NewReplacer("FIRST", "12", "LAST", "20").Replace(got)
			if name, line, ok := c.fileAt(address); !ok || name != "a b/#.md" || line != "12" {
				t.Errorf("%s is %q, line %q", address, name, line)
			}
			if again := cloneOf(c.base); again == nil || again.base != c.base {
				t.Errorf("%s is no clone", c.base)
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", remote, got, want)
		}
	}
}

// TestPermalinks: a file has one if the remote is known to have its content, and gets it when that is pushed.
func TestPermalinks(t *testing.T) {
	l := newLibrary(t, map[string]string{"r/a.md": "text", "r/b.md": "changed here",
		"r/.git/config": "[remote \"origin\"]\n\turl = https://jo:secret@github.com/acme/docs.git\n"})
	files := map[string]string{"a.md": "text", "b.md": "as pushed"}
	push := func() string {
		head, err := os.ReadFile(l.path("r/.git/HEAD"))
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(l.path("r/.git/refs/remotes/origin/main")), 0o700))
		must(t, os.WriteFile(l.path("r/.git/refs/remotes/origin/main"), head, 0o600))
		return strings.TrimSpace(string(head))
	}
	gittest.Commit(t, l.path("r/.git"), files, "Ana <ana@acme.com>", time.Date(2021, 3, 4, 9, 0, 0, 0, time.UTC))
	l.add(Options{}, "r")
	if link := l.document("r/a.md").Permalink; link != "" {
		t.Errorf("before it is pushed: %s", link)
	}
	first := push()
	l.sync()
	if link := l.document("r/a.md").Permalink; link != "https://github.com/acme/docs/blob/"+first+"/a.md?plain=1#LFIRST-LLAST" {
		t.Errorf("pushed: %s", link)
	}
	if link := l.document("r/b.md").Permalink; link != "" {
		t.Errorf("a file that differs: %s", link)
	}
	files["b.md"] = "changed here"
	gittest.Commit(t, l.path("r/.git"), files, "Ana <ana@acme.com>", time.Date(2021, 3, 5, 9, 0, 0, 0, time.UTC))
	second := push()
	l.sync()
	if link := l.document("r/b.md").Permalink; !strings.Contains(link, second) {
		t.Errorf("pushed: %s", link)
	}
	if link := l.document("r/a.md").Permalink; !strings.Contains(link, first) {
		t.Errorf("a permalink that holds was made anew: %s", link)
	}
	l.counts(l.sync(), 0, 0, 0, 2)
	names, err := LoadNames(t.Context(), l.idx)
	must(t, err)
	ids := names.Permalinked("https://github.com/acme/docs/blob/main/b.md?plain=1#L1-L3")
	if !slices.Equal(ids, []string{fileID(l.folder+"/r/b.md") + ":1"}) {
		t.Errorf("the file is %q", ids)
	}
}

// TestPermalinksWithoutTheRepositoryItself: of a repository only a folder or a file was added, or a folder around it.
func TestPermalinksWithoutTheRepositoryItself(t *testing.T) {
	for _, added := range []string{"src/r/guide", "src/r/guide/a.md", "src"} {
		l := newLibrary(t, map[string]string{"src/r/guide/a.md": "text", "src/other/b.md": "text",
			"src/r/.git/config": "[remote \"origin\"]\n\turl = git@github.com:acme/docs.git\n"})
		gittest.Commit(t, l.path("src/r/.git"), map[string]string{"guide/a.md": "text"}, "Ana <ana@acme.com>",
			time.Date(2021, 3, 4, 9, 0, 0, 0, time.UTC))
		l.add(Options{}, added)
		for _, partly := range []string{"", "src/other"} {
			if partly != "" && added == "src" {
				l.result(Sync(t.Context(), l.idx, []string{l.path(partly)}, Local{}, l.record()))
			}
			names, err := LoadNames(t.Context(), l.idx)
			must(t, err)
			ids := names.Permalinked("https://github.com/acme/docs/blob/1f/guide/a.md?plain=1#L1-L3")
			if !slices.Equal(ids, []string{fileID(l.folder+"/src/r/guide/a.md") + ":1"}) {
				t.Errorf("%s: the file is %q", added, ids)
			}
		}
	}
}
