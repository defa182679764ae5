package cli

import (
	"strings"
	"testing"
)

// A model's text is not trusted: links nested without end cost no more than their length.
func TestNestedCitationLinks(t *testing.T) {
	hostile := strings.Repeat("[[1]](", 300_000) + ")"
	links := newCitationLinks()
	if got := links.write(hostile + " see [[2]](https://a.example)"); got != hostile+" see [2]" {
		t.Errorf("printed %d bytes, want %d, ending %q", len(got), len(hostile)+8, got[max(0, len(got)-20):])
	}
}
