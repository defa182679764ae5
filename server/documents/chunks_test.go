package documents

import (
	"math"
	"slices"
	"testing"

	"quarry/server/index"
)

// TestFillChunks compares copyGroup with a loop over single chunks, for places before, within and behind.
func TestFillChunks(t *testing.T) {
	group := []index.Chunk{{Text: "a"}, {Text: "b"}, {Text: "c"}}
	for size := range 7 {
		for _, place := range []int{math.MinInt, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, math.MaxInt} {
			chunks := Unread(size)
			copyGroup(chunks, place, group)
			var damaged []int
			for at, chunk := range chunks {
				want := index.Chunk{Damaged: true}
				if place <= at && place > at-len(group) {
					want = group[at-place]
				} else {
					damaged = append(damaged, at)
				}
				if chunk.Text != want.Text || chunk.Damaged != want.Damaged {
					t.Errorf("%d chunks, place %d: chunk %d is %+v, want %+v", size, place, at, chunk, want)
				}
			}
			if got := Damaged(chunks, 0); !slices.Equal(got, damaged) {
				t.Errorf("%d chunks, place %d: damaged are %d, want %d", size, place, got, damaged)
			}
		}
	}
	if got := Damaged(Unread(2), 5); !slices.Equal(got, []int{5, 6}) {
		t.Errorf("damaged are %d", got)
	}
	if got := Unread(-1); len(got) > 0 {
		t.Errorf("%d chunks", len(got))
	}
}
