package paint

import "testing"

func TestWithoutHyperlinks(t *testing.T) {
	link := Hyperlink("https://acme.com/a", "the text")
	for text, want := range map[string]string{
		"":                         "",
		"plain \x1b[1mbold\x1b[m":  "plain \x1b[1mbold\x1b[m",
		"a " + link + " b " + link: "a the text b the text",
		"cut \x1b]8;;https://ac":   "cut ",
	} {
		if got := WithoutHyperlinks(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
