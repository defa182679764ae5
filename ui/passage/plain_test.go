package passage

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"quarry/client"
	"quarry/client/wire"
)

// plain is a whole text as a plainer makes it.
func plain(markdown string, spans []wire.Span) (string, []wire.Span) {
	p := newPlainer(markdown, wire.OrderSpans(markdown, spans))
	p.lines(0, len(markdown))
	return p.done()
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, markdown, want string }{
		{"nothing", "", ""},
		{"words", "as  it\nstands\t here", "as it stands here"},
		{"heading", "# Steps\n\nGo. ## not one", "Steps › Go. ## not one"},
		{"closed heading", "## Steps ##\nGo", "Steps › Go"},
		{"tag that was cut", "See <iframe\n  src=\"https://a.io?s=25\"\n  frame", "See"},
		{"no tag that was cut", "if a <b the rest", "if a <b the rest"},
		{"hash tag", "#incidents is a channel", "#incidents is a channel"},
		{"colon", "# Steps:\n- one", "Steps: one"},
		{"emphasis", "**Roll** *back* ~~now~~ __or later__ _never_.", "Roll back now or later never."},
		{"nested", "**Roll *back* now** and ***both*** and *a **b** c*", "Roll back now and both and a b c"},
		{"nested at the end", "**bold *it*** x", "bold it x"},
		{"over lines", "**Roll\nback** now", "Roll back now"},
		{"names", "kwctl_run ERR_MIGRATION_GUARD __init__ a_b_c _x_y_ snake_ _case", "kwctl_run ERR_MIGRATION_GUARD __init__ a_b_c x_y snake_ _case"},
		{"stars that are none", "2 * 3 * 4, *.go and *.md, **/*.ts, 2**8", "2 * 3 * 4, *.go and *.md, **/*.ts, 2**8"},
		{"cut emphasis", "**Roll back", "Roll back"},
		{"cut emphasis before", "it is so** then", "it is so then"},
		{"cut emphasis behind its words", "** Pause. **/*.go", "Pause. **/*.go"},
		{"stars at the beginning", "**/*.go", "**/*.go"},
		{"not over paragraphs", "*a\n\nb*", "*a b*"},
		{"wiki links", "by [[River page|the label]], [[Oak]], ![[map.png|300]], [[Page#Part]] and [[#Part]]", "by the label, Oak, map.png, Page#Part and Part"},
		{"no wiki links", "`[[ -f a ]]` [[ -f b ]] [[1]](https://a.example) [[]] [[a", "[[ -f a ]] [[ -f b ]] [1] [[]] [[a"},
		{"wiki link in a row", "| a | b |\n|---|---|\n| [[Oak\\|tree]] | [[Ash]] |", "a · b · tree · Ash"},
		{"footnotes", "It grows.[^1] So[^long-name].\n\n[^1]: So it is said.\n[^long-name]: https://a.example/", "It grows.^1 So^long-name. ^1: So it is said. ^long-name: https://a.example/"},
		{"inline notes", "It grows.^[So **it** is said.] 2^[x and a^b", "It grows.[So it is said.] 2^[x and a^b"},
		{"comments", "It %%not sure%% grows 100%% or 50%% of `%%a%%`.", "It grows 100%% or 50%% of %%a%%."},
		{"comments over lines", "It %%not\nsure%% grows.\n\n%%\n# a\n\nb\n%%\nEnd", "It grows. End"},
		{"no comments over lines", "`%%` a\n\n```\n%% b\n%% c\n```\n50%% d %% e\n\nf %%", "%% a · %% b · %% c · 50%% d %% e f %%"},
		{"variables of batch files", "for %%i in (*) do\necho %%i\n\n%%i is one, %%j another", "for %%i in (*) do echo %%i %%i is one, %%j another"},
		{"callouts", "> [!note] Mind the bank\n> It is steep.\n\n> [!WARNING]\n> Deep.\n\n> [!tip]- Folded\n\nNot [!this] one", "Mind the bank It is steep. WARNING Deep. Folded Not [!this] one"},
		{"highlights", "a ==marked== word, a == b, x==y, ==not== `==code==`", "a marked word, a == b, x==y, not ==code=="},
		{"code", "Run `kwctl *all* _x_` or ``a ` b``", "Run kwctl *all* _x_ or a ` b"},
		{"cut code", "Run `kwctl", "Run kwctl"},
		{"block of code", "Do:\n```bash\n# list\nls | grep *a*\n```\nand **then**", "Do: # list · ls | grep *a* · and then"},
		{"tildes", "~~~\n**x**\n~~~\n*y*", "**x** · y"},
		{"quotation", "> **In a hurry?** Pause.\n>\n> > Then go.", "In a hurry? Pause. Then go."},
		{"list", "Check:\n- [ ] one\n- [x] two\n* three\n+ four\n1. five", "Check: one · two · three · four 1. five"},
		{"table", "| a | **b** |\n|---|:-:|\n| c \\| d | |\n\nEnd", "a · b · c | d · End"},
		{"link", "See [the **board**](https://x.y/(a)_b_) ![pic](p.png \"t\") [ref][1] <https://z.y> [no] a[i][j]",
			"See the board pic ref https://z.y [no] a[i][j]"},
		{"cut link", "See [it](https://x.y/aaa", "See it"},
		{"definition", "text\n[1]: https://x.y\nmore", "text more"},
		{"rules", "a\n---\nb\n***\nc\n===", "a b c"},
		{"escapes", `1\. \*no\* C:\dir \_x\_`, `1. *no* C:\dir _x_`},
		{"CJK", "# 手順\n本番への**ロールバック**は", "手順 › 本番へのロールバックは"},
		{"references", "R&amp;D &nbsp;&nbsp; &lt;*b*&gt; AT&T &x; &#27;[31m `&amp;`", "R&D <b> AT&T &x; [31m &amp;"},
		{"wide spaces", "a\u00a0\u3000b", "a b"},
	} {
		if got, _ := plain(test.markdown, nil); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

func TestPlainMovesSpans(t *testing.T) {
	t.Parallel()
	markdown := "## Rolling *back*\n\n| `roll` | [roll](https://roll.io) |\n- **ro**ll__back and roll\\_back\n> roll  \n> back"
	words := []string{"roll"}
	spans := FindWords(markdown, words)
	spans = append(spans, wire.Span{-4, 2}, wire.Span{3, 12}, wire.Span{1 << 30, 1 << 31}, wire.Span{5, 2})
	text, moved := plain(markdown, spans)
	var marked []string
	for _, span := range moved {
		marked = append(marked, text[span[0]:span[1]])
	}
	want := "Rolling back|roll|roll|ro|roll|roll"
	if got := strings.Join(marked, "|"); !strings.HasPrefix(got, "Rolling") || strings.Count(got, "roll") != 4 {
		t.Errorf("%q marks %q, want about %q", text, got, want)
	}
}

func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// isSubsequence tells whether all of part stands in whole, in order.
func isSubsequence(part, whole string) bool {
	rest := []rune(whole)
	for _, r := range part {
		at := 0
		for at < len(rest) && rest[at] != r {
			at++
		}
		if at == len(rest) {
			return false
		}
		rest = rest[at+1:]
	}
	return true
}

// Whatever is plain stood in the Markdown, in order, and what is marked was marked.
func FuzzPlain(f *testing.F) {
	f.Add("> [!note]+ [[a|==b==]][^1]\n[^1]: ![[c|3]]", "a", 2, 5)
	f.Add("# Roll *back*\n\n- `a_b` [x](y) | c |\n```\ncode\n```", "roll", 0, 9)
	f.Add("***a **b* c___d_ ![[x]](((y \\", "b", 3, 1)
	f.Add("本番への**ロールバック**は <https://a.b>", "ロールバック", 4, 17)
	f.Fuzz(func(t *testing.T, markdown, word string, from, to int) {
		markdown = client.Sanitize(markdown)
		spans := append(FindWords(markdown, []string{strings.ToLower(word)}), wire.Span{from, to})
		text, moved := plain(markdown, spans)
		if !isSubsequence(letters(text), letters(markdown)) {
			t.Fatalf("%q is no part of %q", text, markdown)
		}
		if strings.Contains(text, "\n") || strings.Contains(text, "  ") || strings.TrimSpace(text) != text {
			t.Fatalf("white space in %q", text)
		}
		checkMarks(t, markdown, wire.OrderSpans(markdown, spans), text, moved)
		for _, columns := range []int{0, 1, 7, 80} {
			result := wire.SearchResult{Content: markdown, Title: word, BestPassage: wire.Span{from, to}}
			snippet, marks := Snippet(result, spans, columns/2, columns)
			checkMarks(t, markdown, wire.OrderSpans(markdown, spans), snippet, marks)
		}
	})
}

// checkMarks looks whether spans of a plain text are in order and mark, one by one, what spans of its source mark.
func checkMarks(t *testing.T, source string, spans []wire.Span, text string, moved []wire.Span) {
	t.Helper()
	at, next := 0, 0
	for _, span := range moved {
		if span[0] < at || span[1] <= span[0] || span[1] > len(text) {
			t.Fatalf("%v in %q of %d bytes", moved, text, len(text))
		}
		marked := text[span[0]:span[1]]
		if utf8.ValidString(text) && !utf8.ValidString(marked) {
			t.Fatalf("%q is half a character", marked)
		}
		for next < len(spans) && !isSubsequence(letters(marked), letters(source[spans[next][0]:spans[next][1]])) {
			next++
		}
		if next == len(spans) {
			t.Fatalf("%q is marked in %q, and not in %q %v", marked, text, source, spans)
		}
		at, next = span[1], next+1
	}
}
