package explorer

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
)

// followUps is what the next question can refer to.
type followUps struct {
	question following      // the follow-up, if it is the query
	trail    []wire.Message // the conversation that the next question continues
}

// following is a question that follows up on earlier ones.
type following struct {
	text string         // of the question, without filters
	said []wire.Message // what was said before, and the question
}

// of gives what was said before a query and in it, for the search; nil where the query stands alone.
func (f following) of(query client.Query) []wire.Message {
	if f.text == "" || f.text != query.Text {
		return nil
	}
	return f.said
}

// followUp searches for the query as a follow-up to the searches and answers before it.
func (m *Model) followUp() tea.Cmd {
	m.box.FinishFilters(m.now())
	text := m.box.Query()
	query := client.ParseQuery(text, m.now())
	if !query.HasWords() {
		m.warn("type a follow-up question first")
		return nil
	}
	m.focus = InList
	if s := m.search.shown; s != nil && sameQuestion(s.text, text) && len(s.wire.MessageHistory) > 0 && m.search.running == nil &&
		m.search.failure == nil && !m.outdated() {
		return nil
	}
	return m.searchFurther(text, m.follow.trail)
}

// searchFurther searches for a query in the light of what was said before.
func (m *Model) searchFurther(text string, said []wire.Message) tea.Cmd {
	question := client.ParseQuery(text, m.now()).Text
	m.follow.question = following{text: question, said: append(slices.Clone(said), wire.Message{Type: "user", Message: question})}
	return m.startSearch(text, false, false)
}

// replaceQuery puts a question in place of the words of the query. Its filters stay, and undo brings the words back.
func (m *Model) replaceQuery(question string) {
	m.remember()
	var filters []string
	for _, chip := range m.box.Chips() {
		filters = append(filters, chip.Raw)
	}
	m.box.SetQuery(strings.Join(append(filters, question), " "), m.now())
}

// noTrail says why there is nothing that a question could go on with.
func noTrail(m *Model) string {
	return cmp.Or(notOpen(m), unless(len(m.follow.trail) > 0,
		"no search to follow up yet: "+m.keys.keyOf("search", InBox)+" runs one"))
}
