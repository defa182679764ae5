package text

import (
	"strings"
	"testing"
	"unicode"
)

func TestEstimateTokens(t *testing.T) {
	cases := map[string]int{
		"": 0, "a": 1, "one two three": 4, "a b c d e": 5, "incomprehensibilities": 6,
		"本番へのロールバック": 10, "a本b": 3, "\u00a0x\u2003y\u00a0": 3, "tab\tand\nline": 3,
		strings.Repeat("x", 400): 100,
	}
	for text, want := range cases {
		if got := EstimateTokens(text); got != want {
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

func FuzzEstimateTokens(f *testing.F) {
	for _, seed := range []string{"", "a b", "東京 a", "\xff \xfe", "\v\f\r x", "\u0085y", "ก ข"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := EstimateTokens(text), plain(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	})
}

func TestClipTokens(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("word ", 5000), strings.Repeat("東京", 3000), strings.Repeat("a b ", 4000) + strings.Repeat("long", 900),
		strings.Repeat("\xff", 4000), "\u202e" + strings.Repeat("é\n", 3000), strings.Repeat("x", 50_000)} {
		for _, limit := range []int{1, 16, 1000} {
			got, valid := ClipTokens(s, limit), strings.ToValidUTF8(s, "")
			switch size := EstimateTokens(got); {
			case !strings.HasPrefix(valid, got) || size > limit:
				t.Errorf("%.20q at %d: %d tokens", s, limit, size)
			case EstimateTokens(valid) <= limit && got != valid:
				t.Errorf("%.20q was cut though it fits %d", s, limit)
			case EstimateTokens(valid) > limit && size < limit/2:
				t.Errorf("%.20q was cut to %d of %d tokens", s, size, limit)
			}
		}
	}
}
