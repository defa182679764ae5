package segment

import (
	"bytes"
	"testing"

	"quarry/server/index"
)

// TestResetLeavesNoTrace: what a builder remembers of earlier documents, some of which were never built, does not show in
// the next segment.
func TestResetLeavesNoTrace(t *testing.T) {
	inLanguage := func(documents []index.Document, code string) []index.Document {
		for i := range documents {
			documents[i].Language = code
		}
		return documents
	}
	reused := NewBuilder()
	for seed, documents := range [][]index.Document{
		inLanguage(world(1, 40), "de"), inLanguage(world(2, 3), ""), inLanguage(world(3, 60), "fr"), world(4, 50),
		inLanguage(world(1, 40), "de"),
	} {
		reused.Reset()
		fresh := NewBuilder()
		for _, b := range []*Builder{reused, fresh} {
			for _, d := range documents {
				if err := b.Add(d); err != nil {
					t.Fatal(err)
				}
			}
		}
		if seed == 1 {
			continue
		}
		got, err := reused.Build()
		if err != nil {
			t.Fatal(err)
		}
		want, err := fresh.Build()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("world %d: the segment differs from that of a new builder", seed)
		}
	}
}
