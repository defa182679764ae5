package ingest

import (
	"fmt"
	"testing"
	"time"

	"quarry/internal/testkit/gittest"
)

// TestRepository dates files by the commits that changed them.
func TestRepository(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"r/a.md": "text", "r/own.md": "---\nauthor: Cy\ndate: 2019-05-05\n---\ntext", "r/changed.md": "new text", "r/new.md": "never committed",
		"r/.git/config": "[remote \"origin\"]\n\turl = git@github.com:acme/docs.git\n",
	})
	first := time.Date(2021, 3, 4, 9, 0, 0, 0, time.UTC)
	files := map[string]string{"a.md": "old", "own.md": "---\nauthor: Cy\ndate: 2019-05-05\n---\ntext", "changed.md": "text"}
	gittest.Commit(t, l.path("r/.git"), files, "Ana Ortiz <ana@acme.com>", first)
	files["a.md"] = "text"
	gittest.Commit(t, l.path("r/.git"), files, "Bo <bo@acme.com>", first.AddDate(1, 0, 0))
	expect := func(name, want string) {
		t.Helper()
		doc := l.document(name)
		got := doc.UpdatedAt.Format(time.DateOnly)
		if doc.UpdatedAt.Equal(l.dated) {
			got = "file"
		}
		for _, author := range doc.Authors {
			got += " " + author.Name
		}
		if got = got + fmt.Sprint(doc.Metadata); got != want || doc.Source != "github" {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	l.counts(l.add(Options{}, "r"), 4, 0, 0, 0)
	expect("r/a.md", "2022-03-04 Bo Ana Ortiz[]")
	expect("r/own.md", "2019-05-05 Cy[]")
	expect("r/changed.md", "file[{dated_by [file time] false}]")
	expect("r/new.md", "file[{dated_by [file time] false}]")
	if created := l.document("r/a.md").CreatedAt; !created.Equal(first) {
		t.Errorf("created %v", created)
	}
	l.counts(l.sync(), 0, 0, 0, 4)

	// Another checkout of the same content changes nothing, a commit dates what it contains.
	l.dated = l.dated.Add(1e9)
	l.write("r/a.md", "text")
	l.counts(l.sync(), 0, 0, 0, 4)
	files["changed.md"] = "new text"
	gittest.Commit(t, l.path("r/.git"), files, "Cy <cy@acme.com>", first.AddDate(2, 0, 0))
	l.counts(l.sync(), 0, 1, 0, 3)
	expect("r/changed.md", "2023-03-04 Cy Ana Ortiz[]")
	l.counts(l.sync(), 0, 0, 0, 4)
}
