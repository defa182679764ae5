package explorer

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"quarry/ui/explorer/line"
	"quarry/ui/explorer/panel"
)

// back closes what is open, one thing at a time: the completions, the running search, the reader, the listing of an
// empty query, and in the box the query. With nothing open the list keeps the focus: whoever presses esc once too often
// must not type into the query with the keys of the list.
func (m *Model) back() tea.Cmd {
	switch {
	case len(m.menu()) > 0:
		m.completion.closed = m.box.Version()
		return nil
	case m.search.running != nil && m.search.running.slow: // one that nobody sees is nothing to step back from
		m.giveUp()
		return nil
	case m.reader.expanding.running() && m.message.text != "":
		m.reader.expanding.stop()
		m.inform("stopped")
		return nil
	case m.look.zoomed && m.focus != InBox:
		m.look.zoomed = false
	case m.onPinned():
		m.reader = m.compare.following
	case m.focus == InReader && m.answer.reading:
		m.focus = InList
		m.pushPanel(InAnswer, &m.answer)
	case m.focus == InStrip && m.atHome():
		m.enterHome()
	case m.focus == InStrip || m.focus == InReader:
		m.focus = InList
	case m.pick != nil:
		return m.quit()
	case m.box.Query() == "" && m.search.shown != nil:
		m.forgetResults()
		if m.focus != InBox {
			m.enterHome()
		}
	case m.focus != InBox: // nothing is open
	case m.box.Query() != "":
		m.setQuery("")
		m.inform(m.keys.keyOf("undo", InBox) + " restores the query")
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

func (m *Model) handleWheel(wheel tea.MouseWheelMsg) {
	const lines = 3
	if side := map[tea.MouseButton]int{tea.MouseWheelLeft: -1, tea.MouseWheelRight: 1}[wheel.Button]; side != 0 &&
		m.overlay() == 0 {
		m.reader.Sideways(side)
	}
	by, known := map[tea.MouseButton]int{tea.MouseWheelUp: -1, tea.MouseWheelDown: 1}[wheel.Button]
	if !known {
		return
	}
	switch r := m.readerAt(wheel.X, wheel.Y); {
	case m.overlay() != 0:
		m.top().Move(by)
	case r != nil:
		r.Down(by * lines)
	case m.rects.List.contains(wheel.X, wheel.Y):
		m.list.Move(by)
	}
}

func (m *Model) handleClick(click tea.MouseClickMsg) tea.Cmd {
	switch {
	case click.Button == tea.MouseLeft && m.overlay() == InPicker:
		m.clickPicker(click.X, click.Y)
	case m.overlay() != 0 || click.Button != tea.MouseLeft:
	case m.rects.Query.contains(click.X, click.Y):
		m.focus = InBox
	case m.rects.Chips.contains(click.X, click.Y):
		if chip, ok := m.box.HitChip(click.X); ok {
			return m.removeChip(chip)
		}
	case m.rects.Strip.contains(click.X, click.Y):
		if m.strip.MoveTo(click.X) {
			m.focus = InStrip
			return m.toggleValue()
		}
	case m.readerAt(click.X, click.Y) != nil:
		m.focus, m.reader = InReader, m.readerAt(click.X, click.Y)
	case m.rects.List.contains(click.X, click.Y):
		if row, ok := m.list.RowAt(click.Y - m.rects.List.Y); ok {
			m.focus = InList
			m.list.SelectIndex(row)
		}
	}
	return nil
}

// clickPicker shows the tab whose title was clicked, or toggles the value.
func (m *Model) clickPicker(x, y int) {
	const beforeTitle = 2 // columns in a frame
	r := m.panelAt
	_, top, _, _ := panel.Inside(r.W, r.H)
	switch line := y - r.Y - top; {
	case !r.contains(x, y):
	case line >= 0:
		m.filters.picker.HitLine(line)
	case panel.Framed(r.W, r.H):
		m.filters.picker.HitTitle(x - r.X - beforeTitle)
	default:
		m.filters.picker.HitTitle(x - r.X)
	}
}

func (r Rect) contains(x, y int) bool { return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H }

// editable is where text is typed: the query box, or the line of a panel.
type editable interface {
	Insert(text string)
	Left()
	Right()
	WordLeft()
	WordRight()
	Home()
	End()
	DeleteBack()
	DeleteForward()
	DeleteWordBack()
	DeleteWordBackAlt()
	DeleteWordForward()
	KillToEnd()
	KillToStart()
	Yank()
	Transpose()
	Undo()
	Redo()
}

// edit changes what is typed, and follows the change.
func (m *Model) edit(change func(editable)) tea.Cmd {
	if m.place() == InAnswer && cannotFollowUp(m) != "" {
		m.warn(cannotFollowUp(m))
		return nil
	}
	if m.overlay() != 0 {
		m.top().Edit(func(editor *line.Editor) { change(editor) })
		if m.overlay() == InLinks {
			return m.openTypedLink()
		}
	} else if m.focus == InBox {
		before := m.box.Query()
		if change(&m.box); m.box.Query() != before {
			return m.queryEdited()
		}
	}
	return nil
}

// typed puts text where text goes. In the list and the reader there is no such place.
func (m *Model) typed(text string) tea.Cmd {
	return m.edit(func(f editable) { f.Insert(text) })
}

func (m *Model) handlePaste(paste tea.PasteMsg) tea.Cmd {
	if m.place()&InFields == 0 {
		m.focus = InBox
	}
	if m.place() == InBox {
		return m.edit(func(editable) { m.box.Paste(paste.Content) })
	}
	return m.typed(paste.Content)
}

// editingBindings are readline's keys.
func editingBindings() []Binding {
	edit := func(name, keys, long string, run func(editable)) Binding {
		return action(name, keys, InFields, "", long, func(m *Model) tea.Cmd { return m.edit(run) })
	}
	left := edit("left", "left ctrl+b", "Move left one character", editable.Left)
	right := edit("right", "right", "Move right one character", editable.Right)
	left.In, right.In = InFields&^InPicker, InFields&^InPicker // which has its own
	return group("Typing", left, right,
		edit("word-left", "ctrl+left alt+left alt+b", "Move left one word", editable.WordLeft),
		edit("word-right", "ctrl+right alt+right alt+f", "Move right one word", editable.WordRight),
		edit("line-start", "ctrl+a home", "Move to the start of the line", editable.Home),
		edit("line-end", "ctrl+e end", "Move to the end of the line", editable.End),
		edit("delete-back", "backspace ctrl+h", "Delete the previous character; at the start, edit the last filter",
			editable.DeleteBack),
		edit("delete-forward", "delete ctrl+d", "Delete the next character", editable.DeleteForward),
		edit("delete-word", "ctrl+w", "Delete back to the previous space", editable.DeleteWordBack),
		edit("delete-word-back", "alt+backspace", "Delete the previous word", editable.DeleteWordBackAlt),
		edit("delete-word-forward", "alt+d", "Delete the next word", editable.DeleteWordForward),
		edit("kill-to-end", "ctrl+k", "Delete to the end of the line", editable.KillToEnd),
		edit("kill-to-start", "ctrl+u", "Delete to the start of the line, with the filters", editable.KillToStart),
		edit("yank", "ctrl+y", "Paste the last deleted text", editable.Yank),
		edit("transpose", "ctrl+t", "Swap two characters", editable.Transpose),
		edit("undo", "ctrl+_ ctrl+/", "Undo", editable.Undo),
		edit("redo", "alt+/", "Redo", editable.Redo),
	)
}
