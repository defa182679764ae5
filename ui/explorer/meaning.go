package explorer

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// meaningPause is how long the keys must rest before a library is searched by meaning, too.
const meaningPause = 400 * time.Millisecond

// awaitPause searches a library by meaning, too, once the keys have rested. Other profiles are asked on Enter alone.
func (m *Model) awaitPause(text string) tea.Cmd {
	unknown := m.conn.version == "" // until the library has said what it has
	if m.target.Kind != Library || len(m.target.Beside) > 0 || !m.conn.vectors && !unknown {
		return nil
	}
	return after(m.begin(&m.search.pause), meaningPause, func() tea.Cmd { return m.handleMeaningPause(text) })
}

// handleMeaningPause makes the search that Enter would make, but without a language model: each call of one costs
// something, and typing does not ask for that.
func (m *Model) handleMeaningPause(text string) tea.Cmd {
	if !m.conn.vectors || m.client() == nil || m.box.InstantQuery() != text {
		return nil
	}
	if m.search.running != nil { // what is found by words comes first
		return after(m.search.pause, meaningPause, func() tea.Cmd { return m.handleMeaningPause(text) })
	}
	follow := m.follow
	s := m.requestOf(text, false)
	m.follow = follow // which continues what was submitted
	if s.paused = true; s.wire.WithoutModel() || s.wire.MessageHistory != nil || m.readsOn(&s) {
		return nil
	}
	if !m.conn.noModel {
		s.wire.SkipQueryExpansion, s.wire.SkipDocumentSelection = true, true
		s.key = memoryKey(s.wire, s.agent, m.now())
	}
	return m.find(s, false)
}

// readsOn reports whether results of a paused search would change rows that somebody reads: the selection left the
// first one, or its passage was scrolled.
func (m *Model) readsOn(s *search) bool {
	shown := m.search.shown
	if shown == nil || !shown.ofAnswer && !sameQuestion(shown.text, s.text) {
		return false
	}
	return shown.ofAnswer || !shown.instant || m.list.Row() > 0 || m.focus == InReader || m.compare.following.Scrolled()
}
