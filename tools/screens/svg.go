//go:build unix

package main

import (
	"fmt"
	"image/color"
	"strings"

	"quarry/internal/testkit/screentest/terminal"
)

// Sizes of a cell and of what is around the screen, in the units of the picture.
const (
	cellWidth  = 8.4
	cellHeight = 18
	baseline   = 13.5
	margin     = 12
	fontSize   = 14
	fonts      = "ui-monospace,'SF Mono','Cascadia Mono','JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,monospace"
)

// look is a terminal's own colours.
type look struct {
	name                   string
	background, foreground color.Color
}

func darkLook() look {
	return look{"dark", color.RGBA{0x1e, 0x1e, 0x2e, 0xff}, color.RGBA{0xcd, 0xd6, 0xf4, 0xff}}
}

func lightLook() look {
	return look{"light", color.RGBA{0xff, 0xff, 0xff, 0xff}, color.RGBA{0x24, 0x29, 0x2f, 0xff}}
}

// ink is how a run of cells is drawn: colours as they are seen, after reverse.
type ink struct {
	front, back                            string // back is empty on the terminal's own background
	bold, faint, italic, underline, strike bool
}

func (l look) ink(style terminal.Style) ink {
	front, back := l.foreground, color.Color(nil)
	if style.Foreground != nil {
		front = style.Foreground
	}
	if style.Background != nil {
		back = style.Background
	}
	if style.Reverse {
		if back == nil {
			back = l.background
		}
		front, back = back, front
	}
	drawn := ink{front: hex(front), bold: style.Bold, faint: style.Faint, italic: style.Italic, underline: style.Underline,
		strike: style.Strike}
	if back != nil && hex(back) != hex(l.background) {
		drawn.back = hex(back)
	}
	return drawn
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// run is a stretch of one row that looks the same everywhere.
type run struct {
	x, width int      // columns
	cells    []string // what stands in each
	ink      ink
}

// runs cuts a row where the look changes, and at wide characters: their glyphs are as wide as a font likes, so that each
// is put where it belongs on its own.
func (l look) runs(row []terminal.Cell) []run {
	var runs []run
	wide := false
	for x, cell := range row {
		if cell.Width == 0 {
			continue // the second half of a wide character
		}
		ink := l.ink(cell.Style)
		text := cell.Text
		if text == "" {
			text = " "
		}
		last := len(runs) - 1
		if last >= 0 && !wide && cell.Width == 1 && runs[last].ink == ink {
			runs[last].cells = append(runs[last].cells, text)
			runs[last].width++
		} else {
			runs = append(runs, run{x, cell.Width, []string{text}, ink})
		}
		wide = cell.Width > 1
	}
	return runs
}

// draw makes the picture.
func draw(p picture, l look) string {
	rows, cols := len(p.cells), 0
	if rows > 0 {
		cols = len(p.cells[0])
	}
	width, height := float64(cols)*cellWidth+2*margin, float64(rows*cellHeight+2*margin)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" font-family="%s" font-size="%d">`+"\n",
		units(width), units(height), units(width), units(height), fonts, fontSize)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", hex(l.background))
	fmt.Fprintf(&b, `<g fill="%s" style="white-space:pre">`+"\n", hex(l.foreground))
	for y, row := range p.cells {
		runs := l.runs(row)
		for _, r := range backgrounds(runs) {
			b.WriteString(r.rect(y))
		}
		for _, r := range runs {
			b.WriteString(r.shapes(y))
			b.WriteString(r.letters(y, l))
		}
	}
	if p.visible {
		fmt.Fprintf(&b, `<rect x="%s" y="%d" width="2" height="%d"/>`+"\n", column(p.x), row(p.y), cellHeight)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// backgrounds joins the runs that stand on the same colour.
func backgrounds(runs []run) []run {
	var joined []run
	for _, r := range runs {
		last := len(joined) - 1
		switch {
		case r.ink.back == "":
		case last >= 0 && joined[last].ink.back == r.ink.back && joined[last].x+joined[last].width == r.x:
			joined[last].width += r.width
		default:
			joined = append(joined, r)
		}
	}
	return joined
}

func column(x int) string { return units(margin + float64(x)*cellWidth) }
func row(y int) int       { return margin + y*cellHeight }

// units has as many digits after the point as are needed, at most two.
func units(v float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

// rect is the run's background.
func (r run) rect(y int) string {
	return fmt.Sprintf(`<rect x="%s" y="%d" width="%s" height="%d" fill="%s"/>`+"\n", column(r.x), row(y),
		units(float64(r.width)*cellWidth), cellHeight, r.ink.back)
}

// shape is a character that is drawn instead of written, so that lines and bars join whatever the font: a rectangle in
// eighths of a cell.
type shape struct{ left, top, right, bottom float64 }

func shapesOf(text string) []shape {
	const full = 8
	line := shape{0, 3.75, full, 4.25}
	switch text {
	case "│":
		return []shape{{3.5, 0, 4.5, full}}
	case "┃":
		return []shape{{3, 0, 5, full}}
	case "─":
		return []shape{line}
	case "┬":
		return []shape{line, {3.5, 4, 4.5, full}}
	case "┴":
		return []shape{line, {3.5, 0, 4.5, 4}}
	case "▌":
		return []shape{{0, 0, 4, full}}
	}
	if r := []rune(text); len(r) == 1 && r[0] >= '▁' && r[0] <= '█' {
		return []shape{{0, float64('█' - r[0]), full, full}}
	}
	return nil
}

// shapes draws the characters of a run that are shapes; equal ones side by side that fill their cells are one.
func (r run) shapes(y int) string {
	var b strings.Builder
	for i := 0; i < len(r.cells); {
		shapes, count := shapesOf(r.cells[i]), 1
		for len(shapes) == 1 && shapes[0].right-shapes[0].left == 8 && i+count < len(r.cells) && r.cells[i+count] == r.cells[i] {
			count++
		}
		for _, s := range shapes {
			b.WriteString(r.shape(s, i, y, count))
		}
		i += count
	}
	return b.String()
}

// shape draws one in the run's cell i, over so many cells.
func (r run) shape(s shape, i, y, cells int) string {
	const across, down = cellWidth / 8., cellHeight / 8.
	return fmt.Sprintf(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"%s/>`+"\n",
		units(margin+float64(r.x+i)*cellWidth+s.left*across), units(float64(row(y))+s.top*down),
		units(float64(cells-1)*cellWidth+(s.right-s.left)*across), units((s.bottom-s.top)*down), r.ink.front, r.ink.opacity())
}

// text is what of the run is written.
func (r run) text() string {
	var b strings.Builder
	for _, cell := range r.cells {
		if shapesOf(cell) != nil {
			cell = " "
		}
		b.WriteString(cell)
	}
	return b.String()
}

// letters is the run's text, held to its columns whatever the font.
func (r run) letters(y int, l look) string {
	text := r.text()
	if !r.ink.underline && !r.ink.strike {
		left := strings.TrimLeft(text, " ")
		r.x += len(text) - len(left)
		r.width -= len(text) - len(left)
		text = strings.TrimRight(left, " ")
		r.width -= len(left) - len(text)
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf(`<text x="%s" y="%s" textLength="%s" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n", column(r.x),
		units(float64(row(y))+baseline), units(float64(r.width)*cellWidth), r.ink.attributes(l), escape(text))
}

func (i ink) attributes(l look) string {
	var b strings.Builder
	if i.front != hex(l.foreground) {
		fmt.Fprintf(&b, ` fill="%s"`, i.front)
	}
	if i.bold {
		b.WriteString(` font-weight="bold"`)
	}
	b.WriteString(i.opacity())
	if i.italic {
		b.WriteString(` font-style="italic"`)
	}
	switch {
	case i.underline && i.strike:
		b.WriteString(` text-decoration="underline line-through"`)
	case i.underline:
		b.WriteString(` text-decoration="underline"`)
	case i.strike:
		b.WriteString(` text-decoration="line-through"`)
	}
	return b.String()
}

func (i ink) opacity() string {
	if i.faint {
		return ` opacity="0.6"`
	}
	return ""
}

// escape keeps runs of spaces together by hard spaces: not every viewer keeps plain ones.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "  ", "\u00a0\u00a0").Replace(text)
}
