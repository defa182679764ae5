package analysis

import (
	"math/rand/v2"
	"testing"
)

// TestFoldTabulated: characters that are looked up fold as they do without the table, whatever stands beside them.
func TestFoldTabulated(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := make([]rune, 4)
	for range 50_000 {
		for i := range word {
			word[i] = rune('a' + random.IntN(tabulated))
		}
		text := string(word)
		if got, want := string(fold(nil, text)), string(foldForeign(nil, text)); got != want {
			t.Fatalf("%q folds to %q, want %q", text, got, want)
		}
	}
}
