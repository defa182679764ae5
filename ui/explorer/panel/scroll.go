package panel

import (
	"strings"

	"charm.land/bubbles/v2/viewport"
)

// Text scrolls lines that are wrapped already.
type Text struct {
	view viewport.Model
	made any // what the lines were made for
}

// Set makes the lines again if what they depend on, the key, has changed.
func (t *Text) Set(width, height int, key any, lines func() []string) {
	if key != t.made {
		t.made = key
		t.view.SetContentLines(lines())
	}
	t.view.SetWidth(width)
	t.view.SetHeight(max(0, height))
	t.view.SetYOffset(t.view.YOffset()) // no further than the end
}

// Move scrolls by lines, up when negative.
func (t *Text) Move(lines int) { t.view.SetYOffset(t.view.YOffset() + lines) }

// Page scrolls by pages, with one line of the page before.
func (t *Text) Page(pages int) { t.Move(pages * max(1, t.view.Height()-1)) }

// Reveal scrolls as little as shows a line.
func (t *Text) Reveal(line int) {
	t.view.SetYOffset(min(line, max(t.view.YOffset(), line-t.view.Height()+1)))
}

// Body draws the lines that are seen.
func (t *Text) Body() Body {
	var b Body
	if t.view.Width() > 0 && t.view.Height() > 0 {
		b.Lines = strings.Split(t.view.View(), "\n")
	}
	b.ThumbFrom, b.ThumbTo = Thumb(0, t.view.Height(), t.view.YOffset(), t.view.TotalLineCount())
	return b
}

// Choice is the chosen row of a list that may be longer than its place.
type Choice struct {
	At        int
	top, rows int // as drawn last
}

// Move moves the choice by rows, stopping at the ends.
func (c *Choice) Move(rows, count int) { c.At = max(0, min(c.At+rows, count-1)) }

// Page moves the choice by pages.
func (c *Choice) Page(pages, count int) { c.Move(pages*max(1, c.rows-1), count) }

// Window returns the rows to draw: those of the last time, moved as little as shows the choice and, where there is room, a
// row beyond it.
func (c *Choice) Window(count, rows int) (from, to int) {
	margin := 0
	if rows >= 4 {
		margin = 1
	}
	c.rows = rows
	c.top = max(min(c.top, c.At-margin), c.At+margin-rows+1)
	c.top = max(0, min(c.top, count-rows))
	return c.top, min(c.top+rows, count)
}

// Thumb returns the part of the rows that begin at start which stands for what is seen of a longer list; none where all
// of it is seen.
func Thumb(start, rows, from, count int) (int, int) {
	if rows <= 0 || count <= rows {
		return 0, 0
	}
	size := max(1, rows*rows/count)
	at := start + (rows-size)*from/(count-rows)
	return at, at + size
}
