//go:build unix

package gallery

import (
	"fmt"
	"strings"
)

// shape is a character that is drawn instead of written, so that lines and bars join whatever the font: an SVG path in
// eighths of a cell's width and of its height.
type shape struct{ left, top, right, bottom float64 }

const eighths = 8

// shapesOf returns the rectangles of a character; none if it is written.
func shapesOf(text string) []shape {
	const thin, middle = 1, 3.5
	across, down := shape{0, 3.75, eighths, 4.25}, shape{middle, 0, middle + thin, eighths}
	left, right := shape{0, 3.75, middle + thin, 4.25}, shape{middle, 3.75, eighths, 4.25}
	upper, lower := shape{middle, 0, middle + thin, 4.25}, shape{middle, 3.75, middle + thin, eighths}
	switch text {
	case "│":
		return []shape{down}
	case "┃":
		return []shape{{3, 0, 5, eighths}}
	case "─":
		return []shape{across}
	case "━":
		return []shape{{0, 3.5, eighths, 4.5}}
	case "╌":
		return []shape{{0.5, 3.75, 3.5, 4.25}, {4.5, 3.75, 7.5, 4.25}}
	case "┬":
		return []shape{across, lower}
	case "┴":
		return []shape{across, upper}
	case "├":
		return []shape{down, right}
	case "┤":
		return []shape{down, left}
	case "┼":
		return []shape{down, across}
	case "┌":
		return []shape{right, lower}
	case "┐":
		return []shape{left, lower}
	case "└":
		return []shape{right, upper}
	case "┘":
		return []shape{left, upper}
	case "▌":
		return []shape{{0, 0, 4, eighths}}
	case "▎":
		return []shape{{0, 0, 2, eighths}}
	case "▏":
		return []shape{{0, 0, 1, eighths}}
	case "▐":
		return []shape{{4, 0, eighths, eighths}}
	case "▕":
		return []shape{{7, 0, eighths, eighths}}
	}
	if r := []rune(text); len(r) == 1 && r[0] >= '▁' && r[0] <= '█' {
		return []shape{{0, float64('█' - r[0]), eighths, eighths}}
	}
	return nil
}

// corner is the path of a round corner, from the middle of one side of a cell to that of another.
func corner(text string) string {
	const h, v = cellWidth / 2, cellHeight / 2.
	switch text {
	case "╭":
		return fmt.Sprintf("m%d %v v-%v q0-4 4-4", h, float64(cellHeight), v-4)
	case "╮":
		return fmt.Sprintf("m%d %v v-%v q0-4-4-4", h, float64(cellHeight), v-4)
	case "╰":
		return fmt.Sprintf("m%d 0 v%v q0 4 4 4", h, v-4)
	case "╯":
		return fmt.Sprintf("m%d 0 v%v q0 4-4 4", h, v-4)
	}
	return ""
}

func isShape(text string) bool { return corner(text) != "" || shapesOf(text) != nil }

// shapes draws the characters of a run that are shapes; equal ones side by side that fill their cells are one.
func (d *drawing) shapes(r run) string {
	var b strings.Builder
	for i := 0; i < len(r.cells); {
		shapes, count := shapesOf(r.cells[i]), 1
		for len(shapes) == 1 && shapes[0].right-shapes[0].left == eighths && i+count < len(r.cells) && r.cells[i+count] == r.cells[i] {
			count++
		}
		for _, s := range shapes {
			b.WriteString(d.shape(r, s, i, count))
		}
		if path := corner(r.cells[i]); path != "" {
			fmt.Fprintf(&b, `<path transform="translate(%d 0)" d="%s" class="%s"/>`, (r.x+i)*cellWidth, path,
				d.class("fill:none;stroke:"+r.ink.front))
		}
		i += count
	}
	return b.String()
}

// shape draws one in the run's cell i, over so many cells.
func (d *drawing) shape(r run, s shape, i, cells int) string {
	const across, down = cellWidth / float64(eighths), cellHeight / float64(eighths)
	return fmt.Sprintf(`<rect x="%s" y="%s" width="%s" height="%s" class="%s"/>`, units(float64((r.x+i)*cellWidth)+s.left*across),
		units(s.top*down), units(float64((cells-1)*cellWidth)+(s.right-s.left)*across), units((s.bottom-s.top)*down),
		d.class(r.ink.shapeCSS()))
}

// units has as many digits after the point as are needed, at most two.
func units(v float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
