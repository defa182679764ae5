package wire

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"slack", "confluence", "google_drive", "web", "Eng", "gitlab", "github"}
	for value, want := range map[string]string{
		"slak": "slack", "salck": "slack", "Slack": "slack", "confluense": "confluence", "googel_drvie": "google_drive",
		"wbe": "web", "eng": "Eng", "githb": "github", "gitlub": "gitlab", "xyz": "", "": "", "e": "", "w": "",
		strings.Repeat("a", 1000): "", "zendesk": "",
	} {
		if got := Nearest(value, known); got != want {
			t.Errorf("%q is near %q, want %q", value, got, want)
		}
	}
	if Nearest("x", nil) != "" {
		t.Error("nothing is known")
	}
}

func FuzzEditDistance(f *testing.F) {
	f.Add("slack", "salck")
	f.Add("", "abc")
	f.Add("ab", "ba")
	f.Fuzz(func(t *testing.T, a, b string) {
		ra, rb := []rune(a), []rune(b)
		if len(ra) > 8 || len(rb) > 8 {
			return
		}
		if got, want := EditDistance(string(ra), string(rb)), slowDistance(ra, rb); got != want {
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
