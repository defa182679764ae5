package explorer

import (
	"cmp"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/internal/text"
	"quarry/ui/passage"
)

func similarBindings() []Binding {
	return group("Results", action("similar", "~", InList|InReader, "", "Search for passages like this one", (*Model).searchSimilar, cannotFindSimilar))
}

func cannotFindSimilar(m *Model) string {
	result, _ := m.result()
	_, usable := client.SimilarQuery(result.Ref)
	return cmp.Or(noResult(m), notOpen(m), m.elsewhere(result),
		unless(result.Ref != "" && !m.conn.welcome.unlike, "this server cannot search for similar passages"),
		unless(usable, "a query cannot hold the reference of this passage"))
}

// longestTitle bounds the title of a passage in a chip, in bytes.
const longestTitle = 200

// searchSimilar searches for passages like the one that is read or selected.
func (m *Model) searchSimilar() tea.Cmd {
	result, _ := m.result()
	query, _ := client.SimilarQuery(result.Ref)
	m.remember()
	m.box.SetTitle(result.Ref, text.Clip(passage.Title(result), longestTitle))
	m.box.SetQuery(query, m.now())
	m.focus = InList
	return m.startSearch(m.box.Query(), false, false)
}
