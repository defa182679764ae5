package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/index"
)

// post stores a document as the ingestion API does, for a connector if origin is one.
func (l *library) post(id, origin, text string) error {
	_, err := l.idx.Write(context.Background(), index.Batch{
		Upsert: []index.Document{{ID: id, Source: "slack", Title: id, Type: "page", Link: "https://x.example", Origin: origin,
			UpdatedAt: l.dated, Access: []string{"group:Legal"}, Chunks: []index.Chunk{{Text: text}}}},
		Owns: func(origin string) bool { return !isFileOrigin(origin) },
	})
	return err
}

func (l *library) rename(from, to string) error { return os.Rename(l.path(from), l.path(to)) }

func (l *library) wantText(id, text string) {
	l.t.Helper()
	doc, ok := l.idx.documents[id]
	if !ok || !strings.Contains(doc.Chunks[0].Text, text) {
		l.t.Errorf("%s holds %+v, want %+v", id, doc.Chunks, text)
	}
}

func (l *library) wantReason(name, reason string) {
	l.t.Helper()
	if got := l.events.skipped()[l.path(name)]; !strings.Contains(got, reason) {
		l.t.Errorf("%s is skipped because %q, want %q", name, got, reason)
	}
}

func TestLinesDoNotReplaceFilesOfOtherRoots(t *testing.T) {
	l := newLibrary(t, map[string]string{"mine/hand.md": "# Hand\n\nby hand", "theirs/z.md": "z"})
	hand := fileID(l.path("mine/hand.md"))
	l.write("theirs/x.jsonl", line("own", "fine")+line(hand, "forged"))
	l.add(Options{}, "mine")
	l.counts(l.add(Options{}, "theirs"), 2, 0, 0, 0)
	l.wantText(hand, "by hand")
	l.wantReason("theirs/x.jsonl", "line 2: document \""+hand+"\" belongs to "+l.path("mine"))
	l.counts(l.sync(), 0, 0, 0, 3)
	l.wantReason("theirs/x.jsonl", "line 2: ")
	l.counts(l.remove(wire.RemoveRequest{Refs: []string{l.path("theirs")}}), 0, 0, 2, 0)
	l.wantText(hand, "by hand")

	// The other way round: the lines were first.
	l.write("theirs/x.jsonl", line(hand, "forged"))
	l.remove(wire.RemoveRequest{Refs: []string{l.path("mine")}})
	l.add(Options{}, "theirs")
	if done := l.add(Options{}, "mine"); done.Added != 0 || done.Skipped != 1 {
		t.Errorf("added %+v", done)
	}
	l.wantReason("mine/hand.md", "its document belongs to "+l.path("theirs"))
	l.counts(l.sync(), 0, 0, 0, 2)
	l.wantReason("mine/hand.md", "its document belongs to "+l.path("theirs"))
	l.counts(l.remove(wire.RemoveRequest{Refs: []string{l.path("theirs/x.jsonl")}}), 1, 0, 1, 0)
	l.wantText(hand, "by hand")
	if done := l.sync(); done.Skipped != 0 {
		t.Errorf("skipped %v", l.events.skipped())
	}
}

// TestFailedRefill: documents that are read again for one that became free are not counted, also when that fails.
func TestFailedRefill(t *testing.T) {
	l := newLibrary(t, map[string]string{"mine/x.jsonl": line("a", "mine"), "theirs/x.jsonl": line("b", "b") + line("a", "theirs") + line("c", "c")})
	l.add(Options{}, "mine")
	l.add(Options{}, "theirs")
	full := errors.New("the disk is full")
	l.idx.beforeWrite = func(batch index.Batch) error {
		if len(batch.Upsert) > 0 && batch.Upsert[0].ID == "c" {
			return full
		}
		return nil
	}
	done, err := Remove(t.Context(), l.idx, wire.RemoveRequest{Refs: []string{l.path("mine")}}, Local{batch: 1}, nil)
	if l.counts(done, 1, 0, 1, 0); !errors.Is(err, full) {
		t.Errorf("it ended with %v", err)
	}
}

func TestFilesAndConnectorsKeepTheirDocuments(t *testing.T) {
	l := newLibrary(t, map[string]string{"docs/x.jsonl": line("c1", "file") + line("p1", "file") + line("f1", "file"), "docs/a.md": "a"})
	must(t, l.post("c1", "cc_pair:1", "connector"))
	must(t, l.post("p1", "", "posted"))
	must(t, l.post(fileID(l.path("docs/a.md")), "cc_pair:2", "posted"))
	before := l.idx.documents["c1"]
	if done := l.add(Options{Set: "S"}, "docs"); done.Added != 1 || done.Skipped != 1 {
		t.Errorf("added %+v", done)
	}
	l.wantReason("docs/a.md", "its document belongs to connector 2")
	l.wantReason("docs/x.jsonl", "line 2: document \"p1\" was stored through the ingestion API")
	if after := l.idx.documents["c1"]; after.Access[0] != before.Access[0] || len(after.Sets) > 0 || after.Origin != "cc_pair:1" {
		t.Errorf("the connector's document became %+v", after)
	}
	var owned *index.OwnedError
	if err := l.post("f1", "cc_pair:1", "posted"); !errors.As(err, &owned) || owned.Origins["f1"] != l.path("docs/x.jsonl") {
		t.Errorf("posted over a file's document: %v", err)
	}
	must(t, l.post("c1", "cc_pair:2", "again")) // among connectors the last one counts

	_, err := Remove(context.Background(), l.idx, wire.RemoveRequest{Refs: []string{"p1", "c1"}}, Local{}, nil)
	if !errors.Is(err, ErrOwned) || len(l.idx.documents) != 4 {
		t.Errorf("removed a connector's document: %v", err)
	}
	l.counts(l.remove(wire.RemoveRequest{Source: "slack"}), 0, 0, 2, 0)
	if reason := l.events.skipped()["connector 2"]; !strings.Contains(reason, "its 2 documents") {
		t.Errorf("reason %q of %v", reason, l.events.all)
	}
	l.wantText("c1", "again")

	// A connector that ends leaves its ids to files.
	_, err = l.idx.Write(context.Background(), index.Batch{Delete: []string{"c1", fileID(l.path("docs/a.md"))}, Cursors: RefillCursors()})
	must(t, err)
	l.counts(l.sync(), 2, 0, 0, 2)
	l.want("c1", "docs/a.md")
}

func TestFilesOfOneRootHoldTheSameDocument(t *testing.T) {
	l := newLibrary(t, map[string]string{"d/a.jsonl": line("x", "of a") + line("y", "of a"), "d/b.jsonl": line("x", "of b")})
	l.counts(l.add(Options{}, "d"), 2, 0, 0, 0)
	l.wantText("x", "of b")
	l.counts(l.sync(), 0, 0, 0, 3)
	must(t, l.rename("d/b.jsonl", "d/c.jsonl"))
	l.sync()
	l.wantText("x", "of b")
	must(t, l.rename("d/c.jsonl", "c.jsonl"))
	l.counts(l.sync(), 1, 0, 1, 2)
	l.wantText("x", "of a")

	must(t, l.rename("c.jsonl", "d/c.jsonl"))
	l.sync()
	l.wantText("x", "of b")
	l.counts(l.remove(wire.RemoveRequest{Refs: []string{"x"}}), 0, 0, 1, 0) // not even that of a
	l.counts(l.sync(), 0, 0, 0, 1)
	l.want("y")
	l.write("d/a.jsonl", line("x", "changed")+line("y", "changed"))
	l.counts(l.sync(), 0, 1, 0, 0) // it stays out
	l.counts(l.add(Options{}, "d/a.jsonl"), 1, 0, 0, 1)
	l.wantText("x", "changed")
	l.counts(l.remove(wire.RemoveRequest{Refs: []string{l.path("d/a.jsonl")}}), 1, 0, 2, 0)
	l.wantText("x", "of b")
	l.counts(l.add(Options{}, "d"), 1, 1, 0, 1)
	l.counts(l.sync(), 0, 0, 0, 3)
}

// TestIncludedFilesStay: a file that only a pattern includes has the document of another once that is gone, and is part of
// its root when it is added by itself.
func TestIncludedFilesStay(t *testing.T) {
	l := newLibrary(t, map[string]string{"d/.b.jsonl": line("x", "of b"), "d/a.jsonl": line("x", "of a"), "d/.env": "X=1"})
	l.add(Options{Include: []string{".*"}}, "d")
	l.wantText("x", "of a")
	l.remove(wire.RemoveRequest{Refs: []string{l.path("d/a.jsonl")}})
	l.wantText("x", "of b")
	l.add(Options{}, "d/.env")
	l.sync()
	if status, err := Status(t.Context(), l.idx); err != nil || len(status.Roots) != 1 || status.Roots[0].Documents != 2 {
		t.Errorf("%+v, %v", status.Roots, err)
	}
}

// TestARefillThatIsBrokenOffGoesOn breaks off between the removal of a document and reading the other file that has it.
func TestARefillThatIsBrokenOffGoesOn(t *testing.T) {
	l := newLibrary(t, map[string]string{"d/a.jsonl": line("x", "of a"), "d/b.jsonl": line("x", "of b")})
	l.add(Options{}, "d")
	must(t, l.rename("d/b.jsonl", "b.jsonl"))
	crash := errors.New("power cut")
	removed := false
	l.idx.beforeWrite = func(batch index.Batch) error {
		if removed {
			return crash
		}
		removed = len(batch.Delete) > 0
		return nil
	}
	if _, err := Sync(context.Background(), l.idx, nil, Local{}, nil); !errors.Is(err, crash) || len(l.idx.documents) > 0 {
		t.Fatalf("%v, %d documents", err, len(l.idx.documents))
	}
	l.idx.beforeWrite = nil
	l.counts(l.sync(), 1, 0, 0, 1)
	l.wantText("x", "of a")
}

func TestNestedRootsShareTheirDocuments(t *testing.T) {
	l := newLibrary(t, map[string]string{"a/in/x.jsonl": line("x", "inner"), "a/b/x.jsonl": line("x", "sibling")})
	l.add(Options{}, "a/in")
	l.add(Options{}, "a/b")
	l.wantText("x", "inner")
	l.wantReason("a/b/x.jsonl", "belongs to "+l.path("a/in"))
	l.add(Options{Set: "S"}, "a/in")
	l.add(Options{}, "a")
	if l.sync(); len(l.events.skipped()) > 0 {
		t.Errorf("skipped within one root: %v", l.events.skipped())
	}
	l.write("a/b/x.jsonl", line("x", "now the sibling's"))
	l.counts(l.sync(), 0, 1, 0, 1)
	l.wantText("x", "now the sibling's")
	l.remove(wire.RemoveRequest{Refs: []string{l.path("a/b")}})
	l.wantText("x", "inner")
}

func TestOwner(t *testing.T) {
	roots := map[string]rootState{"/a": {}, "/a/b": {}, "/a/b.md": {}, "C:/": {}, "D:/x": {}}
	for file, want := range map[string]string{
		"/a": "/a", "/a/b": "/a/b", "/a/b/c/d.md": "/a/b", "/a/bc": "/a", "/a/b.md": "/a/b.md", "/b": "", "C:/y/z": "C:/", "D:/y": "", "D:/x/y": "D:/x",
	} {
		if got := owner(roots, file); got != want {
			t.Errorf("%s is of %q, not %q", file, got, want)
		}
	}
	roots["/"] = rootState{}
	if got := owner(roots, "/b"); got != "/" {
		t.Errorf("/b is of %q", got)
	}
}

// TestOwnersOfManyRoots: each file may have been added alone, and the status looks up all of them.
func TestOwnersOfManyRoots(t *testing.T) {
	roots := map[string]rootState{}
	for i := range 40_000 {
		roots[fmt.Sprintf("/home/jo/notes/%d/note.md", i)] = rootState{File: true}
	}
	start := time.Now()
	for root := range roots {
		if owner(roots, root) != root {
			t.Fatal(root)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Fatalf("more than %v", took)
		}
	}
}
