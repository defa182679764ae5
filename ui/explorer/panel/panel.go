// Package panel draws what lies over the panes: one frame, two ways to scroll, and the panels that are small. The
// filters and the set-up are panels in packages of their own.
package panel

import (
	"strings"

	"charm.land/bubbles/v2/viewport"
	"go.mau.fi/util/exslices"

	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
)

// Panel is the inside of a frame. Its methods are the keys that all panels have; what a single panel can do besides is
// in the explorer's table of bindings.
type Panel interface {
	// Title returns the styled texts at the left and at the right of the upper border.
	Title(width int, th theme.Theme) (title, beside string)
	View(width, height int, th theme.Theme) Body
	// Move moves the choice, or scrolls, by lines; up when negative.
	Move(lines int)
	// Page moves by pages, as high as those drawn last.
	Page(pages int)
	// Edit changes the text being typed, if there is one.
	Edit(change func(*line.Editor))
	// Escape names what Back does: Close, Cancel or another word for the key's hint.
	Escape() string
	// Back takes one step back inside the panel. False means that there is none and the panel closes.
	Back() bool
}

// What esc does in a panel.
const (
	Close  = "close"
	Cancel = "cancel"
)

// Static has the methods of a panel in which nothing is typed and which esc closes.
type Static struct{}

func (Static) Edit(func(*line.Editor)) {}
func (Static) Escape() string          { return Close }
func (Static) Back() bool              { return false }

// Body is what a panel draws: at most the lines that there is room for, in any width.
type Body struct {
	Lines  []string
	X, Y   int // of the terminal's cursor
	Cursor bool
	// The scroll thumb covers the lines from ThumbFrom to before ThumbTo.
	ThumbFrom, ThumbTo int
}

const (
	leastWidth, leastHeight = 12, 4 // below either there is no border
	paddedWidth             = 30    // from here on there is a column between border and text
)

// Framed reports whether a panel has room for a border.
func Framed(width, height int) bool { return width >= leastWidth && height >= leastHeight }

// Inside returns the size of a panel's inside, and where it begins.
func Inside(width, height int) (x, y, innerWidth, innerHeight int) {
	switch {
	case !Framed(width, height):
		if height > 2 {
			y = 1 // the title
		}
		return 0, y, width, height - y
	case width < paddedWidth:
		x = 1
	default:
		x = 2
	}
	return x, 1, width - 2*x, height - 2
}

// Draw draws a panel in its frame, as high as its content, at most height lines of width columns, with the keys that
// can be pressed in the lower border. A panel without room for a border has its title above it.
func Draw(p Panel, width, height int, th theme.Theme, keys string) Body {
	if width <= 0 || height <= 0 {
		return Body{Lines: make([]string, max(0, height))}
	}
	x, y, innerWidth, innerHeight := Inside(width, height)
	body := p.View(innerWidth, innerHeight, th)
	title, beside := p.Title(width-len("╭  ╮"), th)
	lines := make([]string, 0, height)
	if !Framed(width, height) {
		if y > 0 {
			lines = append(lines, paint.Fit(title, width))
		}
		lines = append(lines, paint.Block(body.Lines, width, innerHeight)...)
	} else {
		height = min(height, max(1, len(body.Lines))+2)
		frame := paint.Frame{Width: width, Height: height, Line: th.BorderFocused, Pad: x - 1, Title: title,
			Beside: beside, Foot: keys, ThumbFrom: body.ThumbFrom, ThumbTo: body.ThumbTo}
		lines = frame.Draw(body.Lines)
	}
	body.Lines, body.X, body.Y = lines, min(body.X+x, width-1), body.Y+y
	return body
}

// Wrapped returns foreign text as indented, styled lines of at most width columns; none for an empty one.
func Wrapped(text string, indent, width int, style theme.Style) []string {
	if text == "" {
		return nil
	}
	return exslices.CastFunc(paint.Wrap(paint.Line(text), max(1, width-indent)), func(line string) string {
		return paint.Blank(indent) + style.Render(line)
	})
}

// Input draws a line to type in, width columns wide, and returns the column of the cursor.
func Input(typed *line.Editor, width int, th theme.Theme, placeholder string) (drawn string, x int) {
	const mark = "› "
	text, x := typed.View(max(0, width-paint.Width(mark)), th, placeholder, false)
	return th.Prompt.Render(mark) + text, min(x+paint.Width(mark), max(0, width-1))
}

// Bar draws a part of a whole as a bar of at most width columns; anything but nothing is seen. It is half a line high,
// so that the bars of lines below each other stay apart.
func Bar[N int | float64](part, whole N, width int) string {
	if part <= 0 || whole <= 0 {
		return ""
	}
	return strings.Repeat("▄", max(1, min(int(float64(part)/float64(whole)*float64(width)+0.5), width)))
}

// Row draws a row of a list, width columns wide, with a bar and a background of its own when it is selected.
func Row(text string, selected bool, width int, th theme.Theme) string {
	if !selected {
		return paint.Fit(" "+text, width)
	}
	return th.Selected.Under(paint.Fit(th.Prompt.Render("▌")+text, width))
}

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

// Body draws the lines that are seen.
func (t *Text) Body() Body {
	var b Body
	if t.view.Width() > 0 && t.view.Height() > 0 {
		b.Lines = strings.Split(t.view.View(), "\n")
		b.Lines = b.Lines[:min(len(b.Lines), t.view.TotalLineCount())]
	}
	b.ThumbFrom, b.ThumbTo = Thumb(0, t.view.Height(), t.view.YOffset(), t.view.TotalLineCount())
	return b
}

// Choice is the chosen row of a list that may be longer than its place.
type Choice struct {
	At        int
	count     int // rows of the list
	top, rows int // as drawn last
}

// Of sets the number of rows. The choice stays where it is, or as near as there are rows.
func (c *Choice) Of(count int) {
	c.count = count
	c.Move(0)
}

// Move moves the choice by rows, stopping at the ends.
func (c *Choice) Move(rows int) { c.At = max(0, min(c.At+rows, c.count-1)) }

// Page moves the choice by pages.
func (c *Choice) Page(pages int) { c.Move(pages * max(1, c.rows-1)) }

// Window returns the rows to draw: those of the last time, moved as little as shows the choice and, where there is
// room, a row beyond it.
func (c *Choice) Window(rows int) (from, to int) {
	margin := 0
	if rows >= 4 {
		margin = 1
	}
	c.rows = rows
	c.top = max(min(c.top, c.At-margin), c.At+margin-rows+1)
	c.top = max(0, min(c.top, c.count-rows))
	return c.top, min(c.top+rows, c.count)
}

// Rows draws the rows of the list that there is room for, below what a body has already, and returns the first of them.
func (c *Choice) Rows(b *Body, height int, row func(i int, chosen bool) string) (from int) {
	above := len(b.Lines)
	from, to := c.Window(max(0, height-above))
	for i := from; i < to; i++ {
		b.Lines = append(b.Lines, row(i, i == c.At))
	}
	b.ThumbFrom, b.ThumbTo = Thumb(above, c.rows, from, c.count)
	return from
}

// Thumb returns the rows of the scroll thumb for a list of count rows whose visible ones, beginning with row from, are
// drawn from line start on; none where all rows are visible.
func Thumb(start, rows, from, count int) (int, int) {
	if rows <= 0 || count <= rows {
		return 0, 0
	}
	size := max(1, rows*rows/count)
	at := start + (rows-size)*from/(count-rows)
	return at, at + size
}

// Prompt asks for one line of text.
type Prompt struct {
	Static
	name   string
	hint   string
	editor line.Editor
}

// Open asks again, with a text to change and what to show while there is none.
func (p *Prompt) Open(name, hint, text string) {
	p.name, p.hint = name, hint
	p.editor = line.Editor{}
	p.editor.SetText(text)
}

// Text returns what is typed.
func (p *Prompt) Text() string { return p.editor.Text() }

// Edit implements Panel.
func (p *Prompt) Edit(change func(*line.Editor)) { change(&p.editor) }

// Move implements Panel; there is nothing to move.
func (p *Prompt) Move(int) {}

// Page implements Panel.
func (p *Prompt) Page(int) {}

// Title implements Panel.
func (p *Prompt) Title(_ int, th theme.Theme) (title, beside string) {
	return th.Title.Render(p.name), ""
}

// View implements Panel.
func (p *Prompt) View(width, _ int, th theme.Theme) Body {
	typed, x := Input(&p.editor, width, th, p.hint)
	return Body{Lines: []string{typed}, X: x, Cursor: true}
}
