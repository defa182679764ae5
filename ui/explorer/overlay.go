package explorer

import (
	"github.com/charmbracelet/x/ansi"

	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// A panel lies over the reader from this size on.
const leastOverlayWidth, leastOverlayHeight = 50, 14

// aroundPanel is how many columns stay free at both sides of a panel that lies over both panes.
const aroundPanel = 4

// overlayRect is the most that a panel may cover: the reader where that leaves it enough room, else most of both
// panes, or all of them on a small screen.
func (m *Model) overlayRect() Rect {
	if r := m.rects.ReaderFrame; m.rects.Arrangement == Side && m.rects.ListFrame.H > 0 && r.W >= leastOverlayWidth &&
		r.H >= leastOverlayHeight {
		return r
	}
	r := m.rects.Body
	if m.rects.Framed {
		r.X, r.W = aroundPanel, r.W-2*aroundPanel
	}
	return r
}

// drawPanel draws the panel over the lines of the screen, which are dimmed, and gives the cursor's place on the screen;
// a negative column is none.
func (m *Model) drawPanel(lines []string) (cursorX, cursorY int) {
	if m.overlay() == 0 {
		return -1, 0
	}
	r := m.overlayRect()
	body := panel.Draw(m.top(), r.W, r.H, m.theme, m.hints(m.place(), r.W-len("|  |")))
	if r.W < m.rects.Body.W || len(body.Lines) < r.H {
		pen := paint.PenOf(m.theme.Stale)
		for i, line := range lines {
			if m.overlay() != InThemes { // whose preview is the screen
				lines[i] = pen.Write(ansi.Strip(line))
			}
		}
		if r.X <= aroundPanel { // the top stays where it is while the height changes
			r.Y += min(2, (r.H-len(body.Lines))/2)
		}
	}
	m.panelAt = r
	for i, line := range body.Lines {
		lines[r.Y+i] = paint.Over(lines[r.Y+i], line, r.X, m.width)
	}
	if !body.Cursor {
		return -1, 0
	}
	return body.X + r.X, body.Y + r.Y
}
