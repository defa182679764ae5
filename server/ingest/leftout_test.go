package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// TestLeftOutParts: what cannot be read of a file is reported when the file is read, again when it is unchanged, and in the
// status, and the rest of the file is stored.
func TestLeftOutParts(t *testing.T) {
	r := newFileReader(nil)
	r.leaveOut("slide 3", errors.New("it is damaged"))
	r.member = "deck.pptx"
	for range mostRemembered + 4 {
		r.leaveOut("slide 4", errors.New("it is damaged"))
	}
	var events []wire.LibraryEvent
	b := newBatcher(t.Context(), nil, nil, func(event wire.LibraryEvent) { events = append(events, event) })
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
