package explorer

import (
	"strings"

	tea "charm.land/bubbletea/v2"

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
		view.SetContent(strings.Join(m.tooSmall(), "\n"))
		return view
	}
	lines := make([]string, 0, m.height)
	boxLine, boxX := m.boxLine()
	lines = append(lines, boxLine)
	if m.rects.Chips.H > 0 {
		lines = append(lines, m.chipsLine())
	}
	if m.rects.Banner.H > 0 {
		lines = append(lines, paint.Fit(m.theme.Banner.Render(" "+m.bannerText()+" "), m.width))
	}
	if m.rects.TopRule.H > 0 {
		lines = append(lines, m.rule('┬', m.dividerColumn()))
	}
	body, cursorX, cursorY := m.body()
	lines = append(lines, body...)
	if m.rects.BottomRule.H > 0 {
		lines = append(lines, m.rule('┴', m.dividerColumn()))
	}
	if m.rects.Bar.H > 0 {
		lines = append(lines, m.bar())
	}
	content := strings.Join(lines, "\n")
	if m.options.Caps.NoHyperlinks {
		content = paint.WithoutHyperlinks(content)
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
	if m.search.shown == nil || m.search.shown.instant { // a title for each key is more than a terminal wants to hear
		return "quarry"
	}
	return "quarry: " + paint.Line(m.search.shown.query.Text)
}

func (m *Model) tooSmall() []string {
	lines := make([]string, m.height)
	lines[m.height/2] = "too small"
	return block(lines, m.width, m.height)
}

// dividerColumn is where the line between list and reader meets the rules; -1: nowhere.
func (m *Model) dividerColumn() int {
	if m.overlay() != 0 && m.overlayRect() == m.rects.Body || m.rects.Arrangement != Side || m.rects.Divider.H == 0 {
		return -1
	}
	return m.rects.Divider.X
}

// rule is a line across the screen, joined with the divider.
func (m *Model) rule(joint rune, at int) string {
	line := []rune(strings.Repeat("─", m.width))
	if at >= 0 && at < len(line) {
		line[at] = joint
	}
	return m.theme.Border.Render(string(line))
}

// body is what lies between the rules: list and reader, or a panel over one or both of them. A negative cursor is none.
func (m *Model) body() (lines []string, cursorX, cursorY int) {
	if m.overlay() != 0 && m.overlayRect() == m.rects.Body {
		return m.overlayLines()
	}
	list := m.listPane()
	right := m.rects.Reader
	var reader []string
	cursorX = -1
	if m.overlay() != 0 {
		reader, cursorX, cursorY = m.overlayLines()
	} else if right.H > 0 {
		reader = m.reader.View(right.W, right.H, m.theme, m.focus == InReader)
	}
	switch {
	case right.H == 0:
		return list, cursorX, cursorY
	case m.rects.Divider.H == 0:
		return reader, cursorX, cursorY
	case m.rects.Arrangement == Stacked:
		return append(append(list, m.border().Render(strings.Repeat("─", m.width))), reader...), cursorX, cursorY
	}
	divider := m.border().Render("│") + " "
	lines = make([]string, right.H)
	for i := range lines {
		lines[i] = list[i] + divider + reader[i]
	}
	return lines, cursorX, cursorY
}

// listPane is the summary with the list below it, as high as the body's share of both.
func (m *Model) listPane() []string {
	if m.rects.Summary.H == 0 {
		return nil
	}
	w := m.rects.List.W
	lines := m.summary(w, m.rects.Summary.H)
	if m.list.Len() == 0 {
		return append(lines, m.emptyPane(w, m.rects.List.H)...)
	}
	return append(lines, m.list.View(w, m.rects.List.H, m.theme, m.focus == InList && m.overlay() == 0)...)
}

// overlayRect is where a panel lies: over the reader where that leaves it enough room, else over all.
func (m *Model) overlayRect() Rect {
	r := m.rects.Reader
	if m.overlay() != InSetUp && m.rects.Divider.H > 0 && r.W >= 50 && r.H >= 14 {
		return r
	}
	return m.rects.Body
}

// overlayLines draws the panel and gives the cursor's place on the screen; a negative column is none.
func (m *Model) overlayLines() (lines []string, cursorX, cursorY int) {
	top, _ := m.top()
	r := m.overlayRect()
	body := panel.Draw(top, r.W, r.H, m.theme, m.hints(m.place(), r.W-len("╭  ╮")))
	if !body.Cursor {
		return body.Lines, -1, 0
	}
	return body.Lines, body.X + r.X, body.Y + r.Y
}
