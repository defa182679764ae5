package theme

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Style styles text. It has colour and weight only, so that the sequences before and after a text are all there is to
// it: writing these is much faster than what lipgloss does, which measures each text. The zero value leaves text as it
// is.
type Style struct {
	*lipgloss.Style
	before, after string
}

func styleOf(style lipgloss.Style) Style {
	before, after, _ := strings.Cut(style.Render("x"), "x")
	return Style{&style, before, after}
}

// Render styles a text; "" stays empty.
func (s Style) Render(text string) string {
	switch {
	case text == "" || s.before == "":
		return text
	case strings.ContainsAny(text, "\n\t"):
		return s.Style.Render(text)
	}
	return s.before + text + s.after
}

// Under adds the style to a styled line, such as the background of a selected row: it is restored wherever the line
// resets its own styles.
func (s Style) Under(line string) string {
	for _, reset := range []string{"\x1b[m", "\x1b[0m"} {
		line = strings.ReplaceAll(line, reset, reset+s.before)
	}
	return s.Render(line)
}
