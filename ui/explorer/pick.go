package explorer

import (
	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/state"
)

// picking is the choice of passages for somebody who waits for them. Its marks end with it: those of the collection,
// which may be months old, are not chosen with what is picked today.
type picking struct {
	marks   *state.Store
	results map[string]wire.SearchResult // the marked ones by reference, as they were found
}

func pickBindings() []Binding {
	choose := action("choose", "enter", InList|InReader, "choose", "With --pick: choose the passage, or the marked ones, and quit",
		(*Model).choose, noResult)
	choose.Picks = true
	return group("Pick", choose)
}

// choose hands over the marked passages, or else the selected one, and quits. One that is unfit is named, and nothing
// is handed over.
func (m *Model) choose() tea.Cmd {
	chosen := m.candidates()
	for _, result := range chosen {
		if reason := m.options.Pick.Unfit(result); reason != "" {
			m.warn(reason + ": " + paint.Line(result.Title))
			return nil
		}
	}
	m.options.Pick.Chosen(chosen)
	return m.quit()
}

// candidates are the marked passages, numbered in their order, or else the selected one.
func (m *Model) candidates() []wire.SearchResult {
	marked := m.marks()
	if len(marked) == 0 {
		selected, _ := m.result()
		return []wire.SearchResult{selected}
	}
	chosen := make([]wire.SearchResult, 0, len(marked))
	for i, mark := range marked {
		result, number := m.pick.results[mark.Ref], i+1
		result.CitationID = &number
		chosen = append(chosen, result)
	}
	return chosen
}

// marks are the marked passages: those of the collection, or of what is being picked.
func (m *Model) marks() []state.Passage {
	if m.pick != nil {
		return m.pick.marks.State().Collection
	}
	return m.past.state.Collection
}

// changeMarks changes the marked passages, and saves them if they are those of the collection.
func (m *Model) changeMarks(change func(*state.State) error) tea.Cmd {
	if m.pick == nil {
		return m.change(change)
	}
	if _, err := m.pick.marks.Change(change); err != nil {
		m.warn(text.Sentence(err.Error()))
	}
	return nil
}
