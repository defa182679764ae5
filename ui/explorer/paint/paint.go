// Package paint measures, cleans, wraps, cuts and styles text for the terminal.
//
// Terminals disagree about the width of some text: older ones add up characters, newer ones measure grapheme clusters.
// Line and Text convert foreign text to text on which both agree. All other functions expect such text, with or without
// styles.
package paint

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns the width of a styled string in columns.
func Width(s string) int {
	if plainASCII(s) == len(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// Blank returns w spaces.
func Blank(w int) string { return strings.Repeat(" ", max(0, w)) }

// Cache keeps the lines of a widget until their key changes.
type Cache[K comparable] struct {
	key   K
	lines []string
	full  bool
}

// Lines returns the lines for a key. It calls draw if the key has changed.
func (c *Cache[K]) Lines(key K, draw func() []string) []string {
	if !c.full || c.key != key {
		c.key, c.lines, c.full = key, draw(), true
	}
	return c.lines
}

// plainASCII returns the length of the printable ASCII at the start of a text.
func plainASCII(s string) int {
	for at := range len(s) {
		if s[at] < ' ' || s[at] >= 0x7f {
			return at
		}
	}
	return len(s)
}
