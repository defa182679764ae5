package slack

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"quarry/internal/testkit/longtest"
)

func TestMarkdown(t *testing.T) {
	names := map[string]string{"U1": "jo"}
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"*bold* and _slanted_ and ~struck~", "**bold** and _slanted_ and ~~struck~~"},
		{"*_both_*", "**_both_**"},
		{"2 * 3 * 4, snake_case_name, a~b~c", "2 * 3 * 4, snake_case_name, a~b~c"},
		{"*not closed, _this is_", "*not closed, _this is_"},
		{"(*in brackets*)", "(**in brackets**)"},
		{"<https://acme.com/a_b_c>", "https://acme.com/a_b_c"},
		{"<https://acme.com|acme.com>", "https://acme.com"},
		{"<https://acme.com/x(1)|see [this]>", "[see (this)](https://acme.com/x%281%29)"},
		{"*<https://acme.com/a*b|bold link>*", "**[bold link](https://acme.com/a*b)**"},
		{"<https://acme.com/?a=1&amp;b=2|q>", "[q](https://acme.com/?a=1&b=2)"},
		{"<mailto:jo@acme.com|jo@acme.com> <mailto:kim@acme.com>", "jo@acme.com kim@acme.com"},
		{"<javascript:alert(1)|click>", "click"},
		{"<https://user:pw@evil.com|click>", "click"},
		{"<@U1> <@U2> <@U3|kim>", "@jo @U2 @kim"},
		{"<#C1|general> <#C2>", "#general #C2"},
		{"<!here> <!subteam^S1|@oncall> <!date^1392734382^{date}|18 Feb 2014>", "@here @oncall 18 Feb 2014"},
		{"1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt;", "1 < 2 && 3 > 2 &lt;"},
		{"&gt; quoted *bold*\n&gt;&gt;&gt; more\nplain", "> quoted **bold**\n> more\nplain"},
		{"run `a *b* <https://x.com|x> &lt;c&gt;` now", "run `a *b* x <c>` now"},
		{"an ` alone *b*", "an ` alone **b**"},
		{"see ```\nx := *p\n<https://x.com>\n``` done", "see \n```\nx := *p\nhttps://x.com\n```\n done"},
		{"``````", ""},
		{"open ``` *b*", "open ``` **b**"},
		{"< not closed *b*", "< not closed *b*"},
		{":tada: done", ":tada: done"},
		{"a&amp;nbsp;b <https://acme.com|c&amp;nbsp;d> `e&amp;nbsp;f`", "a b [c d](https://acme.com) `e&nbsp;f`"},
		{"<https://acme.com|ODSC | Conferences>", "[ODSC | Conferences](https://acme.com)"},
	} {
		if got := markdown(c.in, names); got != c.want {
			t.Errorf("%q\ngot  %q\nwant %q", c.in, got, c.want)
		}
	}
}

func TestTitlesOfLinksAreQuoted(t *testing.T) {
	if got, want := linked("ODSC | Data <Science> & more", "https://acme.com"), "[ODSC | Data <Science> & more](https://acme.com)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Any text may be a message: what comes of it is bounded, is text, and has no link that no browser should open.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"*a* _b_ ~c~", "<https://a|b>", "```x```", "&gt; <@U1> `c`", "<!date^1^x|y>", strings.Repeat("*<", 50), strings.Repeat("*<", 49) + "*<*",
		"[x](javascript:1)<javascript:1|x>", "\x1b[2J\u202e\xff"} {
		f.Add(seed)
	}
	names := map[string]string{"U1": "jo"}
	f.Fuzz(func(t *testing.T, text string) {
		got := markdown(text, names)
		if len(got) > 4*len(text)+16 || !utf8.ValidString(got) {
			t.Fatalf("%d bytes of %d", len(got), len(text))
		}
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Fatalf("controls in %q", got)
		}
		for _, bad := range []string{"](javascript:", "](file:", "](data:"} {
			if strings.Contains(got, bad) && !strings.Contains(entities(visible(text)), bad) {
				t.Fatalf("%q makes %q", text, got)
			}
		}
		if line := plain(text); strings.Contains(line, "\n") || utf8.RuneCountInString(line) > maxName {
			t.Fatalf("line %q", line)
		}
	})
}

// However the marks are heaped up, no text takes long.
func TestMarksThatNeverEnd(t *testing.T) {
	for _, unit := range []string{"*a ", "<", "*<", "_a*b~", "`", "```", "*a*", "<@", "&gt;", "*_~a"} {
		text := strings.Repeat(unit, maxText/longtest.Rounds(4, 1)/len(unit))
		steps := testing.AllocsPerRun(1, func() { markdown(text, nil) })
		if steps > float64(8*len(text)) {
			t.Errorf("%q: %v allocations for %d bytes", unit, steps, len(text))
		}
	}
}
