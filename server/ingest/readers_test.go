package ingest

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/filetest"
	"quarry/server/index"
	"quarry/server/ingest/pdf"
	"quarry/server/ingest/worker"
)

// brokenEngine is a PDF engine that has a file of four pages, and never gets to the third.
type brokenEngine struct{ isStarted bool }

func (e *brokenEngine) Start(context.Context) error { e.isStarted = true; return nil }
func (e *brokenEngine) IsStarted() bool             { return e.isStarted }
func (e *brokenEngine) Read(_ []byte, send func(pdf.Message) error) error {
	for _, m := range []pdf.Message{{Title: "Long", Pages: 4}, {Text: "The first page."}, {Text: "The second page."}} {
		if err := send(m); err != nil {
			return err
		}
	}
	select {}
}

// TestReadersReadAsThisProcess: the documents of all kinds of files and exports are the same, wherever they are read.
func TestReadersReadAsThisProcess(t *testing.T) {
	t.Parallel()
	files := map[string]string{"d/mail.mbox": mboxOf(smallMailbox()...), "d/broken.docx": "PK\x03\x04\x14\x00", "d/page.html": "<h1>Wombats</h1><p>They dig.</p>"}
	samples := filetest.Samples()
	delete(samples, "pdf") // only read by Readers
	for extension, content := range samples {
		files["d/sample."+extension] = string(content)
	}
	for folder, export := range map[string]map[string]string{"confluence": confluenceSpace("https://acme.example"), "entities": entities(), "notion": notionHTML()} {
		for name, content := range export {
			files[folder+"/"+name] = content
		}
	}
	l := newLibrary(t, files)
	roots := []string{"d", "confluence", "entities", "notion"}
	l.add(Options{}, roots...)
	here, skipped := l.idx.documents, l.events.skipped()
	l.idx = newMemoryIndex(t)
	l.add(Options{Local: Local{Readers: newTestReaders(t)}}, roots...)
	if there, want := slices.Sorted(maps.Keys(l.idx.documents)), slices.Sorted(maps.Keys(here)); !slices.Equal(there, want) || len(want) < 20 {
		t.Fatalf("%d documents\n%q\n%q", len(want), there, want)
	}
	for id, doc := range l.idx.documents {
		got, err := json.Marshal(doc)
		must(t, err)
		want, err := json.Marshal(here[id])
		must(t, err)
		if normal := strings.NewReplacer("null", "[]"); normal.Replace(string(got)) != normal.Replace(string(want)) {
			t.Errorf("%s\n%s\n%s", id, got, want)
		}
	}
	if there := l.events.skipped(); !maps.Equal(there, skipped) {
		t.Errorf("skipped %q, want %q", there, skipped)
	}
}

// TestPagesBeforeTheLimitStay: of a PDF file that takes too long, the pages that were read are stored, and the others are
// named, again when the file is unchanged.
func TestPagesBeforeTheLimitStay(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	must(t, err)
	readers := NewReaders(worker.Program{Path: program, Arguments: []string{asReader, brokenEngineName}}, time.Second)
	t.Cleanup(readers.Close)
	l := newLibrary(t, map[string]string{"d/long.pdf": "%PDF-1.7", "d/next.html": "<p>next</p>"})
	for range 2 {
		done := l.add(Options{Local: Local{Readers: readers}}, "d")
		l.want("d/long.pdf", "d/next.html")
		at := slices.IndexFunc(l.events.all, func(e wire.LibraryEvent) bool { return e.Type == wire.LibraryLeftOut })
		if at < 0 || l.events.all[at].Reason != "pages 3 to 4: reading it takes longer than 1s" || done.LeftOut.Parts != 1 {
			t.Fatalf("%+v", l.events.all)
		}
	}
	if doc := l.document("d/long.pdf"); doc.Title != "Long" || !strings.Contains(textOf(&doc), "second page") {
		t.Errorf("%+v", doc)
	}
	status, err := Status(t.Context(), l.idx)
	if err != nil || status.LeftOut.Parts != 1 {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestBadDocumentCostsOnlyItself: reading goes on after a document that the process does not survive.
func TestBadDocumentCostsOnlyItself(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, map[string]string{"d/1.html": "<p>one</p>", "d/3.html": "<p>three</p>"})
	l.write("d/2.xlsx", string(filetest.Bomb("xl/worksheets/sheet1.xml", "<worksheet>", "<row><c t=\"inlineStr\"><is><t>x</t></is></c></row>", 200<<20)))
	l.add(Options{Local: Local{Readers: newTestReaders(t)}}, "d")
	l.want("d/1.html", "d/3.html")
	if reason := l.events.skipped()[l.path("d/2.xlsx")]; reason == "" {
		t.Error("no reason")
	}
}

// FuzzAnswer decodes what a process may send.
func FuzzAnswer(f *testing.F) {
	var sent bytes.Buffer
	must(f, gob.NewEncoder(&sent).Encode(answer{Document: index.Document{ID: "x"}, Page: pdf.Message{Text: "y"}}))
	f.Add(sent.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		var a answer
		if gob.NewDecoder(bytes.NewReader(data)).Decode(&a) == nil && len(a.Text) > len(data) {
			t.Errorf("%+v", a)
		}
	})
}
