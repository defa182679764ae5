package ingest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// TestFolderUnderTwoPaths adds folders and files by several paths in every order: each document is stored once.
func TestFolderUnderTwoPaths(t *testing.T) {
	for _, paths := range [][]string{
		{"link", "real"}, {"real", "link"}, {"real/", "real/../real"}, {"real/sub", "link"}, {"link", "real/sub"}, {"link/sub", "real"}, {"real", "link/sub"},
		{"inside", "real/sub"}, {"real", "real/inner"}, {"real/inner", "real"}, {"real/sub", "real/inner"}, {"file.md", "real/plan.md"}, {"real/plan.md", "file.md"},
		{"file.md", "real"}, {"real", "file.md"}, {"link", "up"}, {"up", "link"}, {"real", "link", "inside", "file.md", "real/sub/b.md"},
	} {
		t.Run(strings.Join(paths, " "), func(t *testing.T) {
			l := newLibrary(t, map[string]string{"here/real/plan.md": "the plan", "here/real/sub/b.md": "beside"})
			for link, target := range map[string]string{"link": "real", "inside": "real/sub", "real/inner": "sub", "file.md": "real/plan.md", "up": "."} {
				must(t, os.Symlink(target, l.path("here/"+link)))
			}
			for _, path := range paths {
				l.result(Add(t.Context(), l.idx, []string{l.path("here") + "/" + path}, Options{}, l.record()))
			}
			for range 2 {
				var texts []string
				for _, doc := range l.idx.documents {
					texts = append(texts, doc.Chunks[0].Text)
				}
				slices.Sort(texts)
				if len(slices.Compact(slices.Clone(texts))) != len(texts) || len(texts) == 0 {
					t.Fatalf("stored %q", texts)
				}
				l.sync()
			}
			for _, path := range paths {
				if _, err := Sync(t.Context(), l.idx, []string{l.path("here") + "/" + path}, Local{}, l.record()); err != nil {
					t.Errorf("sync %s: %v", path, err)
				}
			}
			l.remove(wire.RemoveRequest{Refs: []string{l.path("here") + "/" + paths[len(paths)-1]}})
		})
	}
}

func TestSecondPathIsReported(t *testing.T) {
	l := newLibrary(t, map[string]string{"real/plan.md": "the plan"})
	must(t, os.Symlink("real", l.path("link")))
	l.add(Options{}, "link")
	l.counts(l.add(Options{}, "real"), 0, 0, 0, 1)
	first := l.events.all[0]
	if first.Type != wire.LibraryTaken || first.Path != l.path("real") || first.Kind != "another path of "+l.path("link") {
		t.Errorf("%+v", first)
	}
	l.want("link/plan.md")
	other := l.add(Options{Set: "plans"}, "real")
	l.counts(other, 0, 1, 0, 0)
	l.want("link/plan.md")
}

// TestHardLinksAreFilesOfTheirOwn: editors replace files, and then one of two hard links changes.
func TestHardLinksAreFilesOfTheirOwn(t *testing.T) {
	l := newLibrary(t, map[string]string{"a/one.md": "the plan"})
	if err := os.Link(l.path("a/one.md"), l.path("a/two.md")); err != nil {
		t.Skip(err)
	}
	l.add(Options{}, "a/one.md")
	l.add(Options{}, "a/two.md")
	l.want("a/one.md", "a/two.md")
}

func TestKnownPathOfWhatIsNotThere(t *testing.T) {
	folder := filepath.ToSlash(t.TempDir())
	roots := map[string]rootState{folder: {}, folder + "/gone": {}, "stdin:x!": {}}
	for _, path := range []string{folder + "/gone", folder + "/none/at/all", "/nowhere", "stdin:x!"} {
		if got := knownPath(roots, path); got != path {
			t.Errorf("%s: %s", path, got)
		}
	}
}
