package wire

import "testing"

func TestSpanOfLines(t *testing.T) {
	t.Parallel()
	c := Chunk{Content: "# Leave\n\n  Ask early. \nAsk twice.\n", Lines: []int{7, 10}}
	for lines, want := range map[[2]int]string{
		{7, 7}: "# Leave", {9, 9}: "Ask early.", {10, 10}: "Ask twice.", {8, 9}: "Ask early.", {9, 10}: "Ask early. \nAsk twice.",
		{1, 7}: "# Leave", {10, 99}: "Ask twice.", {1, 99}: "# Leave\n\n  Ask early. \nAsk twice.",
		{8, 8}: "", {0, 0}: "", {6, 6}: "", {11, 12}: "",
	} {
		if span := c.SpanOfLines(lines[0], lines[1]); c.Content[span[0]:span[1]] != want {
			t.Errorf("%v: %q, want %q", lines, c.Content[span[0]:span[1]], want)
		}
	}
	for _, unknown := range []Chunk{{Content: "a\nb"}, {Content: "a", Lines: []int{1, 9}}} {
		if span := unknown.SpanOfLines(2, 2); span != (Span{}) {
			t.Errorf("%+v has line 2 at %v", unknown, span)
		}
	}
}
