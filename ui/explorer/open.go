package explorer

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
)

// welcome is what the empty screen says about the target.
type welcome struct {
	sources   []wire.FacetValue // with counts where exact
	exact     bool
	facets    wire.Facets // of all documents, where exact
	documents int
	instant   bool // the server answers while one types, without a model
	err       error
}

// connection is the open target, and what waits for it.
type connection struct {
	session *client.Session // nil until the target is open
	request *request        // what is fetched from the session, until another is opened
	opening *request
	welcome welcome
	version string // of the library, as last reported
	vectors bool   // an embedding model made vectors for the library
	arrival string // the query that the program was started with
	pending bool   // the query runs as soon as the target is open
	again   bool   // the query runs again in the target switched to
}

// open connects to the target.
func (m *Model) open() tea.Cmd {
	r, target := m.begin(&m.conn.opening), m.target
	return func() tea.Msg {
		session, err := target.Open(r.ctx)
		if release := closing(session); r.ctx.Err() != nil && release != nil { // the program has ended
			return release()
		}
		return resultMsg{handle: func() tea.Cmd {
			if !r.active {
				return closing(session)
			}
			r.stop()
			return m.handleOpened(session, err)
		}}
	}
}

// reopen tries again to connect, unless one is running.
func (m *Model) reopen() tea.Cmd {
	if m.conn.opening.running() {
		m.message = message{"opening " + m.target.Where + "; the search runs once it is open", info}
		return nil
	}
	return m.open()
}

// handleOpened runs the query that the person came with, or typed meanwhile.
func (m *Model) handleOpened(session *client.Session, err error) tea.Cmd {
	if err != nil {
		m.note("open", err)
		return nil
	}
	m.conn.session, m.search.failure = session, nil
	m.begin(&m.conn.request)
	commands := []tea.Cmd{m.askWelcome(), m.askChats()}
	if m.target.Kind == Library {
		commands = append(commands, m.askVersion())
	}
	return tea.Batch(append(commands, m.askOnArrival())...)
}

// askOnArrival asks what was to be asked as soon as the target is open. The results take the keys only of somebody who
// waits for them.
func (m *Model) askOnArrival() tea.Cmd {
	arrived := m.conn.arrival != "" && m.box.Query() == m.conn.arrival
	m.conn.arrival = ""
	switch {
	case m.conn.pending || arrived:
		m.conn.pending = false
		return m.submit()
	case m.conn.again && client.ParseQuery(m.box.Query(), m.now()).HasWords():
		return m.startSearch(m.box.Query(), false, false)
	}
	return m.queryEdited()
}

// openingFailure is the failure to open the target, which outlives searches.
func (m *Model) openingFailure() *failure {
	if m.search.failure != nil && m.search.failure.what == "open" {
		return m.search.failure
	}
	return nil
}

// closing releases a session that is not wanted any more.
func closing(session *client.Session) tea.Cmd {
	if session == nil || session.Close == nil {
		return nil
	}
	return func() tea.Msg {
		_ = session.Close() // nothing was written, so nothing is lost
		return nil
	}
}

// switchTo leaves the target for another. The query stays, and is asked there.
func (m *Model) switchTo(target Target) tea.Cmd {
	m.stopSearch()
	for _, r := range []*request{m.conn.request, m.reading.expanding, m.answer.asking, m.chats.fetching, m.filters.counting} {
		r.stop()
	}
	m.answer.thread, m.follow = thread{}, followUps{}
	m.answer.Reset()
	m.chats.refused, m.reading.whole = "", nil
	before := closing(m.conn.session)
	m.target, m.conn.session, m.conn.welcome, m.conn.version = painted(target), nil, welcome{}, ""
	m.box.Placeholder = "Search " + m.target.Where
	m.search.memory.clear()
	m.search.failure = nil
	m.forgetResults()
	m.conn.again = true
	return tea.Batch(before, m.open())
}

// askWelcome fetches what there is to search.
func (m *Model) askWelcome() tea.Cmd {
	c := m.client()
	return during(m.conn.request, func(ctx context.Context) (welcome, error) { return whatThereIs(ctx, c), nil }, m.handleWelcome)
}

func whatThereIs(ctx context.Context, c *client.Client) welcome {
	w := listed(ctx, c)
	if features, err := c.Features(ctx); err == nil { // else it is asked as a server that can do no more
		w.instant = features.Has(wire.FeatureInstant)
	}
	return w
}

// listed are the sources, counted where the server counts.
func listed(ctx context.Context, c *client.Client) welcome {
	counts, err := c.Facets(ctx, wire.SearchRequest{})
	if err == nil {
		return welcome{sources: counts.Facets.Sources, exact: true, facets: counts.Facets,
			documents: counts.TotalMatches}
	}
	if client.KindOf(err) != client.NotAvailable {
		return welcome{err: err}
	}
	names, err := c.IndexedSources(ctx)
	w := welcome{err: err}
	for _, name := range names {
		w.sources = append(w.sources, wire.FacetValue{Value: name})
	}
	return w
}

func (m *Model) handleWelcome(w welcome, _ error) tea.Cmd {
	m.conn.welcome = w
	var failed *client.Error
	switch {
	case w.err == nil && m.search.failure != nil && m.search.failure.what == "listing":
		m.search.failure = nil
	case m.search.failure != nil && m.search.failure.what != "listing" || !errors.As(w.err, &failed):
	case failed.Code == "INSUFFICIENT_PERMISSIONS": // a token that may only search is none the worse for it
	case failed.Kind == client.Unreachable || failed.Kind == client.Auth:
		m.note("listing", w.err)
	}
	return nil
}
