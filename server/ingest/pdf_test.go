package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/ingest/office"
	"quarry/server/ingest/pdf"
)

func TestPagesOfPDF(t *testing.T) {
	long := strings.Repeat("Some words of a long page. ", 60)
	e := fromPages(pdf.Document{
		Message: pdf.Message{Title: "Microsoft Word - plan.doc", Authors: "Ada; Bo", Created: "D:2024", Modified: "D:20240203040506+01'00'",
			Outline: []pdf.Bookmark{{Title: "Start", Page: 0}, {Title: "Nowhere", Page: -1}, {Title: "Detail", Level: 1, Page: 1}}},
		Texts: []string{"# Re\x02\r\nsults of Lucene\x02\r\nBM25\r\n" + long, long, "", "last"},
	})
	d := newFileReader(t.Context(), nil).build(e.body, e.blocks, e.meta, index.Document{ID: "x", Title: "plan", Link: "file:///plan.pdf"})
	checkDocument(t, &d)
	if !strings.HasPrefix(d.Chunks[0].Text, "# Results of Lucene-BM25\nSome words") || d.Title != "plan" || d.Type != "pdf" ||
		!d.UpdatedAt.Equal(time.Date(2024, 2, 3, 3, 5, 6, 0, time.UTC)) || d.CreatedAt.Year() != 2024 || len(d.Authors) != 2 {
		t.Errorf("%+v", d)
	}
	for i, want := range []struct {
		link     string
		headings []string
	}{{"file:///plan.pdf#page=1", []string{"Start", "Page 1"}}, {"file:///plan.pdf#page=2", []string{"Start", "Detail", "Page 2"}},
		{"file:///plan.pdf#page=4", []string{"Start", "Detail", "Page 4"}}} {
		if i >= len(d.Chunks) || d.Chunks[i].Link != want.link || !slices.Equal(d.Chunks[i].Headings, want.headings) {
			t.Errorf("chunk %d of %d: %+v", i, len(d.Chunks), d.Chunks[min(i, len(d.Chunks)-1)])
		}
	}
	if _, err := guard.Result(func() extracted { return fromPages(pdf.Document{Texts: []string{"", " \r\n"}}) }); err == nil || !strings.Contains(err.Error(), "only pictures") {
		t.Error(err)
	}
}

// TestCreatorsAndDatesOfProperties keeps commas in names, and dates a document by its creation if nothing else has a date.
func TestCreatorsAndDatesOfProperties(t *testing.T) {
	created := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
	of := propertiesOf("docx", office.Properties{Authors: []string{"Ortiz, Ana; Bo", "Cy"}, Created: created})
	if want := []index.Person{{Name: "Ortiz, Ana"}, {Name: "Bo"}, {Name: "Cy"}}; !slices.Equal(of.Authors, want) || !of.UpdatedAt.Equal(created) {
		t.Errorf("%+v", of)
	}
	of = pdfMeta(pdf.Message{Authors: "NPC, Inc. 12/12/2022", Created: "D:20200102", Modified: "never"})
	if want := []index.Person{{Name: "NPC, Inc. 12/12/2022"}}; !slices.Equal(of.Authors, want) || !of.UpdatedAt.Equal(created) {
		t.Errorf("%+v", of)
	}
}

// TestDatedByFile marks documents that could have a date and have none, so that the file's time is not taken for theirs.
func TestDatedByFile(t *testing.T) {
	l := newLibrary(t, map[string]string{"d/without.eml": "Subject: x\n\nbody", "d/with.eml": "Date: Fri, 03 May 2024 10:00:00 +0000\n\nbody", "d/a.txt": "body"})
	l.add(Options{}, "d")
	for name, want := range map[string]bool{"d/without.eml": true, "d/with.eml": false, "d/a.txt": false} {
		doc := l.document(name)
		marked := slices.ContainsFunc(doc.Metadata, func(f index.Field) bool { return f.Key == datedBy && slices.Equal(f.Values, []string{fileTime}) })
		if marked != want {
			t.Errorf("%s: %+v", name, doc.Metadata)
		}
	}
}

func TestTitlesAndDatesOfPDF(t *testing.T) {
	for title, want := range map[string]string{"Untitled": "", "plan.indd": "", "Plan 2.0 of Acme Inc.": "Plan 2.0 of Acme Inc.", "v1.2": "v1.2", "": ""} {
		if got := pdfTitle(title); got != want {
			t.Errorf("%q: %q", title, got)
		}
	}
	for date, want := range map[string]string{"D:20240102030405Z": "2024-01-02T03:04:05Z", "20240102": "2024-01-02T00:00:00Z", "D:20240102030405-08'00'": "2024-01-02T11:04:05Z",
		"D:20240102030405Z00'00'": "2024-01-02T03:04:05Z", "D:2024": "2024-01-01T00:00:00Z", "yesterday": "0001-01-01T00:00:00Z", "D:2024990203": "2024-01-01T00:00:00Z"} {
		if got := pdfDate(date).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%q: %s", date, got)
		}
	}
}

// TestPagesThatAreLost: damaged pages, and those after an error, are named; the others are read.
func TestPagesThatAreLost(t *testing.T) {
	r := newFileReader(t.Context(), nil)
	r.pdf = func(_ []byte, send func(pdf.Message) error) error {
		for _, m := range []pdf.Message{{Pages: 9}, {Text: "first"}, {Unread: true}, {Text: "third"}} {
			if err := send(m); err != nil {
				return err
			}
		}
		return &pdf.FileError{Err: errors.New("the rest is lost")}
	}
	e, err := guard.Result(func() extracted { return fromPDF(r, nil) })
	if want := []string{"pages 4 to 9: the rest is lost", "page 2: it is damaged"}; err != nil || e.body != "first\n\nthird\n\n" || !slices.Equal(r.leftOut.Reasons, want) {
		t.Errorf("%q, %q, %v", e.body, r.leftOut.Reasons, err)
	}
}
