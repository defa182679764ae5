package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// TestLeftOutParts: what cannot be read of a file is reported when the file is read, again when it is unchanged, and in the
// status, and the rest of the file is stored.
func TestLeftOutParts(t *testing.T) {
	r := newFileReader(t.Context(), nil)
	r.leaveOut("slide 3", errors.New("it is damaged"))
	r.member = "deck.pptx"
	for range mostRemembered + 4 {
		r.leaveOut("slide 4", errors.New("it is damaged"))
	}
	var events []wire.LibraryEvent
	b := newBatcher(libraryIndex{ctx: t.Context()}, nil, func(event wire.LibraryEvent) { events = append(events, event) })
	b.leaveOut("/d/mail.mbox", r.leftOut)
	if b.done.LeftOut.Parts != mostRemembered+5 || len(events) != mostRemembered+1 {
		t.Fatalf("%+v, %d events", b.done, len(events))
	}
	want := []string{"slide 3: it is damaged", "deck.pptx: slide 4: it is damaged"}
	if got := []string{events[0].Reason, events[1].Reason}; !slices.Equal(got, want) || events[0].Type != wire.LibraryLeftOut || events[0].Path != "/d/mail.mbox" {
		t.Errorf("%+v", events[:2])
	}
}

// TestLeftOutPartsOfMail: what is missing of a document is reported, again when it is unchanged, wherever it is read.
func TestLeftOutPartsOfMail(t *testing.T) {
	l := newLibrary(t, map[string]string{"d/m.eml": "From: a@acme.example\nSubject: Plan\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nSoon.\n--x\n" +
		"Content-Type: application/octet-stream; name=plan.docx\n\nPK\x03\x04 damaged\n--x--\n"})
	for _, readers := range []*Readers{nil, nil, newTestReaders(t)} {
		l.add(Options{Local: Local{Readers: readers}}, "d")
		at := slices.IndexFunc(l.events.all, func(e wire.LibraryEvent) bool { return e.Type == wire.LibraryLeftOut })
		if at < 0 || !strings.Contains(l.events.all[at].Reason, "plan.docx") || l.events.all[at].Path != l.path("d/m.eml") {
			t.Fatalf("%+v", l.events.all)
		}
	}
}

// TestBoundsAreNamed: what a document has more of than is stored is left out with a note, and what it has up to the bound is
// stored without one.
func TestBoundsAreNamed(t *testing.T) {
	list := func(n int, of string) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(of, i))
		}
		return strings.Join(items, ", ")
	}
	long := strings.Repeat("word ", longestValue)
	for _, c := range []struct{ file, text, want string }{
		{"a.eml", "Subject: x\nContent-Type: text/plain; charset=johab\n\n\x88a\xb1\x81", "some characters: their encoding is not known (johab)"},
		{"a.eml", "Subject: x\nContent-Type: text/plain; charset=x-none\n\nplain", ""},
		{"a.md", "---\nauthors: [" + list(mostPeople, "Ana %d") + "]\ntags: [" + list(mostTags, "t%d") + "]\n---\nx", ""},
		{"a.md", "---\nauthors: [" + list(mostPeople+12, "Ana %d") + "]\n---\nx", "further authors: it has more than 50"},
		{"a.md", "---\nauthors: " + list(9*mostPeople, "Ana %d") + "\n---\nx", "further authors: it has more than 50"},
		{"a.md", "---\ntags: [" + list(mostTags+1, "t%d") + "]\n---\nx", "further values of tags: it has more than 200"},
		{"a.md", "---\n{" + list(mostMetadata+1, "k%d: x") + "}\n---\nx", "further keys of its metadata: it has more than 64"},
		{"a.md", "---\nsummary: " + long + "\n---\nx", "the end of summary: it is longer than 500 bytes"},
		{"a.md", "---\ntitle: a: b\n---\nx", ""},
		{"a.md", "---\ntitle: a: b\ndate: 2024-03-05\n[[x\n---\nx", "some lines of the front matter: its syntax is not valid: 1 line cannot be read"},
		{"a.md", strings.Repeat("# x\n\n", mostHeadings+1), "further headings in its outline: it has more than 10,000"},
		{"a.html", "<meta name=keywords content='" + list(mostTags+1, "t%d") + "'><p>x", "further values of keywords: it has more than 200"},
		{"a.eml", "To: " + list(mostTags, "a%d@acme.example") + "\n\nx", ""},
		{"a.eml", "To: " + list(mostTags+1, "a%d@acme.example") + "\n\nx", "further values of to: it has more than 200"},
		{"a.eml", "To: a b, " + list(9*mostTags, "A b%d") + "\n\nx", "further values of to: it has more than 200"},
		{"a.eml", "To: " + list(mostPeople+1, "a%d@acme.example") + "\nFrom: " + list(mostPeople+1, "<b%d@acme.example>") + "\n\nx", "further authors: it has more than 50"},
		{"a.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x\n" + strings.ReplaceAll(list(mostPeople+1, "ATTENDEE:a%d@b\n"), ", ", "") + "END:VEVENT\nEND:VCALENDAR", ""},
		{"a.ipynb", `{"metadata":{"authors":["Ana",{"name":"Bo"}],"title":7},"cells":[{"cell_type":"markdown","source":"x"}]}`, ""},
		{"a.ipynb", `{"metadata":[1],"cells":[{"cell_type":"markdown","source":"x"},7]}`, "metadata: "},
	} {
		r := newFileReader(t.Context(), nil)
		if _, err := documentBy(t, r, c.file, []byte(c.text)); err != nil || strings.Join(r.leftOut.Reasons, "; ") != c.want &&
			(c.want == "" || !strings.HasPrefix(strings.Join(r.leftOut.Reasons, "; "), c.want)) {
			t.Errorf("%.60q: %q, %v; want %q", c.text, r.leftOut.Reasons, err, c.want)
		}
	}
}
