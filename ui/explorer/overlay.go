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
func (m *Model) overlayRect() (r Rect, overReader bool) {
	r = m.rects.ReaderFrame
	if m.rects.ListFrame.H > 0 && r.W >= leastOverlayWidth && r.H >= leastOverlayHeight {
		return r, true
	}
	r = m.rects.Body
	if m.rects.Framed {
		r.X, r.W = aroundPanel, r.W-2*aroundPanel
	}
	return r, false
}

// drawPanel draws the panel over the lines of the screen, which are dimmed, and gives the cursor's place on the screen;
// a negative column is none.
func (m *Model) drawPanel(lines []string) (cursorX, cursorY int) {
	if m.overlay() == 0 {
		return -1, 0
	}
	r, overReader := m.overlayRect()
	body := panel.Draw(m.top(), r.W, r.H, m.theme, m.hints(m.place(), r.W-len("|  |")))
	if m.overlay() != InThemes { // whose preview is the screen
		m.makeWay(lines, r, overReader)
	}
	if !overReader { // the top stays where it is while the height changes
		r.Y += min(2, (r.H-len(body.Lines))/2)
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

// makeWay dims the lines of the screen, and clears the panes that a panel covers: what would be left of them beside it
// and below it is cut lines and pieces of frames.
func (m *Model) makeWay(lines []string, panel Rect, overReader bool) {
	if !overReader {
		panel.X, panel.W = 0, m.width
	}
	for i, line := range lines {
		if lines[i] = m.theme.Stale.Render(ansi.Strip(line)); i >= panel.Y && i < panel.Y+panel.H {
			lines[i] = paint.Over(lines[i], paint.Blank(panel.W), panel.X, m.width)
		}
	}
}
