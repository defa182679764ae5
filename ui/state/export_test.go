package state

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"quarry/client"
	"quarry/client/wire"
)

func collectedForExport() []Passage {
	return []Passage{
		{SearchResult: wire.SearchResult{Ref: "w1#2", DocumentID: "w1", Title: "Expenses [2026]",
			Link: new("https://wiki.acme.com/1"), SourceType: "confluence", UpdatedAt: new("2026-03-12T09:00:00Z"),
			Authors: []string{"Jo Ortiz"}, Content: "Taxis need a receipt.\n\nSee [limits](limits.md).", ChunkStart: 2,
			ChunkEnd: 3}, Query: "taxi", Note: "ask finance", Marked: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)},
		{SearchResult: wire.SearchResult{Ref: "file:/home/jo/a.md#0", DocumentID: "file:/home/jo/a.md",
			Title: "=cmd|' /C calc'!A0", Link: new("file:///home/jo/a.md"), SourceType: "file", Content: "+1"}, Marked: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)},
	}
}

func TestExportMarkdown(t *testing.T) {
	t.Parallel()
	got, err := Export(collectedForExport(), Markdown)
	want := `1. [Expenses \[2026\]](https://wiki.acme.com/1) (Confluence, 2026-03-12)

   > Taxis need a receipt.
   > 
   > See [limits](https://wiki.acme.com/limits.md).

   Note: ask finance

   Query: taxi

2. =cmd|' /C calc'!A0 (a.md#0)

   > +1
`
	if err != nil || got != want {
		t.Fatalf("%v\n%s\nwant\n%s", err, got, want)
	}
}

func TestExportJSON(t *testing.T) {
	t.Parallel()
	encoded, err := Export(collectedForExport(), JSON)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Passages []json.RawMessage
		Schema   int
	}
	if err := json.Unmarshal([]byte(encoded), &got); err != nil || got.Schema != 2 || len(got.Passages) != 2 {
		t.Fatalf("%v: %s", err, encoded)
	}
	var first numbered
	err = exportedPassage.Unmarshal(got.Passages[0], &first)
	if err != nil || first.Number != 1 || first.Note != "ask finance" || first.Query != "taxi" || first.Ref != "w1#2" {
		t.Fatalf("%v: %+v", err, first)
	}
	if empty, _ := Export(nil, JSON); !strings.Contains(empty, `"passages": []`) {
		t.Fatalf("%s", empty)
	}
}

// No cell of a foreign text is a formula to a spreadsheet.
func TestExportCSV(t *testing.T) {
	t.Parallel()
	encoded, err := Export(collectedForExport(), CSV)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(encoded)).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][1] != "title" {
		t.Fatalf("%v: %q", err, rows)
	}
	if rows[1][1] != "Expenses [2026]" || rows[1][8] != "ask finance" || rows[1][10] != collectedForExport()[0].Content {
		t.Errorf("%q", rows[1])
	}
	if rows[2][1] != "'=cmd|' /C calc'!A0" || rows[2][10] != "'+1" {
		t.Errorf("%q", rows[2])
	}
}

func TestExportUnknownFormat(t *testing.T) {
	t.Parallel()
	if _, err := Export(nil, "xml"); err == nil {
		t.Fatal("no error")
	}
}

// A collected passage is shown and expanded as the result that it was.
func TestPassageAsResult(t *testing.T) {
	t.Parallel()
	p := collectedForExport()[0]
	again := PassageOf(p.Result(1), p.Query, p.Marked)
	again.Note = p.Note
	encoded, _ := json.Marshal(again)
	if want, _ := json.Marshal(p); string(encoded) != string(want) {
		t.Errorf("%s\nwant %s", encoded, want)
	}
	if r := p.Result(1); r.ChunkInd != 2 || r.ChunkEnd != 3 || r.Ref != "w1#2" {
		t.Errorf("%+v", r)
	}
	linked := Passage{SearchResult: wire.SearchResult{Ref: "https://a.example", Link: new("https://a.example")}}
	if bare := linked.Result(1); bare.Ref != "" || bare.DocumentID != "" {
		t.Errorf("%+v", bare)
	}
}

// What is exported parses, whatever was collected.
func FuzzExport(f *testing.F) {
	f.Add("title", "content\n\n[a](b)", "note", "https://a.example")
	f.Add("=1+1", "\"quoted\",\r\n", "\t", "file:///a")
	f.Add("", "", "", "")
	f.Fuzz(func(t *testing.T, title, content, note, link string) {
		p := Passage{SearchResult: wire.SearchResult{Ref: "r", Title: client.Sanitize(title), Content: client.Sanitize(content),
			Link: new(client.Sanitize(link))}, Note: client.Sanitize(note)}
		if _, err := Export([]Passage{p, p}, Markdown); err != nil {
			t.Fatal(err)
		}
		encoded, err := Export([]Passage{p, p}, JSON)
		if err != nil || !json.Valid([]byte(encoded)) {
			t.Fatalf("%v: %q", err, encoded)
		}
		if encoded, err = Export([]Passage{p, p}, CSV); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(encoded)).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Fatalf("%v: %q", err, encoded)
		}
		for _, cell := range rows[1] {
			if cell != "" && strings.Contains("=+-@", cell[:1]) {
				t.Fatalf("a formula: %q", cell)
			}
		}
	})
}
