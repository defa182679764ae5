package explorer

import (
	tea "charm.land/bubbletea/v2"

	"quarry/ui/passage"
)

func paragraphBindings() []Binding {
	return group("Document",
		action("select-paragraph", "V", InReader, "paragraph", "Select a paragraph to copy", do(func(m *Model) { m.reader.Select(true) }), noResult),
		action("copy-paragraph", "y Y enter", InParagraph, "copy", "Copy the paragraph with the citation", (*Model).copyParagraph),
		action("next-paragraph", "j down ctrl+n", InParagraph, "next", "Next paragraph",
			do(func(m *Model) { m.reader.MoveSelection(1) })),
		action("previous-paragraph", "k up ctrl+p", InParagraph, "previous", "Previous paragraph",
			do(func(m *Model) { m.reader.MoveSelection(-1) })),
		action("end-selection", "esc V q", InParagraph, "done", "End the selection", do(func(m *Model) { m.reader.Select(false) })),
	)
}

// copyParagraph copies the selected paragraph and ends the selection.
func (m *Model) copyParagraph() tea.Cmd {
	result, _ := m.result()
	result.Content = m.reader.Selected()
	m.reader.Select(false)
	return m.copy(passage.Quote(passage.Shared(result)), "paragraph of ["+passage.Citation(result)+"]")
}
