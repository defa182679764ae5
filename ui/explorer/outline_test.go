package explorer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quarry/client/wire"
)

// headedLibrary is longLibrary with a heading in each chunk, and an outline of them.
func headedLibrary() *script {
	s := longLibrary()
	s.routes["GET /document/chunks"] = func(w http.ResponseWriter, r *http.Request) {
		var from, to int
		fmt.Sscan(r.URL.Query().Get("from"), &from)
		fmt.Sscan(r.URL.Query().Get("to"), &to)
		answer := wire.DocumentChunks{Document: wire.DocumentInfo{ID: "file:/srv/runbook.md", ChunkCount: 40}}
		for i := range 40 {
			answer.Document.Outline = append(answer.Document.Outline, wire.OutlineHeading{Level: 1 + i%2, Text: fmt.Sprintf("Chapter %d", i), ChunkInd: i})
			if i >= from && i <= to {
				answer.Chunks = append(answer.Chunks, wire.Chunk{ChunkInd: i, Content: fmt.Sprintf("## Chapter %d\n\nPart %d of the text.", i, i)})
			}
		}
		answer200(w, answer)
	}
	return s
}

func TestTheOutlineLeadsToAHeading(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: headedLibrary().library(t), Query: "rollback"})
	screen.WaitText("Part 20 says")
	screen.Press("O")
	screen.WaitText("40 headings")
	screen.WaitText("▌   Chapter 20") // what is read
	screen.Type("chapter 5")
	screen.WaitGone("Chapter 20")
	screen.Press("enter")
	screen.WaitGone("Outline")
	screen.WaitText("Part 5 of the text.")
	screen.WaitText("part 6 of 40")
	screen.WaitText("Part 8 of the text.") // without a gap up to what was read
	screen.Press("O")
	screen.WaitText("▌     Chapter 5")
	screen.Press("esc")
	screen.WaitGone("Outline")
	screen.WaitText("part 6 of 40")
}

// A server that names no documents has no outline: the headings of the text at hand have to do.
func TestTheOutlineOfTheTextAtHand(t *testing.T) {
	t.Parallel()
	content := "# Rolling back\n\n" + strings.Repeat("More about rollback.\n\n", 60) + "## The last part\n\nIts text.\n\n" + strings.Repeat("And more.\n\n", 60)
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Long", content)}})
	}}
	screen := start(t, 60, 20, Options{Target: server.remote(t), Query: "rollback"})
	screen.WaitText("1 document")
	screen.Press("O")
	screen.WaitText("of the text shown")
	screen.Press("down", "enter")
	screen.WaitGone("Outline")
	screen.WaitText("Its text.")
}

func TestAnOutlineWithoutHeadings(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		answer200(w, oneResult(request))
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "rollback"})
	screen.WaitText("About rollback")
	screen.Press("O")
	screen.WaitText("│ no headings ")
	screen.Press("enter")
	screen.Press("esc")
	screen.WaitGone("no headings")
}
