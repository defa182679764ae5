package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/fault"
	"quarry/server/index"
)

// library is a folder of files and the index that they are added to.
type library struct {
	t      *testing.T
	folder string
	dated  time.Time // of files that are written
	idx    *memoryIndex
	events events
}

func newLibrary(t *testing.T, files map[string]string) *library {
	dated := time.Now().Add(-time.Hour).Truncate(time.Second)
	l := &library{t: t, folder: t.TempDir(), dated: dated, idx: newMemoryIndex(t)}
	for name, text := range files {
		l.write(name, text)
	}
	return l
}

func (l *library) path(name string) string { return filepath.Join(l.folder, name) }

// write stores a file with times of long ago, so that nothing depends on the tick of the clock.
func (l *library) write(name, text string) {
	l.t.Helper()
	must(l.t, os.MkdirAll(filepath.Dir(l.path(name)), 0o755))
	must(l.t, os.WriteFile(l.path(name), []byte(text), 0o644))
	must(l.t, os.Chtimes(l.path(name), l.dated, l.dated))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *library) add(options Options, names ...string) wire.LibraryEvent {
	l.t.Helper()
	var paths []string
	for _, name := range names {
		paths = append(paths, l.path(name))
	}
	return l.result(Add(context.Background(), l.idx, paths, options, l.record()))
}

func (l *library) sync() wire.LibraryEvent {
	l.t.Helper()
	return l.result(Sync(context.Background(), l.idx, nil, Local{}, l.record()))
}

func (l *library) remove(request wire.RemoveRequest) wire.LibraryEvent {
	l.t.Helper()
	return l.result(Remove(context.Background(), l.idx, request, Local{}, l.record()))
}

func (l *library) record() func(wire.LibraryEvent) {
	l.events = events{}
	return l.events.report
}

func (l *library) result(done wire.LibraryEvent, err error) wire.LibraryEvent {
	l.t.Helper()
	must(l.t, err)
	if last := l.events.all[len(l.events.all)-1]; last != done || done.Type != wire.LibraryDone {
		l.t.Errorf("the last event is %+v, the result %+v", last, done)
	}
	return done
}

func (l *library) want(names ...string) {
	l.t.Helper()
	slices.Sort(names)
	if got := l.idx.ids(l.folder); !slices.Equal(got, names) {
		l.t.Errorf("stored %q, want %q", got, names)
	}
}

func (l *library) counts(got wire.LibraryEvent, added, updated, removed, unchanged int) {
	l.t.Helper()
	if got.Added != added || got.Updated != updated || got.Removed != removed || got.Unchanged != unchanged {
		l.t.Errorf("added %d, updated %d, removed %d, unchanged %d; want %d, %d, %d, %d",
			got.Added, got.Updated, got.Removed, got.Unchanged, added, updated, removed, unchanged)
	}
}

func (l *library) document(name string) index.Document {
	l.t.Helper()
	doc, ok := l.idx.documents[fileID(l.folder+"/"+name)]
	if !ok {
		l.t.Fatalf("%s is not stored", name)
	}
	return doc
}

func line(id, text string) string {
	return fmt.Sprintf(`{"document":{"id":%q,"source":"slack","semantic_identifier":"T %s","sections":[{"text":%q}],"metadata":{}}}`+
		"\n", id, id, text)
}

func TestAddAndSyncFollowTheFiles(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"docs/a.md": "# A\n\ntext", "docs/sub/b.txt": "plain", "docs/c.html": "<h1>C</h1><p>page</p>", "docs/d.xyz": "x",
		"docs/threads.jsonl": line("s1", "one") + line("s2", "two"),
	})
	l.counts(l.add(Options{}, "docs"), 5, 0, 0, 0)
	l.want("docs/a.md", "docs/sub/b.txt", "docs/c.html", "s1", "s2")
	if reason := l.events.skipped()[l.path("docs/d.xyz")]; reason != "quarry does not read .xyz files" {
		t.Errorf("reason %q", reason)
	}
	l.counts(l.sync(), 0, 0, 0, 5)
	l.counts(l.add(Options{}, "docs"), 0, 0, 0, 5)

	l.write("docs/a.md", "# A\n\nother text")
	l.write("docs/threads.jsonl", line("s2", "two")+line("s3", "three"))
	must(t, os.Remove(l.path("docs/sub/b.txt")))
	l.write("docs/new.md", "new")
	l.counts(l.sync(), 2, 1, 2, 2) // s2 and the page are the same
	l.want("docs/a.md", "docs/c.html", "docs/new.md", "s2", "s3")

}

func TestDatesFollowTheFiles(t *testing.T) {
	const own = "2021-03-04T00:00:00Z"
	dated := strings.Replace(line("s2", "two"), `"sections"`, `"doc_updated_at":"`+own+`","sections"`, 1)
	l := newLibrary(t, map[string]string{
		"docs/a.md": "# A\n\ntext", "docs/own.md": "---\ndate: 2021-03-04\n---\ntext", "docs/empty.md": " ",
		"docs/own.jsonl": dated, "docs/t.jsonl": line("s1", "one") + strings.ReplaceAll(dated, "s2", "s3"),
	})
	l.add(Options{}, "docs")
	for _, touched := range []time.Time{
		time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2022, 1, 1, 0, 0, 0, 5, time.UTC),
	} {
		for _, name := range []string{"a.md", "own.md", "empty.md", "own.jsonl", "t.jsonl"} {
			must(t, os.Chtimes(l.path("docs/"+name), touched, touched))
		}
		l.idx.batches = nil
		l.counts(l.sync(), 0, 2, 0, 3)
		for id, want := range map[string]string{
			fileID(l.path("docs/a.md")): touched.Format(time.RFC3339Nano), fileID(l.path("docs/own.md")): own,
			"s1": touched.Format(time.RFC3339Nano), "s2": own, "s3": own,
		} {
			if got := l.idx.documents[id].UpdatedAt.Format(time.RFC3339Nano); got != want {
				t.Errorf("%s is dated %s, want %s", id, got, want)
			}
		}
		for _, batch := range l.idx.batches {
			for _, doc := range batch.Upsert {
				if doc.ID == "s2" || doc.ID == fileID(l.path("docs/own.md")) {
					t.Errorf("%s was written again, though its file tells its date", doc.ID)
				}
			}
		}
		l.counts(l.sync(), 0, 0, 0, 5)
	}
}

// TestStateOfEarlierLibraries reads bookkeeping in the form that earlier versions wrote.
func TestStateOfEarlierLibraries(t *testing.T) {
	l := newLibrary(t, map[string]string{"docs/a.md": "# A\n\ntext", "docs/b.md": "b"})
	l.add(Options{}, "docs")
	l.remove(wire.RemoveRequest{Refs: []string{l.path("docs/b.md")}})
	for key, value := range l.idx.cursors {
		if strings.HasPrefix(key, filePrefix) {
			s := decodeFile(value)
			l.idx.cursors[key] = strings.Join([]string{"1", s.Print, s.Config, s.Hash, strconv.Itoa(s.Documents), s.Flag, s.Reason}, "\t")
		}
	}
	l.counts(l.sync(), 0, 0, 0, 1)
	l.want("docs/a.md")
	whole := fileState{Print: "p", Config: "c", Hash: "h", Documents: 3, Flag: "f", OwnDates: true, Foreign: 2, Encoding: "koi8-r",
		Lines: badLines{Count: 5, Reasons: []string{"line 1: x", "line 2: y"}}}
	if got := decodeFile("1\tp\tc\th\t3\tf\t\town foreign=2 encoding=koi8-r\t5\tline 1: x\tline 2: y"); !reflect.DeepEqual(got, whole) {
		t.Errorf("read %+v, want %+v", got, whole)
	}
}

func TestDocumentOfAFile(t *testing.T) {
	l := newLibrary(t, map[string]string{"handbook/eng/teams/on call.md": "---\ntags: [x, y]\n---\ntext"})
	l.add(Options{As: "notion", Set: "Handbook"}, "handbook")
	doc := l.document("handbook/eng/teams/on call.md")
	if doc.Source != "notion" || !slices.Equal(doc.Sets, []string{"Handbook"}) || doc.Title != "On call" || doc.Type != "md" ||
		!slices.Equal(doc.Path, []string{"eng", "teams"}) || !slices.Equal(doc.Access, []string{"PUBLIC"}) ||
		!strings.HasPrefix(doc.Link, "file:///") || !strings.HasSuffix(doc.Link, "/eng/teams/on%20call.md") ||
		doc.Origin != l.path("handbook/eng/teams/on call.md") || doc.UpdatedAt.IsZero() || doc.Metadata[0].Key != "tags" {
		t.Errorf("%+v", doc)
	}
}

func TestSettings(t *testing.T) {
	l := newLibrary(t, map[string]string{"docs/a.md": "a", "docs/sub/b.md": "b"})
	l.add(Options{}, "docs")
	l.counts(l.add(Options{Set: "S"}, "docs"), 0, 2, 0, 0)
	l.counts(l.add(Options{}, "docs"), 0, 0, 0, 2) // what is not given stays
	l.counts(l.add(Options{As: "confluence"}, "docs/sub"), 0, 1, 0, 0)
	if doc := l.document("docs/sub/b.md"); doc.Source != "confluence" || doc.Sets[0] != "S" {
		t.Errorf("inner root: %s %q", doc.Source, doc.Sets)
	}
	l.counts(l.sync(), 0, 0, 0, 2) // the outer root leaves the inner one alone
	status, err := Status(context.Background(), l.idx)
	roots := status.Roots
	must(t, err)
	if len(roots) != 2 || roots[0].Documents != 1 || roots[1].Documents != 1 || roots[1].Source != "confluence" ||
		roots[0].Source != "file" || roots[0].Set != "S" || roots[0].SyncedAt == "" {
		t.Errorf("roots %+v", roots)
	}
	_, err = Add(context.Background(), l.idx, []string{l.folder}, Options{As: "conflunce"}, nil)
	if err == nil || !strings.Contains(err.Error(), `"confluence"`) {
		t.Errorf("error %v", err)
	}
	for _, bad := range []Options{{As: "craft_file"}, {As: "ingestion_api"}, {Set: "a\nb"}, {Set: " a"}} {
		if _, err := Add(context.Background(), l.idx, []string{l.folder}, bad, nil); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	if _, err = Add(context.Background(), l.idx, []string{l.path("docs"), l.path("nowhere")}, Options{}, nil); err == nil {
		t.Error("a path that does not exist was taken")
	}
}

func TestNestedRoots(t *testing.T) {
	files := map[string]string{"a/x.md": "x", "a/b/y.md": "y", "a/.hidden/z.md": "z"}
	rootsOf := func(l *library) []string {
		status, err := Status(context.Background(), l.idx)
		roots := status.Roots
		must(t, err)
		var names []string
		for _, r := range roots {
			names = append(names, strings.TrimPrefix(r.Path, l.folder+"/"))
		}
		return names
	}
	t.Run("a part of a root is read as such", func(t *testing.T) {
		l := newLibrary(t, files)
		l.add(Options{}, "a")
		l.write("a/x.md", "changed")
		l.write("a/b/new.md", "new")
		l.counts(l.add(Options{}, "a/b"), 1, 0, 0, 1)
		l.counts(l.add(Options{}, "a/x.md"), 0, 1, 0, 0)
		l.counts(l.add(Options{}, "a/.hidden"), 1, 0, 0, 0) // named directly
		l.want("a/x.md", "a/b/y.md", "a/b/new.md", "a/.hidden/z.md")
		if got := rootsOf(l); !slices.Equal(got, []string{"a", "a/.hidden"}) {
			t.Errorf("roots %q", got)
		}
		l.counts(l.sync(), 0, 0, 0, 4)
	})
	t.Run("a folder takes over plain roots", func(t *testing.T) {
		l := newLibrary(t, files)
		l.add(Options{}, "a/b", "a/x.md")
		l.counts(l.add(Options{Set: "S"}, "a"), 0, 2, 0, 0)
		if got := rootsOf(l); !slices.Equal(got, []string{"a"}) {
			t.Errorf("roots %q", got)
		}
		l.counts(l.add(Options{Set: "S"}, "a", "a/b", "a"), 0, 0, 0, 2)
	})
	t.Run("in one go", func(t *testing.T) {
		l := newLibrary(t, files)
		l.counts(l.add(Options{}, "a/b", "a", "a/x.md"), 2, 0, 0, 0)
		if got := rootsOf(l); !slices.Equal(got, []string{"a"}) {
			t.Errorf("roots %q", got)
		}
	})
	t.Run("but none with options", func(t *testing.T) {
		l := newLibrary(t, files)
		l.add(Options{As: "notion"}, "a/b")
		l.counts(l.add(Options{}, "a"), 1, 0, 0, 0)
		if got := rootsOf(l); !slices.Equal(got, []string{"a", "a/b"}) {
			t.Errorf("roots %q", got)
		}
	})
}

func TestVanishedRootsKeepTheirDocuments(t *testing.T) {
	l := newLibrary(t, map[string]string{"disk/a.md": "a", "single.md": "s", "other/b.md": "b"})
	l.add(Options{}, "disk", "single.md", "other")
	must(t, os.Rename(l.path("disk"), l.path("away")))
	must(t, os.Remove(l.path("single.md")))
	l.counts(l.sync(), 0, 0, 1, 1)
	l.want("disk/a.md", "other/b.md")
	if reasons := l.events.skipped(); !strings.Contains(reasons[l.path("disk")], "kept") ||
		!strings.Contains(reasons[l.path("single.md")], "removed") {
		t.Errorf("reasons %q", reasons)
	}
	must(t, os.Rename(l.path("away"), l.path("disk")))
	l.write("single.md", "back")
	l.counts(l.sync(), 1, 0, 0, 2)
	must(t, os.RemoveAll(l.path("disk")))
	l.counts(l.remove(wire.RemoveRequest{Refs: []string{l.path("disk")}}), 0, 0, 1, 0)
	l.want("single.md", "other/b.md")
}

func TestRemove(t *testing.T) {
	setup := func(t *testing.T) *library {
		l := newLibrary(t, map[string]string{"docs/a.md": "a", "docs/b.md": "b", "docs/sub/c.md": "c", "t.jsonl": line("s1", "1") + line("s2", "2")})
		l.add(Options{Set: "S"}, "docs")
		l.add(Options{}, "t.jsonl")
		return l
	}
	t.Run("folder root", func(t *testing.T) {
		l := setup(t)
		l.counts(l.remove(wire.RemoveRequest{Refs: []string{l.path("docs")}}), 0, 0, 3, 0)
		l.counts(l.sync(), 0, 0, 0, 2)
		for key := range l.idx.cursors {
			if strings.Contains(key, "docs") {
				t.Errorf("%s is left", key)
			}
		}
		l.counts(l.add(Options{}, "docs"), 3, 0, 0, 0)
	})
	t.Run("what is removed below a root stays out", func(t *testing.T) {
		l := setup(t)
		l.remove(wire.RemoveRequest{Refs: []string{l.path("docs/a.md"), fileID(l.path("docs/sub/c.md"))}})
		l.write("docs/a.md", "changed")
		l.counts(l.sync(), 0, 0, 0, 3)
		l.want("docs/b.md", "s1", "s2")
		l.counts(l.add(Options{}, "docs/a.md"), 1, 0, 0, 0)
		l.counts(l.sync(), 0, 0, 0, 4)
		l.counts(l.add(Options{}, "docs"), 1, 0, 0, 2)
	})
	t.Run("a document of many", func(t *testing.T) {
		l := setup(t)
		l.counts(l.remove(wire.RemoveRequest{Refs: []string{"s1"}}), 0, 0, 1, 0)
		l.counts(l.sync(), 0, 0, 0, 4)
		l.counts(l.add(Options{}, "t.jsonl"), 1, 0, 0, 1)
	})
	t.Run("source and set", func(t *testing.T) {
		l := setup(t)
		l.counts(l.remove(wire.RemoveRequest{Source: "slack"}), 0, 0, 2, 0)
		l.counts(l.remove(wire.RemoveRequest{Set: "S"}), 0, 0, 3, 0)
		l.counts(l.sync(), 0, 0, 0, 0)
	})
	t.Run("unknown", func(t *testing.T) {
		l := setup(t)
		for request, near := range map[*wire.RemoveRequest]string{
			{Refs: []string{l.path("doc")}}:                          l.path("docs"),
			{Refs: []string{fileID(l.path("docs/d.md")), "s1"}}:      fileID(l.path("docs/a.md")),
			{Source: "slac"}:                                         "slack",
			{Set: "s"}:                                               "S",
			{Source: "slack", Set: "S"}:                              `set "S"`,
			{Refs: []string{"s1", filepath.Join(l.folder, "docs9")}}: l.path("docs"),
		} {
			_, err := Remove(context.Background(), l.idx, *request, Local{}, nil)
			if !errors.Is(err, fault.ErrNotFound) || !strings.Contains(err.Error(), near) {
				t.Errorf("%+v: %v, want %s", *request, err, near)
			}
		}
		if len(l.idx.documents) != 5 {
			t.Error("something was removed")
		}
		if _, err := Remove(context.Background(), l.idx, wire.RemoveRequest{}, Local{}, nil); err == nil {
			t.Error("an empty request was taken")
		}
	})
}

func TestSyncOfPaths(t *testing.T) {
	l := newLibrary(t, map[string]string{"a/x.md": "x", "a/b/y.md": "y", "c/z.md": "z"})
	l.add(Options{}, "a", "c")
	l.write("a/x.md", "x2")
	l.write("a/b/y.md", "y2")
	syncPath := func(name string) wire.LibraryEvent {
		return l.result(Sync(context.Background(), l.idx, []string{l.path(name)}, Local{}, l.record()))
	}
	l.counts(syncPath("a/b"), 0, 1, 0, 0)
	must(t, os.RemoveAll(l.path("a/b")))
	l.counts(syncPath("a/b/y.md"), 0, 0, 1, 0)
	l.counts(syncPath("."), 0, 1, 0, 1)
	_, err := Sync(context.Background(), l.idx, []string{l.path("x")}, Local{}, nil)
	if !errors.Is(err, ErrNotAdded) || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("error %v", err)
	}
}

// TestProgressWithinAFile watches one file that takes many batches.
func TestProgressWithinAFile(t *testing.T) {
	var text strings.Builder
	const documents = 5 * batchDocuments
	for i := range documents {
		text.WriteString(line(fmt.Sprintf("doc-%05d", i), "text"))
	}
	l := newLibrary(t, map[string]string{"d/big.jsonl": text.String()})
	last, within := wire.LibraryEvent{}, 0
	perByte := float64(documents) / float64(text.Len())
	_, err := Add(context.Background(), l.idx, []string{l.path("d")}, Options{}, func(e wire.LibraryEvent) {
		if e.Type != wire.LibraryProgress {
			return
		}
		if e.Bytes < last.Bytes || e.Done < last.Done || e.Path != l.path("d/big.jsonl") || e.Total != 1 ||
			e.TotalBytes != int64(text.Len()) {
			t.Errorf("progress %+v after %+v", e, last)
		}
		if e.Done == 0 && e.Bytes > last.Bytes {
			within++
		}
		if stored := len(l.idx.documents); float64(stored) < float64(e.Bytes)*perByte-1 {
			t.Errorf("%d bytes are told, %d documents stored", e.Bytes, stored)
		}
		last = e
	})
	must(t, err)
	if within < documents/batchDocuments-1 || last.Done != 1 || last.Stored != 1 || last.Bytes != int64(text.Len()) {
		t.Errorf("%d times within the file, at last %+v", within, last)
	}
	l.write("d/bad.jsonl", strings.Repeat("nonsense\n", 1000))
	l.add(Options{}, "d")
	for _, e := range l.events.all {
		if e.Type == wire.LibraryProgress {
			last = e
		}
	}
	if last.Done != 2 || last.Stored != 1 || last.Bytes != 9_000 { // nothing of the large file had to be read
		t.Errorf("at last %+v", last)
	}
}

func TestDocumentsThatMoveBetweenFiles(t *testing.T) {
	for _, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
		from, to := "d/"+order[0]+".jsonl", "d/"+order[1]+".jsonl"
		l := newLibrary(t, map[string]string{from: line("x", "1") + line("y", "1"), to: line("z", "1")})
		l.add(Options{}, "d")
		l.write(from, line("y", "1"))
		l.write(to, line("z", "1")+line("x", "1"))
		l.sync()
		l.want("x", "y", "z")
		l.write(to, line("z", "1")+line("z", "2")+line("x", "1")+line("z", "1"))
		l.sync()
		l.want("x", "y", "z")
	}
}

func TestErrorsOfTheIndexAreTold(t *testing.T) {
	l := newLibrary(t, map[string]string{"a.md": "a"})
	l.idx.beforeWrite = func(index.Batch) error { return fault.ErrBusy }
	if _, err := Add(context.Background(), l.idx, []string{l.path("a.md")}, Options{}, nil); !errors.Is(err, fault.ErrBusy) {
		t.Errorf("error %v", err)
	}
}

// TestStatusOfRoots counts what is stored and skipped of each root, and says why one was not synced.
func TestStatusOfRoots(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"a/x.md": "some text", "a/y.jsonl": line("s1", "one") + line("s2", "two") + "{}\n", "a/empty.md": " ", "a/empty.txt": "", "a/p.xyz": "x",
		"b/z.md": "more",
	})
	l.add(Options{}, "a", "b")
	roots := func() []wire.LibraryRoot {
		t.Helper()
		status, err := Status(context.Background(), l.idx)
		must(t, err)
		for i := range status.Roots {
			status.Roots[i].SyncedAt = ""
		}
		return status.Roots
	}
	const badLine = "line 3: not an ingestion document: it has no sections"
	a := wire.LibraryRoot{Name: "a", Path: l.path("a"), Source: "file", Documents: 3, Files: 2, Skipped: 4, Reasons: []wire.SkippedReason{
		{Reason: "it contains no text", Files: 2}, {Reason: badLine, Files: 1}, {Reason: "quarry does not read .xyz files", Files: 1}}}
	for _, name := range []string{"a/x.md", "a/y.jsonl"} {
		info, err := os.Stat(l.path(name))
		must(t, err)
		a.Bytes += info.Size()
	}
	b := wire.LibraryRoot{Name: "b", Path: l.path("b"), Source: "file", Documents: 1, Files: 1, Bytes: 4, Reasons: []wire.SkippedReason{}}
	if got := roots(); !reflect.DeepEqual(got, []wire.LibraryRoot{a, b}) {
		t.Errorf("roots %+v, want %+v", got, []wire.LibraryRoot{a, b})
	}
	must(t, os.Rename(l.path("b"), l.path("c")))
	l.sync()
	if got := roots()[1]; !strings.HasPrefix(got.Problem, "it no longer exists") || got.Documents != 1 {
		t.Errorf("a missing root is %+v", got)
	}
	must(t, os.Rename(l.path("c"), l.path("b")))
	l.sync()
	if got := roots()[1]; got.Problem != "" {
		t.Errorf("the problem stays: %+v", got)
	}
}
