package terminal

import (
	"image/color"
	"strings"
)

// Attributes of a cell, in the emulator's bits.
const (
	attrBold = 1 << iota
	attrFaint
	attrItalic
	attrBlink
	_
	attrReverse
	_
	attrStrike
)

// Style is how a cell looks. A nil colour is the terminal's own.
type Style struct {
	Foreground, Background                                 color.Color
	Bold, Faint, Italic, Blink, Reverse, Strike, Underline bool
}

// Cell is one place of the screen. The second column of a wide character has width 0 and no text.
type Cell struct {
	Text  string // one grapheme, or a space
	Width int    // columns that it takes
	Style Style
	Link  string // address of the hyperlink on it
}

// Cell gives the cell at a column and a row, counted from 0; beyond the screen it is empty.
func (t *Terminal) Cell(x, y int) Cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cell(x, y)
}

func (t *Terminal) cell(x, y int) Cell {
	from := t.emulator.CellAt(x, y)
	if from == nil || x >= t.width || y >= t.height {
		return Cell{}
	}
	return Cell{Text: from.Content, Width: from.Width, Link: from.Link.URL, Style: Style{
		Foreground: from.Style.Fg, Background: from.Style.Bg,
		Bold: from.Style.Attrs&attrBold != 0, Faint: from.Style.Attrs&attrFaint != 0,
		Italic: from.Style.Attrs&attrItalic != 0, Blink: from.Style.Attrs&attrBlink != 0,
		Reverse: from.Style.Attrs&attrReverse != 0, Strike: from.Style.Attrs&attrStrike != 0,
		Underline: from.Style.Underline != 0,
	}}
}

// Cells is a copy of the whole screen, row by row.
func (t *Terminal) Cells() [][]Cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([][]Cell, t.height)
	for y := range rows {
		rows[y] = make([]Cell, t.width)
		for x := range rows[y] {
			rows[y][x] = t.cell(x, y)
		}
	}
	return rows
}

// Text is what stands on the screen, line by line, without styles and without spaces at the ends of lines.
func (t *Terminal) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text()
}

func (t *Terminal) text() string {
	var screen strings.Builder
	for y := range t.height {
		var line strings.Builder
		for x := range t.width {
			if cell := t.emulator.CellAt(x, y); cell != nil {
				line.WriteString(cell.Content)
			}
		}
		screen.WriteString(strings.TrimRight(line.String(), " "))
		screen.WriteByte('\n')
	}
	return screen.String()
}

// Line is one row of the screen, counted from 0; a negative number counts from the bottom.
func (t *Terminal) Line(y int) string {
	lines := strings.Split(strings.TrimSuffix(t.Text(), "\n"), "\n")
	if y < 0 {
		y += len(lines)
	}
	if y < 0 || y >= len(lines) {
		return ""
	}
	return lines[y]
}

// Cursor is where the cursor stands, and whether it is shown.
func (t *Terminal) Cursor() (x, y int, visible bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.emulator.CursorPosition()
	return at.X, at.Y, t.modes.cursorVisible()
}

// Styled is the screen with its styles as escape sequences, the same for the same screen.
func (t *Terminal) Styled() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emulator.Render()
}
