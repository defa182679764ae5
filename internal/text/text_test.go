package text

import (
	"math"
	"testing"
	"time"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", -1, ""}, {"aé", 2, "a"}, {"aé", 3, "aé"}, {"東京", 5, "東"}} {
		if got := Clip(c.text, c.limit); got != c.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab…"}, {"東京都", 3, "東京都"}, {"東京都", 2, "東京…"}, {"\xff\xff\xff", 2, "\xff\xff…"}} {
		if got := Shorten(c.text, c.limit); got != c.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("東京 \xff", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(max(0, limit), 1000)
		short := Shorten(text, limit)
		if n := utf8.RuneCountInString(text); n <= limit && short != text || n > limit && utf8.RuneCountInString(short) != limit+1 {
			t.Errorf("Shorten(%q, %d) = %q", text, limit, short)
		}
		if clip := Clip(text, limit); len(clip) > limit || utf8.ValidString(text) && !utf8.ValidString(clip) {
			t.Errorf("Clip(%q, %d) = %q", text, limit, clip)
		}
	})
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Count(1, "query"): "1 query", Count(0, "query"): "0 queries", Count(1470, "passage"): "1,470 passages", Count(2, "day"): "2 days",
		Count(3, "match"): "3 matches", Count(2, "address"): "2 addresses",
		Number(-1234567): "-1,234,567", Number(math.MinInt64): "-9,223,372,036,854,775,808", Number(999): "999",
		Size(0): "0 B", Size(999): "999 B", Size(8_300_000): "8.3 MB", Size(-1): "0 B",
		OneLine(" a\n\tb  c "): "a b c", CleanLine("a\x00b\u202ec\u2028d\xff"): "a b c d",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	for s, want := range map[string]string{
		"":                                 "",
		"try again":                        "Try again.",
		"quarry configure sets it":         "quarry configure sets it",
		"ONYX_PAT is unset":                "ONYX_PAT is unset.",
		"run: quarry x":                    "Run: quarry x",
		"already whole.":                   "Already whole.",
		"a question?":                      "A question?",
		"a house (large)":                  "A house (large)",
		"é begins with an accent":          "É begins with an accent.",
		"open it: https://acme.example/a":  "Open it: https://acme.example/a",
		"to search for it itself, type /x": "To search for it itself, type /x",
	} {
		if got := Sentence(s); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestLeft(t *testing.T) {
	for seconds, want := range map[int]string{1: "1 s", 89: "89 s", 90: "2 min", 250: "4 min", 3600: "60 min", 5400: "2 h", 12_000: "3 h"} {
		if got := Left(seconds); got != want {
			t.Errorf("%d: %q, want %q", seconds, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]string{0: "1 ms", 184 * time.Millisecond: "184 ms", 4002 * time.Millisecond: "4.0 s",
		75 * time.Second: "75 s"} {
		if got := Duration(took); got != want {
			t.Errorf("%v is %q, want %q", took, got, want)
		}
	}
}

func TestLately(t *testing.T) {
	for within, want := range map[string]string{"30d": "last 30 days", "1y": "past year", "01M": "past month", "12W": "last 12 weeks"} {
		if got := Lately(within); got != want {
			t.Errorf("%s is %q, want %q", within, got, want)
		}
	}
}
