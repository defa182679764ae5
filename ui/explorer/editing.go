package explorer

import (
	tea "charm.land/bubbletea/v2"

	"quarry/ui/explorer/line"
)

// field is where text is typed: the query box, or the line of a panel.
type field interface {
	Insert(text string) bool
	Left() bool
	Right() bool
	WordLeft() bool
	WordRight() bool
	Home() bool
	End() bool
	DeleteBack() bool
	DeleteForward() bool
	DeleteWordBack() bool
	DeleteWordBackAlt() bool
	DeleteWordForward() bool
	KillToEnd() bool
	KillToStart() bool
	Yank() bool
	Transpose() bool
	Undo() bool
	Redo() bool
}

// edit changes what is typed, and follows the change.
func (m *Model) edit(change func(field) bool) tea.Cmd {
	if top, ok := m.top(); ok {
		top.Edit(func(editor *line.Editor) bool { return change(editor) })
	} else if m.focus == InBox {
		if before := m.box.Query(); change(&m.box) && m.box.Query() != before {
			return m.queryEdited()
		}
	}
	return nil
}

// typed puts text where text goes. In the list and the reader there is no such place.
func (m *Model) typed(text string) tea.Cmd {
	return m.edit(func(f field) bool { return f.Insert(text) })
}

func (m *Model) handlePaste(paste tea.PasteMsg) tea.Cmd {
	if m.place()&InFields == 0 {
		m.focus = InBox
	}
	if m.place() == InBox {
		return m.edit(func(field) bool { return m.box.Paste(paste.Content) })
	}
	return m.typed(paste.Content)
}

// editingBindings are readline's keys.
func editingBindings() []Binding {
	edit := func(name, keys, long string, run func(field) bool) Binding {
		return action(name, keys, InFields, "", long, func(m *Model) tea.Cmd { return m.edit(run) })
	}
	left := edit("left", "left ctrl+b", "Move left one character", field.Left)
	right := edit("right", "right", "Move right one character", field.Right)
	left.In, right.In = InFields&^InPicker, InFields&^InPicker // which has its own
	return group("Typing", left, right,
		edit("word-left", "ctrl+left alt+left alt+b", "Move left one word", field.WordLeft),
		edit("word-right", "ctrl+right alt+right alt+f", "Move right one word", field.WordRight),
		edit("line-start", "ctrl+a home", "Move to the start of the line", field.Home),
		edit("line-end", "ctrl+e end", "Move to the end of the line", field.End),
		edit("delete-back", "backspace ctrl+h", "Delete the previous character; at the start, edit the last filter",
			field.DeleteBack),
		edit("delete-forward", "delete ctrl+d", "Delete the next character", field.DeleteForward),
		edit("delete-word", "ctrl+w", "Delete back to the previous space", field.DeleteWordBack),
		edit("delete-word-back", "alt+backspace", "Delete the previous word", field.DeleteWordBackAlt),
		edit("delete-word-forward", "alt+d", "Delete the next word", field.DeleteWordForward),
		edit("kill-to-end", "ctrl+k", "Delete to the end of the line", field.KillToEnd),
		edit("kill-to-start", "ctrl+u", "Delete to the start of the line", field.KillToStart),
		edit("yank", "ctrl+y", "Paste the last deleted text", field.Yank),
		edit("transpose", "ctrl+t", "Swap two characters", field.Transpose),
		edit("undo", "ctrl+_ ctrl+/", "Undo", field.Undo),
		edit("redo", "alt+/", "Redo", field.Redo),
	)
}
