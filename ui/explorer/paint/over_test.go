package paint

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestCut(t *testing.T) {
	t.Parallel()
	const bold, link = "\x1b[1m", "\x1b]8;;https://x.example\a"
	for _, test := range []struct {
		line        string
		from, width int
		want        string
	}{
		{"abcdef", 0, 3, "abc"}, {"abcdef", 2, 3, "cde"}, {"abc", 2, 3, "c  "}, {"abc", 5, 2, "  "}, {"abc", 1, 0, ""},
		{"日本語", 1, 4, " 本 "}, {"日本語", 2, 4, "本語"}, {"日本語", 1, 3, " 本"},
		{bold + "abc\x1b[md", 1, 2, bold + "bc" + endStyle}, {bold + "abc\x1b[md", 3, 2, bold + "\x1b[md "},
		{bold + "a" + link + "bc" + endLink + "d\x1b[m", 1, 1, bold + link + "b" + endLink + endStyle},
		{"a" + bold + "b\x1b[mc", 0, 3, "a" + bold + "b\x1b[mc"},
	} {
		if got := Cut(test.line, test.from, test.width); got != test.want || Width(got) != test.width {
			t.Errorf("%q from %d, %d columns: %q, want %q", test.line, test.from, test.width, got, test.want)
		}
	}
}

// FuzzCut holds parts of a line to their width, and the parts together to the line.
func FuzzCut(f *testing.F) {
	for _, seed := range []string{"plain", "\x1b[1m日本\x1b[m語", "a\x1b]8;;https://x.example\ab\x1b]8;;\x1b\\", "e\u0301 👩\u200d👧 ☎\ufe0f"} {
		f.Add(seed, uint8(2), uint8(5))
	}
	f.Fuzz(func(t *testing.T, text string, from, width uint8) {
		line := Line(text)
		part := Cut(line, int(from), int(width))
		if Width(part) != int(width) {
			t.Fatalf("%q from %d: %q is %d wide, not %d", line, from, part, Width(part), width)
		}
		if whole := Cut(line, 0, Width(line)); ansi.Strip(whole) != ansi.Strip(line) {
			t.Fatalf("%q cut whole is %q", line, whole)
		}
	})
}

func TestOver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line string
		x    int
		want string
	}{
		{"abcdefgh", 2, "ab[]efgh"}, {"日本語字", 1, " [] 語字"}, {"ab", 4, "ab  []  "}, {"abcdefgh", 6, "abcdef[]"},
	} {
		if got := Over(test.line, "[]", test.x, 8); got != test.want || Width(got) != 8 {
			t.Errorf("%q at %d: %q, want %q", test.line, test.x, got, test.want)
		}
	}
}
