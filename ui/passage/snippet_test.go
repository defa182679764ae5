package passage

import (
	"strings"
	"testing"

	"quarry/client/wire"
)

func TestSnippet(t *testing.T) {
	t.Parallel()
	straw := strings.Repeat("straw ", 200)
	for _, test := range []struct {
		name     string
		content  string
		best     string // where the best passage begins; none when empty
		title    string
		want     string // beginning
		wantMark string // first
	}{
		{"short", "Roll it *back*.", "", "", "Roll it back.", "Roll"},
		{"no mark", "## Steps\nnothing", "", "", "Steps › nothing", ""},
		{"title again", "# The Runbook #\n\nRoll it", "", "the runbook", "Roll it", "Roll"},
		{"title alone", "# Runbook", "", "Runbook", "", ""},
		{"best passage", straw + "\n- In a hurry? Roll back", "In a", "", "In a hurry? Roll back", "Roll"},
		{"best passage within a line", straw + "In a hurry? Roll back", "In a", "", "…In a hurry? Roll back", "Roll"},
		{"far into the best passage", straw + "One sentence. And then roll it", "straw", "", "…And then roll it", "roll"},
		{"most words", "roll out\n" + straw + "\nthen roll back", "", "", "then roll back", "roll"},
		{"in an address", straw + "\n[see](../roll/roll/roll.md) the list\n" + straw + "\nthen roll it", "[see]", "", "then roll it", "roll"},
		{"best passage in an address", straw + "[see](../pay/index.md) and roll it", "index", "", "…and roll it", "roll"},
		{"in code", straw + "\n```sh\n# a\nkwctl *roll* # b\n```\n", "", "", "kwctl *roll* # b", "roll"},
		{"after code", "```\n" + straw + "\n```\n**roll** `it`", "", "", "roll it", "roll"},
	} {
		r := wire.SearchResult{Title: test.title, Content: test.content}
		if test.best != "" {
			r.BestPassage = wire.Span{strings.Index(test.content, test.best), len(test.content)}
		}
		text, spans := Snippet(r, FindWords(test.content, []string{"roll", "back"}), 50, 100)
		mark := ""
		if len(spans) > 0 {
			mark = text[spans[0][0]:spans[0][1]]
		}
		if !strings.HasPrefix(text, test.want) || mark != test.wantMark || test.want == "" && text != "" {
			t.Errorf("%s: %q, first marked %q; want %q, %q", test.name, text, mark, test.want, test.wantMark)
		}
	}
}

func BenchmarkFindWords(b *testing.B) {
	text := strings.Repeat("Roll the deploy back when its error budget is spent, or sooner. ", 256)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		FindWords(text, []string{"roll", "back", "deploy", "how"})
	}
}

func BenchmarkSnippet(b *testing.B) {
	text := strings.Repeat("Some `prose` without, *emphasis* and [a link](https://acme.com).\n", 20)
	r := wire.SearchResult{Content: text + "Roll the deploy **back** when its error budget is spent.\n" + text}
	marks := FindWords(r.Content, []string{"roll", "back"})
	b.ReportAllocs()
	for b.Loop() {
		Snippet(r, marks, 30, 90)
	}
}
