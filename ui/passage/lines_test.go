package passage

import (
	"strings"
	"testing"

	"quarry/client/wire"
)

func TestLines(t *testing.T) {
	t.Parallel()
	markdown := "## The *it* of it ##\n\n- [x] **it**\n  - [it](it.md)\n> 1. `it`\n\n| it | b |\n|---|---|\n| <p>it</p> | |\n\n```go\n\tit := **it\n```\nit <a\nhref=\"it\">it</a>\n"
	var spans []wire.Span
	for at := 0; at+2 <= len(markdown); at++ {
		if markdown[at:at+2] == "it" {
			spans = append(spans, wire.Span{at, at + 2})
		}
	}
	kinds := []string{Prose: "", Headline: "# ", Row: "| ", Code: "` "}
	var got []string
	for _, line := range linesOf(markdown, spans, "") {
		text := line.Text
		for i := len(line.Marks) - 1; i >= 0; i-- {
			m := line.Marks[i]
			text = text[:m[0]] + "<" + text[m[0]:m[1]] + ">" + text[m[1]:]
		}
		got = append(got, kinds[line.Kind]+line.Lead+text)
	}
	want := []string{"# The <it> of <it>", "- [x] <it>", "  - <it>", "1. <it>", "| <it> · b", "| <it>", "` \t<it> := **<it>", "<it>", "<it>"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// FuzzLines holds marks to their lines.
func FuzzLines(f *testing.F) {
	f.Add("# a\n```\nb\n```\n- c <p\n> d", 2)
	f.Add("> - [x] *a\nb*", 1)
	f.Fuzz(func(t *testing.T, markdown string, step int) {
		var spans []wire.Span
		for at := 0; step > 0 && at+step <= len(markdown); at += step {
			spans = append(spans, wire.Span{at, at + step})
		}
		for _, line := range linesOf(markdown, spans, "") {
			if strings.Contains(line.Text, "\n") || strings.Trim(line.Lead, " -*+[]xX") != "" {
				t.Fatalf("%q: %+v", markdown, line)
			}
			for _, mark := range line.Marks {
				if mark[0] < 0 || mark[0] >= mark[1] || mark[1] > len(line.Text) {
					t.Fatalf("%q: %v in %q", markdown, mark, line.Text)
				}
			}
		}
	})
}
