package text

import "testing"

func FuzzEditDistance(f *testing.F) {
	f.Add("slack", "salck")
	f.Add("", "abc")
	f.Add("ab", "ba")
	f.Fuzz(func(t *testing.T, a, b string) {
		ra, rb := []rune(a), []rune(b)
		if len(ra) > 8 || len(rb) > 8 {
			return
		}
		if got, want := EditDistance(a, b), slowDistance(ra, rb); got != want {
			t.Errorf("%q to %q: %d, want %d", a, b, got, want)
		}
	})
}

// slowDistance is the distance as it is defined.
func slowDistance(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	x, y := len(a)-1, len(b)-1
	cost := 1
	if a[x] == b[y] {
		cost = 0
	}
	best := min(slowDistance(a[:x], b)+1, slowDistance(a, b[:y])+1, slowDistance(a[:x], b[:y])+cost)
	if x > 0 && y > 0 && a[x] == b[y-1] && a[x-1] == b[y] {
		best = min(best, slowDistance(a[:x-1], b[:y-1])+1)
	}
	return best
}
