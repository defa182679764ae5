package explorer

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
)

func (m *Model) focusBox() tea.Cmd {
	m.focus = InBox
	return nil
}

func (m *Model) focusList() tea.Cmd {
	m.focus = InList
	return nil
}

func (m *Model) focusReader() tea.Cmd {
	m.focus = InReader
	return nil
}

// back goes one step back: it stops the search under way, then leaves the reader, the list, and last empties the query.
func (m *Model) back() tea.Cmd {
	switch {
	case m.search.running != nil && m.search.running.slow: // one that nobody sees is nothing to step back from
		m.stopSearch()
		m.message = message{"stopped; what was found so far stays", info}
		return nil
	case m.reading.expanding.running() && m.message.text != "":
		m.reading.expanding.stop()
		m.message = message{"stopped", info}
		return nil
	case m.look.zoomed && m.focus != InBox:
		return m.zoom()
	case m.focus == InReader:
		return m.focusList()
	case m.focus == InList:
		return m.focusBox()
	case m.box.Query() != "":
		m.remember()
		m.box.SetQuery("", m.now())
		m.message = message{m.keys.keyOf("undo", InBox) + " brings the query back", info}
		return m.queryEdited()
	}
	return nil
}

func (m *Model) selectNext() tea.Cmd     { m.list.Move(1); return nil }
func (m *Model) selectPrevious() tea.Cmd { m.list.Move(-1); return nil }
func (m *Model) selectFirst() tea.Cmd    { m.list.First(); return nil }
func (m *Model) selectLast() tea.Cmd     { m.list.Last(); return nil }
func (m *Model) listDown() tea.Cmd       { m.list.HalfPage(1); return nil }
func (m *Model) listUp() tea.Cmd         { m.list.HalfPage(-1); return nil }

// jump goes to a citation.
func (m *Model) jump(citation int) tea.Cmd {
	if !m.list.Jump(citation) {
		m.warn(fmt.Sprintf("there is no citation [%d]", citation))
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

func (m *Model) wheelTurned(wheel tea.MouseWheelMsg) tea.Cmd {
	const lines = 3
	up := wheel.Button == tea.MouseWheelUp
	if !up && wheel.Button != tea.MouseWheelDown {
		return nil
	}
	inReader, inList := m.rects.Reader.holds(wheel.X, wheel.Y), m.rects.List.holds(wheel.X, wheel.Y)
	switch {
	case m.overlay() != 0 && up:
		return m.panelUp()
	case m.overlay() != 0:
		return m.panelDown()
	case inReader && up:
		m.reader.Up(lines)
	case inReader:
		m.reader.Down(lines)
	case inList && up:
		m.list.Move(-1)
	case inList:
		m.list.Move(1)
	}
	return nil
}

func (m *Model) clicked(click tea.MouseClickMsg) tea.Cmd {
	switch {
	case m.overlay() != 0 || click.Button != tea.MouseLeft:
	case m.rects.Query.holds(click.X, click.Y):
		m.focus = InBox
	case m.rects.Chips.holds(click.X, click.Y):
		if chip, ok := m.box.HitChip(click.X); ok {
			return m.removeChip(chip)
		}
	case m.rects.Reader.holds(click.X, click.Y):
		m.focus = InReader
	case m.rects.List.holds(click.X, click.Y):
		if row, ok := m.list.RowAt(click.Y - m.rects.List.Y); ok {
			m.focus = InList
			m.list.SelectIndex(row)
		}
	}
	return nil
}

func (r Rect) holds(x, y int) bool { return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H }
