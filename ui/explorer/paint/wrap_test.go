package paint

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/theme"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		w    int
		want []string
	}{
		{"", 5, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"a\n\nb", 5, []string{"a", "", "b"}},
		{"a\n", 5, []string{"a", ""}},
		{"incomprehensible", 6, []string{"incomp", "rehens", "ible"}},
		{"an incomprehensible", 6, []string{"an", "incomp", "rehens", "ible"}},
		{"  indented text here", 10, []string{"  indented", "text here"}},
		{"          x", 4, []string{"x"}},
		{"      ", 4, []string{""}},
		{"word      ", 4, []string{"word"}},
		{"word      next", 6, []string{"word", "next"}},
		{"日本語テキスト", 6, []string{"日本語", "テキス", "ト"}},
		{"日本語テキスト", 5, []string{"日本", "語テ", "キス", "ト"}},
		{"see 日本語", 7, []string{"see 日", "本語"}},
		{"日本 x", 1, []string{"…", "…", "x"}},
		{"a well-known case", 8, []string{"a well-", "known", "case"}},
		{"use --flag=x", 6, []string{"use", "--flag", "=x"}},
		{"e\u0301e\u0301e\u0301", 2, []string{"e\u0301e\u0301", "e\u0301"}},
		{"x", 0, []string{"x"}},
	}
	for _, test := range tests {
		if got := Wrap(test.in, test.w); !slices.Equal(got, test.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", test.in, test.w, got, test.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	for i, s := range corpus() {
		f.Add(s, 1+i%7)
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		w = 1 + max(w, -w, 0)%120
		s = Text(s)
		ranges := WrapSpans(s, w)
		if len(ranges) == 0 {
			t.Fatal("no line")
		}
		at := 0
		// What is held apart is never broken, and may be wider than a narrow line.
		mayBeWider := w < maxCluster && strings.ContainsRune(s, zeroSpace)
		for _, r := range ranges {
			if r.Start < at || r.End < r.Start || r.End > len(s) {
				t.Fatalf("ranges %v of %+q", ranges, s)
			}
			if strings.Trim(s[at:r.Start], " \n") != "" {
				t.Errorf("%+q at width %d loses %+q", s, w, s[at:r.Start])
			}
			line := s[r.Start:r.End]
			if strings.Contains(line, "\n") {
				t.Errorf("%+q has a line end", line)
			}
			for _, width := range []int{ansi.StringWidth(line), ansi.StringWidthWc(line)} {
				if width > w && w > 1 && !mayBeWider {
					t.Errorf("%+q takes %d columns of %d", line, width, w)
				}
			}
			at = r.End
		}
		if strings.Trim(s[at:], " \n") != "" {
			t.Errorf("%+q at width %d loses its end %+q", s, w, s[at:])
		}
		for _, line := range Wrap(s, w) {
			if Width(line) > w {
				t.Errorf("%+q is wider than %d", line, w)
			}
		}
	})
}

func TestSpansWithin(t *testing.T) {
	t.Parallel()
	spans := []wire.Span{{0, 3}, {5, 12}, {20, 25}}
	tests := []struct {
		r    Range
		want []wire.Span
	}{
		{Range{0, 4}, []wire.Span{{0, 3}}},
		{Range{4, 8}, []wire.Span{{1, 4}}},
		{Range{8, 22}, []wire.Span{{0, 4}, {12, 14}}},
		{Range{12, 20}, nil},
		{Range{30, 40}, nil},
		{Range{6, 6}, nil},
	}
	for _, test := range tests {
		if got := SpansWithin(spans, test.r); !slices.Equal(got, test.want) {
			t.Errorf("SpansWithin(%v) = %v, want %v", test.r, got, test.want)
		}
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	mono := theme.ForScreen(theme.Options{Mode: "mono"})
	base, match := mono.Muted, mono.Match
	tests := []struct {
		in    string
		spans []wire.Span
		want  string
	}{
		{"", nil, ""},
		{"abc", nil, "<abc>"},
		{"abc", []wire.Span{{1, 2}}, "<a>[b]<c>"},
		{"abc", []wire.Span{{0, 3}}, "[abc]"},
		{"abc", []wire.Span{{2, 99}, {50, 60}}, "<ab>[c]"},
		{"abc", []wire.Span{{-4, 1}, {0, 2}}, "[a][b]<c>"},
		{"ab\ncd", []wire.Span{{1, 4}}, "<a>[b]\n[c]<d>"},
		{"a\n\nb", nil, "<a>\n\n<b>"},
	}
	for _, test := range tests {
		got := Marked(test.in, test.spans, base, match)
		want := regexp.MustCompile(`<\w+>|\[\w+\]`).ReplaceAllStringFunc(test.want, func(piece string) string {
			return map[byte]theme.Style{'<': base, '[': match}[piece[0]].Render(piece[1 : len(piece)-1])
		})
		if got != want {
			t.Errorf("Marked(%q, %v) = %q, want %q", test.in, test.spans, got, want)
		}
	}
}

func TestHyperlink(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"https://example.com/a?b=c#d", "http://example.com", "mailto:a@example.com", "file:///tmp/a%20b", "https://example.com/größe",
	} {
		got := Hyperlink(address, "text")
		if !strings.HasPrefix(got, "\x1b]8;;") || ansi.Strip(got) != "text" || Width(got) != 4 {
			t.Errorf("Hyperlink(%q) = %q", address, got)
		}
		if what, size, _ := Next(got); what != Link || strings.IndexFunc(got[1:size-2], func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
			t.Errorf("Hyperlink(%q) = %q has more than ASCII in its address", address, got)
		}
	}
	for _, address := range []string{
		"", "javascript:alert(1)", "ftp://example.com", "https:", "https:///x", "/etc/passwd", "http://a\x1b\\b", "http://a\nb",
		"https://example.com/" + strings.Repeat("x", maxLink),
	} {
		if got := Hyperlink(address, "text"); got != "text" {
			t.Errorf("Hyperlink(%q) = %q", address, got)
		}
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	var cache Cache[int, []string]
	drawn := 0
	draw := func() []string { drawn++; return []string{"x"} }
	for _, key := range []int{0, 0, 1, 1, 0} {
		cache.Get(key, draw)
	}
	if drawn != 3 {
		t.Errorf("drawn %d times, want 3", drawn)
	}
}

func BenchmarkWrap(b *testing.B) {
	for name, s := range map[string]string{
		"ascii": strings.Repeat("Roll back when the error budget of the last hour is spent. ", 70),
		"cjk":   strings.Repeat("日本語のテキスト、", 150),
		"mixed": strings.Repeat("größer, naïve, ship it 🚀 now; ", 120),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				WrapSpans(s, 80)
			}
		})
	}
}

func BenchmarkMarked(b *testing.B) {
	mono := theme.ForScreen(theme.Options{Mode: "mono"})
	base, match := mono.Muted, mono.Match
	line := strings.Repeat("Roll back when the error budget is spent. ", 3)
	spans := []wire.Span{{5, 9}, {20, 30}, {47, 51}, {60, 70}}
	b.ReportAllocs()
	for b.Loop() {
		Marked(line, spans, base, match)
	}
}
