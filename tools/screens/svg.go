//go:build unix

package main

import (
	"fmt"
	"image/color"
	"strings"

	"quarry/ui/explorer/screentest/terminal"
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
	x, width int // columns
	text     string
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
			runs[last].text += text
			runs[last].width++
		} else {
			runs = append(runs, run{x, cell.Width, text, ink})
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
		for _, r := range l.runs(row) {
			b.WriteString(r.rect(y))
			b.WriteString(r.letters(y, l))
		}
	}
	if p.visible {
		fmt.Fprintf(&b, `<rect x="%s" y="%d" width="2" height="%d"/>`+"\n", column(p.x), row(p.y), cellHeight)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

func column(x int) string { return units(margin + float64(x)*cellWidth) }
func row(y int) int       { return margin + y*cellHeight }

// units has one digit after the point, where one is needed.
func units(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// rect is the run's background.
func (r run) rect(y int) string {
	if r.ink.back == "" {
		return ""
	}
	return fmt.Sprintf(`<rect x="%s" y="%d" width="%s" height="%d" fill="%s"/>`+"\n", column(r.x), row(y),
		units(float64(r.width)*cellWidth), cellHeight, r.ink.back)
}

// letters is the run's text, held to its columns whatever the font.
func (r run) letters(y int, l look) string {
	text := r.text
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
	if i.faint {
		b.WriteString(` opacity="0.6"`)
	}
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

// escape keeps runs of spaces together by hard spaces: not every viewer keeps plain ones.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "  ", "\u00a0\u00a0").Replace(text)
}
