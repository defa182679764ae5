package paint

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// styledCorpus is the corpus, and lines with styles and links in them.
func styledCorpus() []string {
	styled := []string{
		"\x1b[1mbold\x1b[m plain", "\x1b[38;2;1;2;3mopen to the end", "a\x1b[31mé日\x1b[0mb", "\x1b]8;;https://example.com\x1b\\a link\x1b]8;;\x1b\\ and more",
		"\x1b]8;id=1;https://example.com\aopen link", "\x1b[2Jcleared", "\x1b]0;title\atext", "\x1b[", "\x1b", "\x1b]8;;unterminated",
		"日本語", "日", "a日", "\x1b[4m日本\x1b[m", "line\nend\ttab\x00nul", "\xff\x9b31m", "\u0085\u009b1m", "क\u200bि\u200bा", "\x1bPdcs\x1b\\x", "\x1b[1;31:2mx",
		"\u0d4e\u0d4e", "000\x8b\u093f0", "\x1b]8;;https://example.com/Ü\x1b\\link\x1b]8;;\x1b\\", "W\x84\u0604", "\u0600\x8e0",
	}
	for _, s := range corpus() {
		styled = append(styled, s, Line(s))
	}
	return styled
}

// checkFit holds a fitted line to its width and to leaving nothing switched on.
func checkFit(t *testing.T, s, got string, w int) {
	t.Helper()
	if width := ansi.StringWidth(got); width != max(0, w) {
		t.Errorf("Fit(%+q, %d) = %+q takes %d columns", s, w, got, width)
	}
	if Line(s) == s {
		if width := ansi.StringWidthWc(got); width != max(0, w) {
			t.Errorf("Fit(%+q, %d) = %+q takes %d columns added up", s, w, got, width)
		}
	}
	styled, linked := false, false
	for at := 0; at < len(got); {
		what, size, _ := Next(got[at:])
		switch what {
		case Style, Reset:
			styled = what == Style
		case Link, Unlink:
			linked = what == Link
		case Junk:
			t.Errorf("Fit(%+q, %d) = %+q lets %+q through", s, w, got, got[at:at+size])
		}
		at += size
	}
	if styled || linked {
		t.Errorf("Fit(%+q, %d) = %+q leaves a style or a link on", s, w, got)
	}
}

func FuzzFit(f *testing.F) {
	for i, s := range styledCorpus() {
		f.Add(s, i%9)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		w %= 300
		checkFit(t, s, Fit(s, w), w)
		checkFit(t, s, FitLine(s, w), w)
	})
}

func TestFitEveryWidth(t *testing.T) {
	t.Parallel()
	for _, s := range styledCorpus() {
		for w := -1; w <= 40; w++ {
			checkFit(t, s, Fit(s, w), w)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		w    int
		want string
	}{
		{"abc", 0, ""},
		{"abc", 5, "abc  "},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日… "},
		{"日本", 1, "…"},
		{"abcdé", 4, "abc…"},
		{"abcde\u0301", 5, "abcde\u0301"},
		{"\x1b[1mabcdef\x1b[m", 4, "\x1b[1mabc…\x1b[m"},
		{"\x1b[1mab", 4, "\x1b[1mab\x1b[m  "},
		{"ab\x1b[1mcd\x1b[m", 4, "ab\x1b[1mcd\x1b[m"},
		{"\x1b]8;;http://x\x1b\\abcdef\x1b]8;;\x1b\\", 3, "\x1b]8;;http://x\x1b\\ab…\x1b]8;;\x1b\\"},
		{"a\nb", 3, "ab "},
		{"a\x1b[2Jb", 3, "ab "},
	}
	for _, test := range tests {
		if got := Fit(test.in, test.w); got != test.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", test.in, test.w, got, test.want)
		}
	}
}

func TestFitReadsNoMoreThanItShows(t *testing.T) {
	for name, line := range map[string]string{"ascii": strings.Repeat("word ", 1<<18), "wide": strings.Repeat("日本語", 1<<17)} {
		// A million characters would cost thousands of times what this does; allocations stand for it.
		if n := testing.AllocsPerRun(10, func() { Fit(line, 80) }); n > 4 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	bold := lipgloss.NewStyle().Bold(true)
	for name, s := range map[string]string{
		"ascii":  strings.Repeat("most text is plain, ", 12),
		"styled": strings.Repeat(bold.Render("some")+" is styled, ", 12),
		"wide":   strings.Repeat("日本語のテキスト、", 12),
		"emoji":  strings.Repeat("ship it 🚀 now ", 12),
		"1 MB":   strings.Repeat("größer als der Schirm ", 1<<16),
		"short":  bold.Render("a title") + " · 3 d",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fit(s, 100)
			}
		})
	}
}
