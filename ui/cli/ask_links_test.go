package cli

import (
	"strings"
	"testing"
)

// A model's text is not trusted: links nested without end cost no more than their length.
func TestNestedCitationLinks(t *testing.T) {
	before := strings.Repeat("[[1]](", 300_000)
	var links citationLinks
	if got := links.write(before + "[[1]](x) see [[2]](https://a.example)"); got != before+"[1] see [2]" {
		t.Errorf("printed %d bytes, want %d, ending %q", len(got), len(before)+11, got[max(0, len(got)-20):])
	}
}

// A link that comes in pieces is one, also if its address has parentheses.
func TestCitationLinksInPieces(t *testing.T) {
	var links citationLinks
	got := ""
	for _, piece := range strings.Split("as in [[1]](https://a.example/x_(y)), [[2]]() and [z](https://b.example).", "") {
		got += links.write(piece)
	}
	if want := "as in [1], [2] and [z](https://b.example)."; got+links.held != want {
		t.Errorf("%q, want %q", got+links.held, want)
	}
}
