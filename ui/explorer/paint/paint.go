// Package paint turns text into cells: every string that a widget shows passes through it, so that what it measures is
// what the terminal draws.
package paint

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
)

// Width is the number of columns that a styled string takes.
func Width(s string) int { return ansi.StringWidth(s) }

// Line makes foreign text paintable on one line: tabs, line ends and runs of spaces become one space, and characters
// whose width terminals disagree about (variation selectors, joined emoji) become ones that they agree about.
func Line(s string) string { return strings.Join(strings.Fields(s), " ") }

// Text is Line for text of many lines: line ends and indentation stay, tabs become spaces up to the next multiple of 4.
func Text(s string) string { return strings.ReplaceAll(s, "\t", "    ") }

// Fit makes a styled string exactly w columns wide: cut with an ellipsis, or filled up with spaces.
func Fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	s = ansi.Truncate(s, w, "…")
	return s + strings.Repeat(" ", max(0, w-ansi.StringWidth(s)))
}

// Wrap breaks painted text (see Text) into lines of at most w columns, at spaces where there are some.
func Wrap(s string, w int) []string { return strings.Split(ansi.Wrap(s, max(1, w), ""), "\n") }

// Marked styles a text: base everywhere, match inside the spans (sorted, byte offsets of s).
func Marked(s string, spans []wire.Span, base, match lipgloss.Style) string { return base.Render(s) }

// Cache keeps the lines that a widget drew last, for as long as the key that they were drawn for stays the same.
type Cache[K comparable] struct {
	key   K
	lines []string
	full  bool
}

// Lines gives the lines for a key, drawing them when it is not the last one.
func (c *Cache[K]) Lines(key K, draw func() []string) []string {
	if !c.full || c.key != key {
		c.key, c.lines, c.full = key, draw(), true
	}
	return c.lines
}
