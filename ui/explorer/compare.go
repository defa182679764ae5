package explorer

import tea "charm.land/bubbletea/v2"

// comparing is a passage that stays in sight while others are read beside it.
type comparing struct {
	following *reading // shows the selected passage
	pinned    *reading // nil: none
}

func compareBindings() []Binding {
	return group("Compare",
		action("pin", "=", InList|InReader, "", "Pin the passage to compare others, or unpin it", (*Model).togglePin,
			cannotPin),
		action("next-pane", "ctrl+w", InList|InReader, "next pane", "Next pane: results, reader, pinned",
			do((*Model).nextPane), notPinned),
	)
}

func cannotPin(m *Model) string {
	if m.compare.pinned != nil {
		return ""
	}
	return noResult(m)
}

func notPinned(m *Model) string {
	return unless(m.compare.pinned != nil, "no passage is pinned; "+m.keys.keyOf("pin", InList)+" pins one")
}

// onPinned reports whether keys act on the pinned passage.
func (m *Model) onPinned() bool { return m.reader == m.compare.pinned }

// isRead reports whether keys go to a reader.
func (m *Model) isRead(r *reading) bool { return m.focus == InReader && m.reader == r }

// readsPinned reports whether the selected passage is the pinned one.
func (m *Model) readsPinned() bool {
	pinned, selected := m.compare.pinned, m.compare.following.result
	return pinned != nil && selected != nil && sameReading(*pinned.result, *selected)
}

// togglePin pins the passage that is read, with its place and what was fetched of it, or unpins the pinned one. The
// other passage is selected in the results.
func (m *Model) togglePin() tea.Cmd {
	c := &m.compare
	if c.pinned != nil {
		m.say("unpinned: " + c.pinned.Title())
		m.unpin()
		return nil
	}
	c.pinned = c.following
	c.following = &reading{Reader: c.pinned.Beside()}
	m.reader, m.focus = c.following, InList
	m.say("pinned: " + c.pinned.Title() + "; select a passage to read beside it, " + m.keys.keyOf("pin", InList) +
		" unpins")
	return nil
}

// unpin drops the pinned reader.
func (m *Model) unpin() {
	if m.compare.pinned != nil {
		m.compare.pinned.expanding.stop()
	}
	m.compare.pinned, m.reader = nil, m.compare.following
}

// nextPane goes from the results to the selected passage, to the pinned one, and back.
func (m *Model) nextPane() {
	switch {
	case m.onPinned():
		m.focus = InList
	case m.focus == InReader || m.list.Len() == 0:
		m.focus, m.reader = InReader, m.compare.pinned
	default:
		m.focus = InReader
	}
}

// readerAt returns the reader at a position of the screen; nil for none.
func (m *Model) readerAt(x, y int) *reading {
	switch {
	case m.rects.Reader.contains(x, y):
		return m.compare.following
	case m.rects.Pinned.contains(x, y):
		return m.compare.pinned
	}
	return nil
}

// pinnedPane is the pinned passage; it says that it is.
func (m *Model) pinnedPane() []string {
	if m.rects.PinnedFrame.H == 0 {
		return nil
	}
	p, lines := m.readerLines(m.compare.pinned, m.rects.PinnedFrame, m.rects.Pinned)
	p.Title = m.theme.Key.Render("pinned") + m.theme.Muted.Render(" · ") + p.Title
	if key := m.keys.keyOf("pin", InReader); key != "" {
		p.Foot = m.theme.Key.Render(key) + m.theme.Muted.Render(" unpin")
	}
	return m.draw(p, lines)
}

// pinnedNote names the pinned passage where it is out of sight.
func (m *Model) pinnedNote() string {
	if m.compare.pinned == nil || m.rects.PinnedFrame.H > 0 {
		return ""
	}
	return m.theme.Key.Render("pinned") + m.theme.Muted.Render(" · "+m.compare.pinned.Title())
}
