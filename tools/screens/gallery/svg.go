//go:build unix

package gallery

import (
	"fmt"
	"image/color"
	"strings"
	"time"

	"quarry/internal/testkit/screentest/terminal"
)

// Sizes of a cell and of what is around the screen, in the units of the picture. They are whole numbers, which are short.
const (
	cellWidth  = 8
	cellHeight = 17
	baseline   = 13
	margin     = 12
	fontSize   = 13.3 // whose letters are as wide as a cell in most fonts
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

// shapeCSS is the style of shapes in this ink.
func (i ink) shapeCSS() string {
	css := "fill:" + i.front
	if i.faint {
		css += ";opacity:.6"
	}
	return css
}

// textCSS is the style of text in this ink.
func (i ink) textCSS() string {
	css := i.shapeCSS()
	if i.bold {
		css += ";font-weight:bold"
	}
	if i.italic {
		css += ";font-style:italic"
	}
	switch {
	case i.underline && i.strike:
		css += ";text-decoration:underline line-through"
	case i.underline:
		css += ";text-decoration:underline"
	case i.strike:
		css += ";text-decoration:line-through"
	}
	return css
}

// run is a stretch of one row that looks the same everywhere.
type run struct {
	x, width int      // columns
	cells    []string // what stands in each
	ink      ink
}

// runs cuts a row where the look changes, and at wide characters and symbols: their glyphs are as wide as a font likes, so
// that each is put where it belongs on its own.
func (l look) runs(row []terminal.Cell) []run {
	var runs []run
	alone := false
	for x, cell := range row {
		if cell.Width == 0 {
			continue // the second half of a wide character
		}
		ink := l.ink(cell.Style)
		text := cell.Text
		if text == "" {
			text = " "
		}
		last, before := len(runs)-1, alone
		alone = cell.Width > 1 || isSymbol(text)
		if last >= 0 && !before && !alone && runs[last].ink == ink {
			runs[last].cells = append(runs[last].cells, text)
			runs[last].width++
		} else {
			runs = append(runs, run{x, cell.Width, []string{text}, ink})
		}
	}
	return runs
}

// isSymbol reports whether many fonts lack a character, and another font's glyph takes its place.
func isSymbol(text string) bool {
	const arrows = '\u2190' // the first block of symbols; letters and punctuation come before
	r := []rune(text)
	return r[0] >= arrows && !isShape(text)
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

// drawing collects what a picture consists of.
type drawing struct {
	look    look
	classes map[string]string // CSS → the name of its class
	style   strings.Builder
}

// class is the name of a style.
func (d *drawing) class(css string) string {
	name, known := d.classes[css]
	if !known {
		name = fmt.Sprintf("c%d", len(d.classes))
		d.classes[css] = name
		fmt.Fprintf(&d.style, ".%s{%s}\n", name, css)
	}
	return name
}

// draw makes a picture of one frame, or an animation of several.
func draw(frames []frame, l look) string {
	d := &drawing{look: l, classes: map[string]string{}}
	if len(frames) > 1 {
		d.style.WriteString("@media (prefers-reduced-motion:reduce){g{animation:none!important}}\n")
	}
	cols, rows := 0, 0
	for _, f := range frames {
		rows = max(rows, len(f.cells))
		for _, row := range f.cells {
			cols = max(cols, len(row))
		}
	}
	var body strings.Builder
	for y := range rows {
		if markup := d.row(frames, y); markup != "" {
			fmt.Fprintf(&body, `<g transform="translate(%d %d)">%s</g>`+"\n", margin, margin+y*cellHeight, markup)
		}
	}
	width, height := cols*cellWidth+2*margin, rows*cellHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="%s" font-size="%v">`+"\n",
		width, height, width, height, fonts, fontSize)
	if d.style.Len() > 0 {
		fmt.Fprintf(&b, "<style>\n%s</style>\n", &d.style)
	}
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", hex(l.background))
	fmt.Fprintf(&b, `<g fill="%s" style="white-space:pre">`+"\n%s</g>\n</svg>\n", hex(l.foreground), &body)
	return b.String()
}

// row draws a row of all frames: what is behind the text, and the text. What looks the same in several frames is drawn
// once and shown in these.
func (d *drawing) row(frames []frame, y int) string {
	behind, before := newLayer(len(frames)), newLayer(len(frames))
	for n, f := range frames {
		if y >= len(f.cells) {
			continue
		}
		runs := d.look.runs(f.cells[y])
		for _, r := range backgrounds(runs) {
			behind.add(n, fmt.Sprintf(`<rect %swidth="%d" height="%d" class="%s"/>`, x(r.x*cellWidth), r.width*cellWidth, cellHeight,
				d.class("fill:"+r.ink.back)))
		}
		for _, r := range runs {
			before.add(n, d.shapes(r))
			before.add(n, d.letters(r))
		}
		if f.visible && f.y == y {
			before.add(n, fmt.Sprintf(`<rect %swidth="2" height="%d"/>`, x(f.x*cellWidth), cellHeight))
		}
	}
	times := timesOf(frames)
	return behind.markup(d, times) + before.markup(d, times)
}

// x is the attribute of that name; 0 is the default.
func x(at int) string {
	if at == 0 {
		return ""
	}
	return fmt.Sprintf(`x="%d" `, at)
}

// layer is what is drawn in one row: pieces in the order in which they came first, with the frames that have them.
type layer struct {
	frames int
	pieces []string
	in     map[string][]bool
}

func newLayer(frames int) *layer { return &layer{frames: frames, in: map[string][]bool{}} }

func (l *layer) add(frame int, piece string) {
	if piece == "" {
		return
	}
	if l.in[piece] == nil {
		l.in[piece] = make([]bool, l.frames)
		l.pieces = append(l.pieces, piece)
	}
	l.in[piece][frame] = true
}

// markup puts the pieces that are seen in the same frames together.
func (l *layer) markup(d *drawing, times timeline) string {
	var order []string
	groups := map[string]*strings.Builder{}
	for _, piece := range l.pieces {
		key := fmt.Sprint(l.in[piece])
		if groups[key] == nil {
			groups[key] = &strings.Builder{}
			order = append(order, key)
			if class := d.visibility(l.in[piece], times); class != "" {
				fmt.Fprintf(groups[key], `<g class="%s">`, class)
			} else {
				groups[key].WriteString("<g>")
			}
		}
		groups[key].WriteString(piece)
	}
	var b strings.Builder
	for _, key := range order {
		b.WriteString(groups[key].String() + "</g>")
	}
	return b.String()
}

// timeline is when each frame begins, in percent of the whole, and which frame is shown without animation.
type timeline struct {
	starts []float64
	whole  time.Duration
	still  int
}

func timesOf(frames []frame) timeline {
	t := timeline{}
	for _, f := range frames {
		t.whole += f.shown
	}
	at := time.Duration(0)
	for n, f := range frames {
		t.starts = append(t.starts, 100*float64(at)/float64(max(1, t.whole)))
		at += f.shown
		if f.still {
			t.still = n
		}
	}
	return t
}

// visibility is the class of what is seen in some frames only; "" for all.
func (d *drawing) visibility(in []bool, times timeline) string {
	value := func(frame int) string {
		if in[frame] {
			return "visible"
		}
		return "hidden"
	}
	var keyframes strings.Builder
	for n := range in {
		if n == 0 || in[n] != in[n-1] {
			fmt.Fprintf(&keyframes, "%s%%{visibility:%s}", units(times.starts[n]), value(n))
		}
	}
	if keyframes.String() == "0%{visibility:visible}" {
		return ""
	}
	if name, known := d.classes[keyframes.String()]; known {
		return name
	}
	name := fmt.Sprintf("c%d", len(d.classes))
	d.classes[keyframes.String()] = name
	fmt.Fprintf(&d.style, ".%s{visibility:%s;animation:%s %gs step-end infinite}@keyframes %s{%s}\n", name, value(times.still), name,
		times.whole.Seconds(), name, &keyframes)
	return name
}

// text is what of the run is written: shapes are left out.
func (r run) text() string {
	var b strings.Builder
	for _, cell := range r.cells {
		if isShape(cell) {
			cell = " "
		}
		b.WriteString(cell)
	}
	return b.String()
}

// letters is the run's text, held to its columns whatever the font.
func (d *drawing) letters(r run) string {
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
	class := ""
	if css := r.ink.textCSS(); css != "fill:"+hex(d.look.foreground) {
		class = fmt.Sprintf(` class="%s"`, d.class(css))
	}
	if isSymbol(text) { // whose glyph may be wider than a letter
		class += ` lengthAdjust="spacingAndGlyphs"`
	}
	return fmt.Sprintf(`<text %sy="%d" textLength="%d"%s>%s</text>`, x(r.x*cellWidth), baseline, r.width*cellWidth, class, escape(text))
}

// escape keeps runs of spaces together by hard spaces: not every viewer keeps plain ones.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "  ", "\u00a0\u00a0").Replace(text)
}
