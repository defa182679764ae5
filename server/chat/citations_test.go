package chat

import (
	"fmt"
	"strings"
	"testing"
)

func sources() map[int]Source {
	return map[int]Source{1: {"a", "https://a.example/x"}, 2: {"b", ""}, 12: {"c", "https://c.example/a (b)[c]"}}
}

// rewritten puts a text through a Citer in pieces of some size, and notes where news of a citation come.
func rewritten(text string, size int, drop bool) (string, string) {
	c := NewCiter(sources(), drop)
	var b, news strings.Builder
	take := func(pieces []Piece) {
		for _, p := range pieces {
			b.WriteString(p.Text)
			if p.Citation != 0 {
				fmt.Fprintf(&news, "%d@%d ", p.Citation, b.Len())
			}
		}
	}
	for len(text) > 0 {
		n := min(size, len(text))
		take(c.Write(text[:n]))
		text = text[n:]
	}
	take(c.Close())
	return b.String(), strings.TrimSpace(news.String())
}

func TestCiter(t *testing.T) {
	t.Parallel()
	const one, two = "[[1]](https://a.example/x)", "[[2]]()"
	tests := []struct{ name, text, want, news, dropped string }{
		{"nothing", "", "", "", ""},
		{"no citation", "Just text [a] [ ] [] (1) 1].", "Just text [a] [ ] [] (1) 1].", "", "Just text [a] [ ] [] (1) 1]."},
		{"one", "Do it [1].", "Do it " + one + ".", "1@6", "Do it."},
		{"at the end", "Do it[1]", "Do it" + one, "1@5", "Do it"},
		{"without a link", "Do it [2].", "Do it " + two + ".", "2@6", "Do it."},
		{"a link that must be escaped", "[12]", "[[12]](https://c.example/a%20%28b%29%5Bc%5D)", "12@0", ""},
		{"unknown", "Do it [7].", "Do it [7].", "", "Do it [7]."},
		{"two in a row", "x [1][2] y", "x " + one + two + " y", "1@2 2@28", "x y"},
		{"a list", "x [1, 2,7] y", "x " + one + two + "[7] y", "1@2 2@28", "x [7] y"},
		{"a list of unknown ones", "x [7, 8] y", "x [7, 8] y", "", "x [7, 8] y"},
		{"twice", "[1] [1]", one + " " + one, "1@0", ""},
		{"linked already, elsewhere", "x [[1]](https://evil.example/?q=(a)) y", "x " + one + " y", "1@2", "x y"},
		{"a number as a link", "x [1](javascript:alert(1)) y", "x " + one + " y", "1@2", "x y"},
		{"a remark behind", "x [1] (see there)", "x " + one + " (see there)", "1@2", "x (see there)"},
		{"a remark at once", "x [1](see there)", "x " + one + "(see there)", "1@2", "x(see there)"},
		{"doubled", "x [[1]] y", "x " + one + " y", "1@2", "x y"},
		{"doubled and a list", "x [[1,2]] y", "x " + one + two + " y", "1@2 2@28", "x y"},
		{"half", "x [1", "x [1", "", "x [1"},
		{"half of doubled", "x [[1]", "x [" + one, "1@3", "x ["},
		{"in an indented block", "- a\n  ```\n  a[1]\n  ```\n  [1]", "- a\n  ```\n  a[1]\n  ```\n  " + one, "1@25",
			"- a\n  ```\n  a[1]\n  ```\n"},
		{"half an address", "x [1](htt", "x " + one + "(htt", "1@2", "x(htt"},
		{"escaped", `x \[1] y`, `x \[1] y`, "", `x \[1] y`},
		{"long numbers", "x [1234] y", "x [1234] y", "", "x [1234] y"},
		{"in code", "`argv[1]` and [1]", "`argv[1]` and " + one, "1@14", "`argv[1]` and"},
		{"in code of two ticks", "``a`[1]`` [1]", "``a`[1]`` " + one, "1@10", "``a`[1]``"},
		{"code that is not closed", "`a[1]\n[1]", "`a[1]\n" + one, "1@6", "`a[1]\n"},
		{"in a block", "```go\na[1]\n```\n[1]", "```go\na[1]\n```\n" + one, "1@15", "```go\na[1]\n```\n"},
		{"in a block of tildes", "~~~\na[1]\n```\n[1]\n~~~\n[1]", "~~~\na[1]\n```\n[1]\n~~~\n" + one, "1@21",
			"~~~\na[1]\n```\n[1]\n~~~\n"},
		{"ticks within a line of a block", "```\na ``` [1]\n```\n", "```\na ``` [1]\n```\n", "", "```\na ``` [1]\n```\n"},
		{"other scripts", "版本 [1]。é[2]", "版本 " + one + "。é" + two, "1@7 2@38", "版本。é"},
		{"spaces inside", "x [ 1 ] y", "x " + one + " y", "1@2", "x y"},
	}
	for _, test := range tests {
		for _, size := range []int{1, 2, 3, 7, 1000} {
			got, news := rewritten(test.text, size, false)
			if got != test.want || news != test.news {
				t.Errorf("%s, by %d: %q, %q", test.name, size, got, news)
			}
			if got, _ := rewritten(test.text, size, true); got != test.dropped {
				t.Errorf("%s, by %d, dropped: %q", test.name, size, got)
			}
		}
	}
}

func TestCiterHoldsLittle(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[", "[[", "[1, ", "[1](", "`", "~", " ", "[1](a"} {
		c := NewCiter(sources(), true)
		for range 10_000 {
			c.Write(text[len(text)-1:])
			if len(c.held) > maxCitation+maxTarget+10 {
				t.Fatalf("%q: %d bytes are held", text, len(c.held))
			}
		}
	}
}

func TestUncited(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "",
		"a [[1]](https://x) b":       "a b",
		"a[[1]]()[[2]](x).":          "a.",
		"a [[x]] [[1]] [1] b":        "a [[x]] [1] b",
		"[[":                         "[[",
		"a [[12]](https://c/%28) [b": "a [b",
	} {
		if got := Uncited(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzCiter(f *testing.F) {
	for _, seed := range []string{"a [1] [[2]](x) `b[1]` ```\n[1]\n```", "[1, 2](", "~~~[12]", `\[1]`, "[1](a(b)c)d", " [1] [7]"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(1, size%100)
		for _, drop := range []bool{false, true} {
			whole, news := rewritten(text, len(text)+1, drop)
			cut, cutNews := rewritten(text, size, drop)
			if whole != cut || news != cutNews {
				t.Fatalf("%q: %q (%s), by %d %q (%s)", text, whole, news, size, cut, cutNews)
			}
			if again, _ := rewritten(text, 1, drop); again != whole {
				t.Fatalf("%q: %q, by 1 %q", text, whole, again)
			}
			if drop && len(whole) > len(text) {
				t.Fatalf("%q became longer: %q", text, whole)
			}
		}
	})
}
