package passage

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
)

func TestShown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		markdown string
		want     int // occurrences of "it" that are shown
	}{
		{"it and *it* and `it`", 3},
		{"[it](https://it.example/it)", 1},
		{"[a](it.md) ![it](it.png)", 1},
		{"[it][it]\n\n[it]: https://example.com/it", 1},
		{"[1]: ../it.md", 0},
		{"see https://example.com/it, www.it.example and it@example.com, it", 1},
		{"see `https://example.com/it`", 1},
		{"<https://example.com/it>", 0},
		{"```\nhttps://example.com/it\n```", 1},
		{"```it\nit\n```", 1},
		{"<a\n  href=\"it\">it</a> <!-- it -->", 1},
		{"restart <it> now", 1},
		{"a@it: it www it://", 2},
	}
	for _, test := range tests {
		var spans []wire.Span
		for at := 0; ; {
			found := strings.Index(test.markdown[at:], "it")
			if found < 0 {
				break
			}
			spans = append(spans, wire.Span{at + found, at + found + len("it")})
			at += found + len("it")
		}
		if got := Shown(test.markdown, spans); len(got) != test.want {
			t.Errorf("%q: %d shown, want %d", test.markdown, len(got), test.want)
		}
	}
}

// FuzzShown holds that what is shown is some of what there is, in order.
func FuzzShown(f *testing.F) {
	f.Add("[a](b) <p>c</p> https://d.e f@g.h", 3)
	f.Add("<!-- a", 2)
	f.Add("<a\n\n> www.", 1)
	f.Fuzz(func(t *testing.T, markdown string, step int) {
		var spans []wire.Span
		for at := 0; step > 0 && at+step <= len(markdown); at += step {
			if utf8.RuneStart(markdown[at]) && !strings.ContainsFunc(markdown[at:at+step], func(r rune) bool { return !unicode.IsLetter(r) }) {
				spans = append(spans, wire.Span{at, at + step})
			}
		}
		shown := Shown(markdown, spans)
		if parsed := parsedShown(markdown, spans); !slices.Equal(shown, parsed) && len(spans) > 0 {
			t.Fatalf("%q: %v, parsed %v", markdown, shown, parsed)
		}
		for _, span := range shown {
			for len(spans) > 0 && spans[0] != span {
				spans = spans[1:]
			}
			if len(spans) == 0 {
				t.Fatalf("%q: %v is new", markdown, span)
			}
		}
	})
}

// FuzzTag holds a tag to the text.
func FuzzTag(f *testing.F) {
	for _, seed := range []string{"<br>", "<!-- a -->", "<!--", "</ td >", "<>", "<p", "<name>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown, length := Tag(text)
		if length < 0 || length > len(text) || len(shown) > length || shown != strings.TrimLeft(shown, "\n ") && len(shown) > 1 {
			t.Fatalf("%q: %q, %d", text, shown, length)
		}
	})
}
