package theme

import (
	"testing"

	"charm.land/lipgloss/v2"
)

func TestUnder(t *testing.T) {
	t.Parallel()
	got := styleOf(lipgloss.NewStyle().Bold(true)).Under("\x1b[3ma\x1b[m b\x1b[0m")
	if want := "\x1b[1m\x1b[3ma\x1b[m\x1b[1m b\x1b[0m\x1b[1m\x1b[m"; got != want {
		t.Errorf("Under = %q, want %q", got, want)
	}
	if got := styleOf(lipgloss.NewStyle()).Under("plain"); got != "plain" {
		t.Errorf("nothing under a line changes nothing: %q", got)
	}
}

// A style writes what lipgloss does, also over several lines, but for an underlined text all at once.
func TestStyleRenders(t *testing.T) {
	t.Parallel()
	plain := lipgloss.NewStyle()
	for _, style := range []lipgloss.Style{plain, plain.Bold(true), plain.Foreground(lipgloss.Color("#ff8800")), plain.Reverse(true)} {
		for _, text := range []string{"word", "two words ", "日本", "over\nlines", "a\ttab"} {
			if got, want := styleOf(style).Render(text), style.Render(text); got != want && style.Render("x") != "x" {
				t.Errorf("%q becomes %q, want %q", text, got, want)
			}
		}
	}
	if got := styleOf(plain.Underline(true)).Render("two words"); got != "\x1b[4;4mtwo words\x1b[m" {
		t.Errorf("underlined: %q", got)
	}
	for _, style := range []Style{{}, styleOf(plain.Bold(true))} {
		if got := style.Render(""); got != "" {
			t.Errorf("no text becomes %q", got)
		}
	}
	if got := (Style{}).Render("plain\ntext"); got != "plain\ntext" {
		t.Errorf("no style changes a text: %q", got)
	}
}
