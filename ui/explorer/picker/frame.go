package picker

import (
	"strconv"
	"strings"

	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// frameKey is all that a drawn panel depends on.
type frameKey struct {
	version       uint64
	width, height int
	theme         string
	hints         string
}

// View draws the panel, height lines of width columns, and tells where the terminal's cursor stands, if it does. The
// hints are the keys that may be pressed, styled, in the border at the bottom.
func (p *Picker) View(width, height int, th theme.Theme, hints string) (lines []string, cursorX, cursorY int, cursor bool) {
	key := frameKey{p.version, width, height, th.Name, hints}
	lines = p.frames.Lines(key, func() []string { return p.draw(width, height, th, hints) })
	return lines, p.cursorX, p.cursorY, p.cursor
}

func (p *Picker) draw(width, height int, th theme.Theme, hints string) []string {
	p.cursorX, p.cursorY, p.cursor = 0, 0, false
	if height <= 0 {
		return nil
	}
	if width <= 0 || len(p.tabs) == 0 {
		return fill(nil, max(0, width), height)
	}
	frame := paint.Frame{Width: width, Height: height, Border: paint.PenOf(th.BorderFocused), Hints: hints}
	if !frame.Fits() {
		return p.bare(width, height, th)
	}
	frame.Title, frame.Beside = p.top(width, th)
	innerWidth, innerHeight := frame.Inside()
	inner := p.tabs[p.active].view(innerWidth, innerHeight, th, p.message)
	if inner.cursor {
		x, y := frame.Inset()
		p.cursorX, p.cursorY, p.cursor = inner.x+x, inner.y+y, true
	}
	return frame.Around(inner.lines, inner.thumbFrom, inner.thumbTo)
}

// bare draws a panel that has no room for a border.
func (p *Picker) bare(width, height int, th theme.Theme) []string {
	var lines []string
	if height > 1 {
		lines = append(lines, paint.Fit(p.titles(width, th), width))
	}
	inner := p.tabs[p.active].view(width, height-len(lines), th, p.message)
	if inner.cursor {
		p.cursorX, p.cursorY, p.cursor = inner.x, inner.y+len(lines), true
	}
	return append(lines, inner.lines...)
}

// top is what stands in the upper border: the tabs, and what is chosen where there is room.
func (p *Picker) top(width int, th theme.Theme) (titles, chosen string) {
	const corners, gap = 4, 3
	titles = p.titles(width-corners, th)
	room := width - corners - gap - paint.Width(titles)
	for _, summary := range []string{p.summary(), p.tabs[p.active].summary()} {
		if summary = paint.Line(summary); paint.Width(summary) < room {
			return titles, th.Muted.Render(summary)
		}
	}
	return titles, ""
}

// titles names the tabs. The shown one is in brackets, a chosen number stands beside its tab, and where there is no
// room for all the first ones give way.
func (p *Picker) titles(width int, th theme.Theme) string {
	parts := make([]string, len(p.tabs))
	for i, t := range p.tabs {
		text := t.title()
		if mark := t.mark(); mark != "" {
			text += " " + mark
		}
		if i == p.active {
			parts[i] = th.Key.Render("[") + th.Title.Render(text) + th.Key.Render("]")
		} else {
			parts[i] = " " + th.Muted.Render(text) + " "
		}
	}
	between := th.Border.Render("│")
	all := strings.Join(parts, between)
	for from := 0; from < p.active && paint.Width(all) > width; {
		from++
		all = th.Muted.Render("…") + strings.Join(parts[from:], between)
	}
	if rest := len(parts) - p.active - 1; paint.Width(all) > width && rest > 0 {
		if short := parts[p.active] + th.Muted.Render(" +"+strconv.Itoa(len(parts)-1)); paint.Width(short) <= width {
			return short
		}
	}
	return paint.Fit(all, min(width, paint.Width(all)))
}

// fill makes lines exactly height many of exactly width columns.
func fill(lines []string, width, height int) []string {
	filled := make([]string, height)
	for i := range filled {
		if i < len(lines) {
			filled[i] = paint.Fit(lines[i], width)
		} else {
			filled[i] = paint.Blank(width)
		}
	}
	return filled
}

// comma writes a number with its thousands apart.
func comma(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
