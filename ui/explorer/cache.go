package explorer

import (
	"cmp"
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
	"quarry/internal/memo"
)

const (
	rememberFor  = 10 * time.Minute // of a server, which does not say when its documents change
	rememberSize = 2 << 20          // bytes of passages in all answers
)

// memory keeps answers, so that the same search again costs nothing.
type memory = memo.Cache[string, remembered]

// remembered is what was answered, and when.
type remembered struct {
	response *wire.SearchResponse
	level    string // that contains the counted places
	took     time.Duration
	at       time.Time
	kept     bool // until it is forgotten: a library reports its changes
}

// newMemory returns a memory of at most the given number of bytes; 0 means rememberSize. An answer that would push out
// all others is not kept.
func newMemory(most int) *memory {
	most = cmp.Or(max(0, most), rememberSize)
	return memo.New[string](most, most/2, remembered.size)
}

// holds reports whether an answer is still of use.
func (a remembered) holds(now time.Time) bool { return a.kept || now.Sub(a.at) <= rememberFor }

// size is about what an answer takes in memory, in bytes: nearly all of it is text.
func (a remembered) size() int {
	const perResult = 1 << 10 // and of an answer
	size := perResult + len(a.response.LLMFacingText)
	for _, result := range a.response.Results {
		size += perResult + len(result.Content) + len(result.Blurb) + len(result.Title)
	}
	return size
}

// versionEvery is how often a library is asked whether another process changed it.
const versionEvery = time.Second

// askVersion fetches the library's status if that has changed.
func (m *Model) askVersion() tea.Cmd {
	c, known := m.client(), m.conn.version
	return during(m.conn.request, func(ctx context.Context) (*wire.LibraryStatus, error) {
		return c.LibraryChange(ctx, known)
	}, m.handleVersion)
}

// handleVersion forgets remembered answers and refreshes the results when another process changed the library.
func (m *Model) handleVersion(status *wire.LibraryStatus, err error) tea.Cmd {
	again := after(m.conn.request, versionEvery, m.askVersion)
	if err == nil {
		had, known := m.conn.vectors, status.Version == m.conn.version // then only the work that runs is reported
		m.conn.meaning = status.Meaning
		m.conn.vectors = status.Meaning.Done > 0 && status.Meaning.State != wire.MeaningOff || had && known
		if m.conn.vectors && !had {
			again = tea.Batch(again, m.askModelStatus()) // without a model Enter asks what a pause asked
		}
	}
	if err != nil || status.Version == m.conn.version {
		return again
	}
	first := m.conn.version == ""
	m.conn.version, m.conn.synced = status.Version, lastSync(status.Roots)
	if first { // a search may have been faster
		if m.search.shown != nil {
			m.search.shown.version = status.Version
		}
		if m.search.running != nil {
			m.search.running.version = status.Version
		}
		return again
	}
	m.search.memory.Clear()
	m.compare.following.whole, m.filters.listed = nil, nil
	return tea.Batch(again, m.askWelcome(), m.refresh())
}

// outdated reports whether the library changed after the shown results were found.
func (m *Model) outdated() bool {
	s := m.search.shown
	return s != nil && !s.ofAnswer && s.version != m.conn.version
}

// upToDate reports whether the shown results are the last that were asked for, and nothing has changed since.
func (m *Model) upToDate() bool {
	return m.search.shown != nil && m.search.running == nil && m.search.failure == nil && !m.outdated()
}

// refresh brings outdated results up to date where that costs no call of a model; after an edit from here, of no
// language model. Other results stay, with a note in the summary.
func (m *Model) refresh() tea.Cmd {
	if !m.outdated() || m.search.running != nil {
		return nil
	}
	byWords := m.foundByWords()
	edited := m.conn.edited && withoutModel(m.search.shown.response) && len(m.target.Beside) == 0
	if m.conn.edited = false; !byWords && !edited {
		return nil
	}
	m.stopBlaming()
	s := m.requestOf(m.search.shown.text, m.search.shown.instant)
	if byWords && !s.instant {
		s.wire = withoutModels(s.wire)
	}
	return m.send(s)
}

// foundByWords reports whether no language model, embedding model or other server took part in the shown results, so
// that an instant search finds the same.
func (m *Model) foundByWords() bool {
	s := m.search.shown
	return s.instant || s.wire.Instant ||
		withoutModel(s.response) && !m.conn.vectors && len(m.target.Beside) == 0
}

// withoutModel reports whether a server found its answer without a language model because it has none.
func withoutModel(response *wire.SearchResponse) bool {
	return slices.ContainsFunc(response.Notes, func(note wire.Note) bool { return note.Code == wire.NoteNoModel })
}

// selective reports whether a model chose among what was found.
func selective(response *wire.SearchResponse) bool {
	return !slices.ContainsFunc(response.Stages,
		func(s wire.Stage) bool { return s.Name == "select" && s.Outcome != wire.OutcomeOK })
}

// byModel reports whether a model took part in the ranking: it wrote queries or selected.
func byModel(response *wire.SearchResponse) bool {
	return slices.ContainsFunc(response.Stages, func(s wire.Stage) bool {
		return (s.Name == "understand" || s.Name == "select") && s.Outcome == wire.OutcomeOK
	})
}
