package tokens

import (
	"strings"
	"testing"
	"unicode"
)

func TestEstimate(t *testing.T) {
	cases := map[string]int{
		"": 0, "a": 1, "one two three": 4, "a b c d e": 5, "incomprehensibilities": 6,
		"本番へのロールバック": 10, "a本b": 3, "\u00a0x\u2003y\u00a0": 3, "tab\tand\nline": 3,
		strings.Repeat("x", 400): 100,
	}
	for text, want := range cases {
		if got := Estimate(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
}

// plain is the estimate as it is defined.
func plain(text string) int {
	words, inWord := 0, false
	for _, r := range text {
		switch {
		case IsCJK(r):
			words++
			inWord = false
		case unicode.IsSpace(r):
			inWord = false
		case !inWord:
			words++
			inWord = true
		}
	}
	return max((len(text)+3)/4, words)
}

func FuzzEstimate(f *testing.F) {
	for _, seed := range []string{"", "a b", "東京 a", "\xff \xfe", "\v\f\r x", "\u0085y", "ก ข"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := Estimate(text), plain(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	})
}
