package ingest

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"quarry/internal/testkit/gittest"
)

// TestRenamedFiles compares what a renamed file becomes with what reading it gives. A mark in the stored text shows whether
// it was read.
func TestRenamedFiles(t *testing.T) {
	const titled, plain = "# Plan\n\ntext\n\n## Next\n\nmore [a](b.md)", "just text"
	for _, test := range []struct {
		name, from, to, text string
		kept                 bool
		change               func(l *library)
	}{
		{"renamed", "a.md", "b.md", titled, true, nil},
		{"moved", "a.md", "sub/deep/a.md", titled, true, nil},
		{"moved, titled by its name", "a.md", "sub/a.md", plain, true, nil},
		{"renamed, titled by its name", "a.md", "b.md", plain, false, nil},
		{"another extension", "a.md", "a.txt", titled, false, nil},
		{"another content", "a.md", "b.md", titled, false, func(l *library) { l.write("d/b.md", titled+".") }},
		{"another time", "a.md", "b.md", titled, false, func(l *library) {
			must(l.t, os.Chtimes(l.path("d/b.md"), time.Unix(9e8, 0), time.Unix(9e8, 0)))
		}},
		{"another time, dated by itself", "a.md", "b.md", "---\ndate: 2020-02-02\n---\n" + titled, true, func(l *library) {
			must(l.t, os.Chtimes(l.path("d/b.md"), time.Unix(9e8, 0), time.Unix(9e8, 0)))
		}},
		{"in a repository", "a.md", "b.md", titled, false, func(l *library) {
			gittest.Commit(l.t, l.path("d/.git"), map[string]string{"b.md": titled}, "Ana <ana@acme.com>", time.Unix(1e9, 0))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLibrary(t, map[string]string{"d/" + test.from: test.text, "d/other.md": "other"})
			l.add(Options{Set: "s"}, "d")
			old := l.document("d/" + test.from)
			old.Chunks = slices.Clone(old.Chunks)
			old.Chunks[0].Text += " mark"
			l.idx.documents[old.ID] = old
			must(t, os.MkdirAll(filepath.Dir(l.path("d/"+test.to)), 0o755))
			must(t, l.rename("d/"+test.from, "d/"+test.to))
			if test.change != nil {
				test.change(l)
			}
			l.counts(l.sync(), 1, 0, 1, 1)
			got := l.document("d/" + test.to)
			fresh := newMemoryIndex(t)
			_, err := Add(context.Background(), fresh, []string{l.path("d")}, Options{Set: "s"}, nil)
			must(t, err)
			want := fresh.documents[got.ID]
			if test.kept {
				want.Chunks = slices.Clone(want.Chunks)
				want.Chunks[0].Text += " mark"
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if a, b := l.idx.cursors[filePrefix+got.Origin], fresh.cursors[filePrefix+got.Origin]; a != b {
				t.Errorf("state %s, want %s", a, b)
			}
			l.counts(l.sync(), 0, 0, 0, 2)
		})
	}
}
