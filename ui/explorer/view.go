package explorer

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// View draws the screen: exactly as many lines as the terminal has, each exactly as wide.
func (m *Model) View() tea.View {
	view := tea.NewView("")
	view.AltScreen = true
	view.WindowTitle = m.title()
	if m.look.mouse {
		view.MouseMode = tea.MouseModeCellMotion
	}
	if m.width <= 0 || m.height <= 0 {
		return view
	}
	if m.rects.Arrangement == TooSmall {
		lines := make([]string, m.height)
		lines[m.height/2] = "too small"
		view.SetContent(strings.Join(paint.Block(lines, m.width, m.height), "\n"))
		return view
	}
	lines, boxX := m.queryLines()
	if m.rects.Chips.H > 0 {
		lines = append(lines, m.chipsLine())
	}
	if m.rects.Strip.H > 0 {
		lines = append(lines, m.stripLine())
	}
	lines = append(lines, m.body()...)
	cursorX, cursorY := m.drawPanel(lines)
	if m.rects.Bar.H > 0 {
		lines = append(lines, m.bar())
	}
	m.drawMenu(lines, boxX)
	content := strings.Join(lines, "\n")
	if m.options.Caps.NoHyperlinks {
		content = paint.WithoutHyperlinks(content)
	}
	if m.options.Caps.ASCII {
		content = theme.ASCII(content)
	}
	view.SetContent(content)
	switch {
	case cursorX >= 0:
		view.Cursor = tea.NewCursor(cursorX, cursorY)
	case m.place() == InBox:
		view.Cursor = tea.NewCursor(boxX, m.rects.Query.Y)
	}
	if view.Cursor != nil {
		view.Cursor.Blink = false
	}
	return view
}

// title is the terminal's window title.
func (m *Model) title() string {
	if m.search.shown == nil || m.search.shown.typed() { // a title for each key is more than a terminal wants to hear
		return "quarry"
	}
	if s := m.search.shown; s.query.Similar != "" {
		return "quarry: " + paint.Line(m.box.Readable(s.text))
	}
	return "quarry: " + paint.Line(m.search.shown.query.Text)
}

// body is the panes: list and readers.
func (m *Model) body() []string {
	if m.atHome() {
		return m.homePane()
	}
	var lines []string
	for _, pane := range [][]string{m.listPane(), m.readerPane(), m.pinnedPane()} {
		if m.rects.Arrangement == Stacked || lines == nil {
			lines = append(lines, pane...)
			continue
		}
		for i := range pane {
			lines[i] += pane[i]
		}
	}
	return lines
}

// invitation is the first line of an empty screen.
func (m *Model) invitation() string {
	switch {
	case m.conn.opening.running():
		return "opening " + m.target.Where + "…"
	case m.box.Query() != "" && m.target.Kind == Remote:
		return m.keys.keyOf("search", InBox) + " searches " + m.target.Where
	case m.target.Kind == Remote && !m.typingSearches():
		return "type a question, then " + m.keys.keyOf("search", InBox)
	}
	if m.focus == InHome {
		return m.keys.keyOf("query", InHome) + " edits the query"
	}
	return "type to search"
}

// emptyPane replaces the results.
func (m *Model) emptyPane(width, height int) []string {
	var lines []string
	switch asked := m.query().Text; {
	case m.failing():
		lines = m.whatFailed()
	case client.Unsearchable(asked) != "":
		lines = []string{" " + m.theme.Text.Render(client.Unsearchable(paint.Line(asked)))}
	case m.search.shown != nil:
		lines = m.nothingFound()
	}
	var wrapped []string
	for _, line := range lines {
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		for _, part := range paint.Wrap(words, max(1, width-len(indent)-1)) {
			wrapped = append(wrapped, indent+part)
		}
	}
	return paint.Block(wrapped, width, height)
}

// whatFailed returns the whole error, of which the summary shows the beginning, and its remedy.
func (m *Model) whatFailed() []string {
	lines := []string{" " + m.theme.Text.Render(reasonOf(m.search.failure.err))}
	if remedy := m.search.failure.remedy(); remedy != "" {
		lines = append(lines, "", " "+m.theme.Muted.Render(remedy))
	}
	return lines
}

// nothingFound returns what was searched and a suggestion.
func (m *Model) nothingFound() []string {
	s, cut := m.search.shown, m.filters.cut
	lines := []string{" " + m.theme.Title.Render("No results") + " " + m.theme.Text.Render("in "+m.target.Where+" for"),
		"   " + m.theme.Match.Render(paint.Line(s.query.Text))}
	if len(s.query.Chips) == 0 {
		return append(lines, "",
			" "+m.theme.Muted.Render("Try fewer or other words. "+m.keys.keyOf("query", InList)+" edits the query."))
	}
	for i, chip := range s.query.Chips {
		line := "   with " + m.theme.Chip.Render(paint.Line(m.box.Readable(chip.Raw)))
		if cut != nil && i < len(cut.counts) {
			count := text.Count(cut.counts[i], "document")
			if len(s.response.Queries) > 1 { // what a model would find besides is not known
				count = "about " + count
			}
			line += " " + m.theme.Muted.Render("· without it "+count)
		}
		lines = append(lines, line)
	}
	key := m.keys.keyOf("drop-filter", m.focus)
	advice := key + " removes the last filter."
	switch {
	case cut == nil || cut.worst < 0 && slices.Max(cut.counts) > 0:
	case cut.worst < 0:
		advice = "Removing one filter is not enough; " + key + " removes the last one."
	default:
		advice = "Most restrictive: " + paint.Line(m.box.Readable(s.query.Chips[cut.worst].Raw)) + ". " + key +
			" removes it."
	}
	return append(lines, "", " "+m.theme.Text.Render(advice))
}

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
