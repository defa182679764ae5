package wire

import (
	"fmt"
	"testing"
)

// A packet without documents costs nothing, as each piece of a text is one, and one with too many is not kept.
func TestDocumentsOfAnAnswer(t *testing.T) {
	var many []SearchDoc
	for n := range 5 * MaxChatDocuments {
		many = append(many, SearchDoc{DocumentID: fmt.Sprint(n / 2), ChunkInd: n})
	}
	var a ChatAnswer
	a.AddDocuments(many)
	if len(a.Documents) != MaxChatDocuments || cap(a.Documents) > 2*MaxChatDocuments || a.Documents[1].ChunkInd != 2 {
		t.Errorf("%d documents in room for %d, the second at %d", len(a.Documents), cap(a.Documents), a.Documents[1].ChunkInd)
	}
	if n := testing.AllocsPerRun(10, func() { a.AddDocuments(nil) }); n > 0 {
		t.Errorf("no documents are added with %v allocations", n)
	}
}
