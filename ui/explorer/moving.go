package explorer

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
)

// back goes one step back: it stops the running search, then leaves the reader, the list, and last empties the query.
func (m *Model) back() tea.Cmd {
	switch {
	case m.search.running != nil && m.search.running.slow: // one that nobody sees is nothing to step back from
		m.stopSearch()
		m.message = message{"stopped; results so far are kept", info}
		return nil
	case m.reading.expanding.running() && m.message.text != "":
		m.reading.expanding.stop()
		m.message = message{"stopped", info}
		return nil
	case m.look.zoomed && m.focus != InBox:
		m.look.zoomed = false
	case m.focus == InReader:
		m.focus = InList
	case m.focus == InList:
		m.focus = InBox
	case m.box.Query() != "":
		m.remember()
		m.box.SetQuery("", m.now())
		m.message = message{m.keys.keyOf("undo", InBox) + " restores the query", info}
		return m.queryEdited()
	}
	return nil
}

// jump goes to a citation.
func (m *Model) jump(citation int) tea.Cmd {
	if !m.list.Jump(citation) {
		m.warn(fmt.Sprintf("no citation [%d]", citation))
	}
	return nil
}

// askExample asks the next of the target's example questions.
func (m *Model) askExample() tea.Cmd {
	examples := m.target.Examples
	m.box.SetQuery(examples[m.completion.example%len(examples)], m.now())
	m.completion.example++
	return m.queryEdited()
}

func (m *Model) handleWheel(wheel tea.MouseWheelMsg) tea.Cmd {
	const lines = 3
	by, known := map[tea.MouseButton]int{tea.MouseWheelUp: -1, tea.MouseWheelDown: 1}[wheel.Button]
	if !known {
		return nil
	}
	inReader, inList := m.rects.Reader.contains(wheel.X, wheel.Y), m.rects.List.contains(wheel.X, wheel.Y)
	switch {
	case m.overlay() != 0:
		m.panel().Move(by)
	case inReader && by < 0:
		m.reader.Up(lines)
	case inReader:
		m.reader.Down(lines)
	case inList:
		m.list.Move(by)
	}
	return nil
}

func (m *Model) handleClick(click tea.MouseClickMsg) tea.Cmd {
	switch {
	case m.overlay() != 0 || click.Button != tea.MouseLeft:
	case m.rects.Query.contains(click.X, click.Y):
		m.focus = InBox
	case m.rects.Chips.contains(click.X, click.Y):
		if chip, ok := m.box.HitChip(click.X); ok {
			return m.removeChip(chip)
		}
	case m.rects.Reader.contains(click.X, click.Y):
		m.focus = InReader
	case m.rects.List.contains(click.X, click.Y):
		if row, ok := m.list.RowAt(click.Y - m.rects.List.Y); ok {
			m.focus = InList
			m.list.SelectIndex(row)
		}
	}
	return nil
}

func (r Rect) contains(x, y int) bool { return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H }
