package documents

import (
	"slices"
	"testing"

	"quarry/server/index"
)

// TestDamagedChunks: chunks that were not read are damaged.
func TestDamagedChunks(t *testing.T) {
	chunks := Unread(3)
	chunks[1] = index.Chunk{}
	if got := Damaged(chunks, 5); !slices.Equal(got, []int{5, 7}) {
		t.Errorf("damaged are %d", got)
	}
	if got := Unread(-1); len(got) > 0 {
		t.Errorf("%d chunks", len(got))
	}
}
