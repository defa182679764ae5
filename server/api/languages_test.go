package api

import (
	"context"
	"testing"

	"quarry/client/wire"
	"quarry/server/index"
)

// TestChunksInAnotherLanguage: in a German passage of an English document, forms of words are found and marked as in a
// German document, in results as in chunks.
func TestChunksInAnotherLanguage(t *testing.T) {
	w := newWorld(t)
	const english = "The contracts of the old houses are in the archive, and we have not seen any of them for years."
	const german = "Die Verträge der alten Häuser liegen im Archiv, und wir haben sie seit Jahren nicht mehr gesehen."
	d := document("doc-both", "Archive", "file", "PUBLIC", "", "team", "people", "")
	d.Language, d.Chunks = "", []index.Chunk{{Text: english}, {Text: german}}
	_, err := w.documents.Write(context.Background(), index.Batch{Upsert: []index.Document{d}})
	w.check(err)
	answer := post[wire.SearchResponse](w, "jo", "/search", `{"query":"Vertrag"}`)
	if len(answer.Results) == 0 || answer.Results[0].DocumentID != d.ID {
		t.Fatalf("found %+v", answer.Results)
	}
	check := func(where, text string, marks []wire.Span) {
		t.Helper()
		if len(marks) != 1 || text[marks[0][0]:marks[0][1]] != "Verträge" {
			t.Errorf("%s: %v in %q", where, marks, text)
		}
	}
	check("result", answer.Results[0].Content, answer.Results[0].Highlights)
	chunks := get[wire.DocumentChunks](w, "jo", "/document/chunks?query=Vertrag&document_id="+d.ID).Chunks
	check("chunk", chunks[1].Content, chunks[1].Highlights)
	if len(chunks[0].Highlights) > 0 {
		t.Errorf("in English: %v", chunks[0].Highlights)
	}
}
