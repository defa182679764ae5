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

const (
	// leastFramed is the smallest panel that gets a border around it.
	leastFramedWidth, leastFramedHeight = 12, 4
	// paddedWidth is where the text stands off the border by a column.
	paddedWidth = 30
)

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
	if width < leastFramedWidth || height < leastFramedHeight {
		return p.bare(width, height, th)
	}
	pad := ""
	if width >= paddedWidth {
		pad = " "
	}
	inset := 1 + len(pad)
	inner := p.tabs[p.active].view(width-2*inset, height-2, th, p.message)
	if inner.cursor {
		p.cursorX, p.cursorY, p.cursor = inner.x+inset, inner.y+1, true
	}
	border := paint.PenOf(th.BorderFocused)
	lines := make([]string, 0, height)
	lines = append(lines, p.top(width, th))
	left, right, thumb := border.Write("│")+pad, pad+border.Write("│"), pad+border.Write("┃")
	for i, line := range inner.lines {
		if i >= inner.thumbFrom && i < inner.thumbTo {
			lines = append(lines, left+line+thumb)
		} else {
			lines = append(lines, left+line+right)
		}
	}
	return append(lines, edge("└", hints, "", "┘", width, th))
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

// top is the border with the tabs in it, and with what is chosen where there is room.
func (p *Picker) top(width int, th theme.Theme) string {
	const corners, gap = 4, 3
	titles := p.titles(width-corners, th)
	room := width - corners - gap - paint.Width(titles)
	for _, summary := range []string{p.summary(), p.tabs[p.active].summary()} {
		if summary = paint.Line(summary); paint.Width(summary) < room {
			return edge("┌", titles, th.Muted.Render(summary), "┐", width, th)
		}
	}
	return edge("┌", titles, "", "┐", width, th)
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

// edge is a border line with a text at its left and another at its right.
func edge(start, left, right, end string, width int, th theme.Theme) string {
	border := paint.PenOf(th.BorderFocused)
	room := width - 2
	if left != "" {
		left = paint.Fit(left, min(paint.Width(left), room-2))
		left = " " + left + " "
	}
	if right != "" {
		right = " " + right + " "
	}
	rule := strings.Repeat("─", max(0, room-paint.Width(left)-paint.Width(right)))
	return border.Write(start) + left + border.Write(rule) + right + border.Write(end)
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
