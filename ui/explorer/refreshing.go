package explorer

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
)

// versionEvery is how often a library is asked whether another process changed it.
const versionEvery = time.Second

// askVersion fetches the library's status.
func (m *Model) askVersion() tea.Cmd {
	return during(m.conn.request, m.client().LibraryStatus, m.handleVersion)
}

// handleVersion forgets remembered answers and refreshes the results when another process changed the library.
func (m *Model) handleVersion(status *wire.LibraryStatus, err error) tea.Cmd {
	again := after(m.conn.request, versionEvery, m.askVersion)
	if err != nil || status.Version == m.conn.version {
		return again
	}
	first := m.conn.version == ""
	m.conn.version, m.conn.vectors = status.Version, status.VectorModel != ""
	if first { // a search may have been faster
		if m.search.shown != nil {
			m.search.shown.version = status.Version
		}
		if m.search.running != nil {
			m.search.running.version = status.Version
		}
		return again
	}
	m.search.memory.clear()
	m.reading.whole = nil
	return tea.Batch(again, m.askWelcome(), m.refresh())
}

// outdated reports whether the library changed after the shown results were found.
func (m *Model) outdated() bool {
	s := m.search.shown
	return s != nil && !s.ofAnswer && s.version != m.conn.version
}

// refresh brings outdated results up to date where that costs no call of a model. Other results stay, and the summary
// says that the library changed.
func (m *Model) refresh() tea.Cmd {
	if !m.outdated() || m.search.running != nil || !m.foundByWords() {
		return nil
	}
	m.stopBlaming()
	s := m.requestOf(m.search.shown.text, m.search.shown.instant)
	if !s.instant { // an instant search takes the last word for a prefix, unless a space follows
		s.wire.Query = strings.TrimRight(s.wire.Query, " ") + " "
	}
	s.wire.Instant = true
	return m.send(s)
}

// foundByWords reports whether no language model, embedding model or other server took part in the shown results, so
// that an instant search finds the same.
func (m *Model) foundByWords() bool {
	s := m.search.shown
	if s.instant || s.wire.Instant {
		return true
	}
	noModel := slices.ContainsFunc(s.response.Notes, func(note wire.Note) bool { return note.Code == wire.NoteNoModel })
	return noModel && !m.conn.vectors && len(m.target.Beside) == 0
}
