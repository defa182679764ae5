// Package paint turns text into cells: every string that a widget shows passes through it, so that what it measures is
// what the terminal draws.
//
// Terminals disagree about the width of some text: the older ones add up characters, the newer ones measure what a
// reader takes for one character. Line and Text turn foreign text into text on which both agree. Everything else here
// takes such text, with or without styles.
package paint

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is the number of columns that a styled string takes.
func Width(s string) int {
	if plainASCII(s) == len(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// Blank is a line of w empty columns.
func Blank(w int) string { return strings.Repeat(" ", max(0, w)) }

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

// plainASCII is the length of the printable ASCII that a text begins with.
func plainASCII(s string) int {
	for at := range len(s) {
		if s[at] < ' ' || s[at] >= 0x7f {
			return at
		}
	}
	return len(s)
}
