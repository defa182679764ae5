package ingest

import (
	"errors"
	"slices"
	"testing"

	"quarry/client/wire"
	"quarry/server/ingest/pdf"
)

// TestLeftOutParts: what cannot be read of a file is reported when the file is read, again when it is unchanged, and in the
// status, and the rest of the file is stored.
func TestLeftOutParts(t *testing.T) {
	r := newFileReader(pdf.Program{})
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
