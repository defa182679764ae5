package wire

import (
	"strings"
	"testing"
)

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

// Lines that are in no file, or in it once, do not shift the numbers of those below them.
func TestLinesBelowAddedOnes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		lines []int
		want  map[string]int
	}{
		"Markdown":          {"# Pay\n\n```go\nfunc pay() {}\n```\n", []int{4, 8}, map[string]int{"# Pay": 4, "func": 7}},
		"a file of code":    {"```go\npackage pay\n\nfunc pay() {}\n```\n", []int{1, 3}, map[string]int{"package": 1, "func": 3}},
		"a part of code":    {"```py\na = 1\nb = 2\n\n```\n", []int{900, 901}, map[string]int{"a = 1": 900, "b = 2": 901}},
		"parts of code":     {"```py\na = 1\n```\n```py\nb = 2\n```\n", []int{7, 8}, map[string]int{"a = 1": 7, "b = 2": 8}},
		"an end of code":    {"```py\nb = 2\n```\n", []int{30, 31}, map[string]int{"b = 2": 30}},
		"a whole table":     {"| a |\n| - |\n| 1 |\n", []int{5, 7}, map[string]int{"| a": 5, "| 1": 7}},
		"a part of a table": {"| a |\n| - |\n| 8 |\n| 9 |\n", []int{14, 15}, map[string]int{"| 8": 14, "| 9": 15}},
		"parts of a table":  {"| a |\n| - |\n| 1 |\n| a |\n| - |\n| 2 |\n", []int{5, 8}, map[string]int{"| 1": 7, "| 2": 8}},
		"CSV":               {"| a |\n| - |\n| 1 |\n| 2 |\n", []int{1, 3}, map[string]int{"| a": 1, "| 1": 2, "| 2": 3}},
	} {
		c := Chunk{Content: test.text, Lines: test.lines}
		for at, want := range test.want {
			if line := LineAt(test.text, test.lines, strings.LastIndex(test.text, at)); line != want && strings.Count(test.text, at) == 1 {
				t.Errorf("%s: %q is in line %d, want %d", name, at, line, want)
			}
			if span := c.SpanOfLines(want, want); !strings.Contains(test.text[span[0]:span[1]], at) {
				t.Errorf("%s: line %d is %q, want %q", name, want, test.text[span[0]:span[1]], at)
			}
		}
	}
}
