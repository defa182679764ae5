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

// typingGroup is the group of the keys that edit a line.
const typingGroup = "Typing"

// editing makes a handler of one edit.
func editing(edit func(field) bool) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd { return m.edit(edit) }
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

func (m *Model) pasted(paste tea.PasteMsg) tea.Cmd {
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
	edit := func(action, long string, run func(field) bool, keys ...string) Binding {
		return Binding{Action: action, Binding: bind("", keys...), In: InFields, Group: typingGroup, Long: long, Run: editing(run)}
	}
	return []Binding{
		except(InPicker, edit("left", "Character to the left", field.Left, "left", "ctrl+b")),
		except(InPicker, edit("right", "Character to the right", field.Right, "right")),
		edit("word-left", "Word to the left", field.WordLeft, "ctrl+left", "alt+left", "alt+b"),
		edit("word-right", "Word to the right", field.WordRight, "ctrl+right", "alt+right", "alt+f"),
		edit("line-start", "To the beginning of the line", field.Home, "ctrl+a", "home"),
		edit("line-end", "To the end of the line", field.End, "ctrl+e", "end"),
		edit("delete-back", "Delete the character before; at the beginning, take the last filter back into the text",
			field.DeleteBack, "backspace", "ctrl+h"),
		edit("delete-forward", "Delete the character after", field.DeleteForward, "delete", "ctrl+d"),
		edit("delete-word", "Delete to the space before", field.DeleteWordBack, "ctrl+w"),
		edit("delete-word-back", "Delete the word before", field.DeleteWordBackAlt, "alt+backspace"),
		edit("delete-word-forward", "Delete the word after", field.DeleteWordForward, "alt+d"),
		edit("kill-to-end", "Delete to the end of the line", field.KillToEnd, "ctrl+k"),
		edit("kill-to-start", "Delete to the beginning of the line", field.KillToStart, "ctrl+u"),
		edit("yank", "Put back what was deleted last", field.Yank, "ctrl+y"),
		edit("transpose", "Swap two characters", field.Transpose, "ctrl+t"),
		edit("undo", "Undo", field.Undo, "ctrl+_", "ctrl+/"),
		edit("redo", "Redo", field.Redo, "alt+/"),
	}
}

// except takes a binding out of a place where its keys mean something else.
func except(place Place, b Binding) Binding {
	b.In &^= place
	return b
}
