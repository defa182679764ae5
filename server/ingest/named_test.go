package ingest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quarry/client/wire"
)

func TestNamedFileThatGivesNothingIsNoRoot(t *testing.T) {
	l := newLibrary(t, map[string]string{"logo.svg": "<svg/>", "empty.md": "", "good.md": "# Good\n\nText.\n"})
	for _, name := range []string{"logo.svg", "empty.md"} {
		if done := l.add(Options{}, name); done.Skipped != 1 || done.Added != 0 {
			t.Errorf("%s: %+v", name, done)
		}
	}
	if len(l.idx.cursors) != 0 {
		t.Errorf("remembered: %v", l.idx.cursors)
	}
	l.add(Options{}, "good.md")
	l.write("good.md", "")
	if done := l.add(Options{}, "good.md"); done.Removed != 1 {
		t.Errorf("emptied: %+v", done)
	}
	status, err := Status(context.Background(), l.idx)
	roots := status.Roots
	if err != nil || len(roots) != 1 || roots[0].Path != filepath.ToSlash(l.path("good.md")) {
		t.Errorf("a root that was known is forgotten: %v, %v", roots, err)
	}
}

func TestProgressCountsWhatIsStored(t *testing.T) {
	l := newLibrary(t, map[string]string{"n/a.md": "# A\n\nText.\n", "n/b.svg": "<svg/>", "n/c.md": "", "n/d.md": "# D\n\nText.\n"})
	last := func(run func()) (progress wire.LibraryEvent) {
		l.events.all = nil
		run()
		for _, event := range l.events.all {
			if event.Type == wire.LibraryProgress {
				progress = event
			}
		}
		return progress
	}
	for range 2 { // the second time nothing is written
		if p := last(func() { l.add(Options{}, "n") }); p.Done != 4 || p.Stored != 2 {
			t.Errorf("progress %+v", p)
		}
	}
	removed := last(func() {
		l.result(Remove(context.Background(), l.idx, wire.RemoveRequest{Refs: []string{l.path("n")}}, Local{}, l.events.report))
	})
	if removed.Done != removed.Total || removed.Total == 0 {
		t.Errorf("progress of remove %+v", removed)
	}
}

// TestStatusAgreesWithAdd counts in the status what add and sync report as skipped, also what is never opened.
func TestStatusAgreesWithAdd(t *testing.T) {
	l := newLibrary(t, map[string]string{"n/a.md": "# A\n\nText.\n", "n/b.doc": "x", "n/in/c.DOC": "x", "n/d.msg": "x", "n/empty.txt": ""})
	must(t, os.Symlink(l.path("elsewhere"), l.path("n/link.md")))
	check := func(done wire.LibraryEvent, types ...wire.SkippedType) {
		t.Helper()
		status, err := Status(t.Context(), l.idx)
		must(t, err)
		total := status.SkippedFiles
		for _, kind := range status.SkippedTypes {
			total += kind.Files
		}
		if !slices.Equal(status.SkippedTypes, types) || total != done.Skipped || len(status.Skipped) != 2 || status.Skipped[1].Path != l.path("n/link.md") {
			t.Errorf("%+v, while %d are skipped", status, done.Skipped)
		}
	}
	doc, msg := wire.SkippedType{Type: ".doc", Files: 2}, wire.SkippedType{Type: ".msg", Files: 1}
	check(l.add(Options{}, "n"), doc, msg)
	check(l.sync(), doc, msg)
	must(t, os.Remove(l.path("n/d.msg")))
	check(l.sync(), doc)
}

func TestTypesAreBounded(t *testing.T) {
	var u unopened
	for i := range 3 * mostTypes {
		u.add(foundFile{reason: wire.ReasonNotRead(fmt.Sprintf(".%d", i))})
		u.add(foundFile{reason: "it is too large"})
	}
	if len(u.Types) != mostTypes+1 || u.Types["other"] != 2*mostTypes || len(u.Files) != wire.MaxStatusFiles || u.Count != 3*mostTypes {
		t.Errorf("%+v", u)
	}
}
