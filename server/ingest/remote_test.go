package ingest

import (
	"bytes"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/filetest"
)

// pipe adds a document without a file.
func (l *library) pipe(options Options, title, content string) wire.LibraryEvent {
	l.t.Helper()
	return l.result(AddPiped(l.t.Context(), l.idx, Piped{Title: title, Content: []byte(content)}, options, l.record()))
}

func TestPipedDocuments(t *testing.T) {
	l := newLibrary(t, map[string]string{"a.md": "# A\n\ntext"})
	l.add(Options{}, "a.md")
	if done := l.pipe(Options{Set: "plans", As: "notion"}, "Q1/Q2 plan!", "# Draft\n\nwalrus"); done.Added != 1 {
		t.Fatalf("%+v", done)
	}
	const id = "stdin:Q1/Q2 plan%21"
	doc := l.idx.documents[id]
	if doc.Title != "Q1/Q2 plan!" || doc.Source != "notion" || doc.Sets[0] != "plans" || doc.Link != "" || doc.Type != "md" {
		t.Errorf("%+v", doc)
	}
	if done := l.pipe(Options{}, "Q1/Q2 plan!", "# Draft\n\nwalrus"); done.Unchanged != 1 || done.Updated != 0 {
		t.Errorf("again: %+v", done)
	}
	if done := l.pipe(Options{}, "Q1/Q2 plan!", "# Final\n\nwalrus"); done.Updated != 1 || l.idx.documents[id].Sets[0] != "plans" {
		t.Errorf("changed: %+v", done)
	}
	if done := l.pipe(Options{}, "Q1", "other"); done.Added != 1 { // no part of the other
		t.Errorf("%+v", done)
	}
	if done := l.sync(); done.Unchanged != 3 || done.Removed+done.Skipped != 0 {
		t.Errorf("sync: %+v", done)
	}
	status, err := Status(t.Context(), l.idx)
	must(t, err)
	if root := status.Roots[1]; len(status.Roots) != 3 || root.Path != "stdin:Q1" || root.Documents != 1 || root.Bytes != 5 {
		t.Errorf("roots %+v", status.Roots)
	}
	for _, ref := range []string{"stdin:Q1/Q2 plan!", "stdin:Q1"} {
		if done, err := Remove(t.Context(), l.idx, wire.RemoveRequest{Refs: []string{ref}}, Local{}, nil); err != nil || done.Removed != 1 {
			t.Errorf("remove %s: %+v, %v", ref, done, err)
		}
	}
	if status, _ = Status(t.Context(), l.idx); len(status.Roots) != 1 || len(l.idx.documents) != 1 {
		t.Errorf("left %+v", l.idx.documents)
	}
}

func TestPipedDocumentsThatAreRefused(t *testing.T) {
	l := newLibrary(t, nil)
	if done := l.pipe(Options{}, "Empty", " \n"); done.Skipped != 1 || l.events.skipped()["stdin:Empty"] != "it contains no text" ||
		len(l.idx.cursors) != 0 {
		t.Errorf("%+v %v %v", done, l.events.skipped(), l.idx.cursors)
	}
	for _, title := range []string{"", " x", "a\nb", strings.Repeat("x", longestName+1)} {
		if _, err := AddPiped(t.Context(), l.idx, Piped{Title: title, Content: []byte("x")}, Options{}, nil); err == nil {
			t.Errorf("title %q is accepted", title)
		}
	}
	if _, err := AddPiped(t.Context(), l.idx, Piped{Title: "x", Content: make([]byte, wire.MaxContent+1)}, Options{}, nil); err == nil {
		t.Error("too much is accepted")
	}
	must(t, l.post("stdin:Mine", "", "posted"))
	if done := l.pipe(Options{}, "Mine", "x"); done.Skipped != 1 || !strings.Contains(l.events.skipped()["stdin:Mine"], "ingestion API") {
		t.Errorf("%+v %v", done, l.events.skipped())
	}
}

// TestFormatsOfPipedDocuments names the format that content is recognised as, and a word that must be found in it.
func TestFormatsOfPipedDocuments(t *testing.T) {
	for _, c := range []struct{ title, content, kind, word string }{
		{"x", "# Walrus\n\ntext", "md", "text"}, {"x", "walrus", "md", "walrus"}, {"table.csv", "a,b\nwalrus,2\n", "csv", "walrus"},
		{"x", "<!doctype html><p>walrus</p>", "html", "walrus"}, {"x", "\n {\"walrus\": [1]}", "json", "walrus"},
		{"x", "{walrus", "md", "walrus"}, {"x", `{"nbformat":4,"cells":[{"cell_type":"markdown","source":["walrus"]}]}`, "ipynb", "walrus"},
		{"x", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Walrus\nEND:VEVENT\nEND:VCALENDAR\n", "ics", "Walrus"},
		{"x", "From: jo@acme.example\nSubject: Walrus\n\nwalrus", "eml", "walrus"}, {"x", "From: here on\n\nwalrus", "md", "walrus"},
		{"lines.jsonl", `{"id":"1","sections":[]}`, "json", "sections"},
	} {
		l := newLibrary(t, nil)
		l.pipe(Options{}, c.title, c.content)
		doc := l.idx.documents["stdin:"+c.title]
		if doc.Type != c.kind || len(doc.Chunks) == 0 || !strings.Contains(doc.Chunks[0].Text, c.word) {
			t.Errorf("%q %q is %q: %+v %v", c.title, c.content, doc.Type, doc.Chunks, l.events.skipped())
		}
	}
	for kind, content := range map[string][]byte{
		"docx": filetest.DOCX(filetest.Paragraph("", "walrus")), "epub": filetest.EPUB("<p>walrus</p>"),
	} {
		l := newLibrary(t, nil)
		l.pipe(Options{}, "x", string(content))
		if doc := l.idx.documents["stdin:x"]; doc.Type != kind || doc.Title != "x" {
			t.Errorf("%s: %+v %v", kind, doc, l.events.skipped())
		}
	}
}

// FuzzPiped adds any content: it is stored under its id and title, or skipped.
func FuzzPiped(f *testing.F) {
	for _, seed := range []string{"# Walrus\n\ntext", "<html><p>x", `{"nbformat":4,"cells":[]}`, "BEGIN:VCALENDAR\nBEGIN:VEVENT\n",
		"From: jo@acme.example\nSubject: x\n\nx", "PK\x03\x04", "\xff\xfe\x00", "[1,"} {
		f.Add("notes.csv", []byte(seed))
		f.Add("Plan", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, title string, content []byte) {
		if bytes.Contains(content, pdfStart) {
			t.Skip("read by a process of its own")
		}
		l := newLibrary(t, nil)
		done, err := AddPiped(t.Context(), l.idx, Piped{Title: title, Content: content}, Options{}, nil)
		if err != nil {
			return
		}
		if done.Added+done.Skipped != 1 || done.Added != len(l.idx.documents) {
			t.Fatalf("%+v, %v", done, l.idx.documents)
		}
		for id, doc := range l.idx.documents {
			if doc.Title != title || id != doc.ID || !strings.HasPrefix(id, "stdin:") {
				t.Errorf("%q is %+v", title, doc)
			}
		}
	})
}
