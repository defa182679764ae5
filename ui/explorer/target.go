package explorer

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/ui/explorer/setup"
)

// welcome is what the empty screen says about the target.
type welcome struct {
	sources   []wire.FacetValue // with counts where exact
	listedBy  string            // which listing they come from, one of client's; empty: the counts
	exact     bool
	facets    wire.Facets // of all documents, where exact
	documents int
	inner     []wire.FacetValue   // places in the one that has most documents
	newest    []wire.SearchResult // without their texts
	unlike    bool                // it cannot find passages like one
	instant   bool                // the server answers while one types, without a model
	browses   bool                // it lists what filters alone leave
	pages     bool                // it lists documents behind an offset
	refs      bool                // it answers from passages of one's choice
	bare      bool                // it has no extensions of Onyx's API
	marks     bool                // it marks the words of a query in every chunk
	err       error
}

// connection is the open target, and what waits for it.
type connection struct {
	session *client.Session // nil until the target is open
	request *request        // what is fetched from the session, until another is opened
	opening *request
	welcome welcome
	version string       // of the library, as last reported
	synced  time.Time    // when its folders were last read
	vectors bool         // the library has vectors of the model that searches: more is found than by words
	meaning wire.Meaning // of the library, while its vectors are made
	noModel bool         // the target reported that it has no language model
	arrival string       // the query that the program was started with
	pending bool         // the query runs as soon as the target is open
	again   bool         // the query runs again in the target switched to
	edited  bool         // the person changed the library from here: its new version is searched even by meaning
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
		m.inform("opening " + m.target.Where + "; the search runs once it is open")
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
	commands := []tea.Cmd{m.askWelcome(), m.askChats(), m.countAdded()}
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
	case m.conn.again && m.searches(m.query()):
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
	m.unpin()
	for _, r := range []*request{m.conn.request, m.reader.expanding, m.editing, m.answer.asking, m.answer.passages,
		m.chats.fetching, m.filters.counting, m.past.counting, m.collection.checking} {
		r.stop()
	}
	m.answer.thread, m.follow = thread{}, followUps{}
	m.answer.Reset()
	m.chats.refused, m.compare.following.whole = "", nil
	before := closing(m.conn.session)
	m.target, m.answer.refused = painted(target), ""
	m.conn = connection{opening: m.conn.opening, noModel: target.NoModel, again: true}
	m.box.Placeholder = "Search " + m.target.Where
	m.search.memory.Clear()
	m.search.failure = nil
	m.forgetResults()
	for _, l := range m.filters.listed {
		l.request.stop()
	}
	m.past, m.filters.listed, m.filters.checked = history{}, nil, nil
	m.look.flipped = false
	m.divide()
	return tea.Batch(before, m.open(), m.loadState())
}

// askWelcome fetches what there is to search.
func (m *Model) askWelcome() tea.Cmd {
	c := m.client()
	offers := c.Local() || m.target.Offers
	return during(m.conn.request, func(ctx context.Context) (welcome, error) {
		return whatThereIs(ctx, c, offers), nil
	}, m.handleWelcome)
}

func whatThereIs(ctx context.Context, c *client.Client, offers bool) welcome {
	w := listed(ctx, c)
	if features, err := c.Features(ctx); err == nil { // else it is asked as a server that can do no more
		w.instant, w.browses, w.pages = features.Has(wire.FeatureInstant), features.Has(wire.FeatureBrowse),
			features.Has(wire.FeatureOffset)
		w.refs, w.unlike = features.Has(wire.FeatureRefs), !features.Has(wire.FeatureSimilarTo)
		w.bare, w.marks = features.API == 0, features.Has(wire.FeatureHighlights)
	}
	if w.browses && w.documents > 0 && offers {
		w.newest = newest(ctx, c)
	}
	if len(w.facets.Places) > 0 && offers {
		largest := wire.SearchRequest{FacetPlace: field.LevelIn(w.facets.Places[0].Value)}
		if counts, err := c.Facets(ctx, largest); err == nil { // else they are not shown
			w.inner = counts.Facets.Places
		}
	}
	return w
}

// newest returns the documents changed last; none if they cannot be listed, for they are but an offer.
func newest(ctx context.Context, c *client.Client) []wire.SearchResult {
	wanted := mostNewest
	response, err := c.Search(ctx, wire.SearchRequest{Browse: true, NumResults: &wanted})
	if err != nil {
		return nil
	}
	return exslices.CastFunc(response.Results, titleOf)
}

// titleOf returns a result without its text.
func titleOf(r wire.SearchResult) wire.SearchResult {
	return wire.SearchResult{Ref: r.Ref, DocumentID: r.DocumentID, Title: r.Title, SourceType: r.SourceType,
		UpdatedAt: r.UpdatedAt, Place: r.Place}
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
	list := c.ListSources(ctx)
	w := welcome{listedBy: list.Origin}
	for _, name := range list.Values {
		w.sources = append(w.sources, wire.FacetValue{Value: name})
	}
	if list.Origin == "" {
		w.listedBy = client.ListedByNothing
		_, w.err = c.IndexedSources(ctx) // says why
	}
	return w
}

func (m *Model) handleWelcome(w welcome, _ error) tea.Cmd {
	m.conn.welcome = w
	m.divide()
	m.filters.checked = nil
	m.relist()
	m.updatePicker()
	var failed *client.Error
	switch before := m.search.failure; {
	case w.err == nil && before != nil && before.what == "listing":
		m.search.failure = nil
	case before != nil && before.what != "listing" || !errors.As(w.err, &failed):
	case failed.Code == "INSUFFICIENT_PERMISSIONS": // a token that may only search is none the worse for it
	case failed.Kind == client.Unreachable || failed.Kind == client.Auth:
		m.note("listing", w.err)
	}
	return nil
}

// settingUp is the set-up and the work that it started.
type settingUp struct {
	setup.Wizard
	running *request // a connection is being tested or saved
	saving  bool     // running writes a profile
	folder  *request // being read
	arrived bool     // the library that the folder is read into is searched already
	rate    rate
}

// rate measures files per second over the last moments.
type rate struct {
	at        time.Time
	done      int
	perSecond float64
}

// update takes the number of files that are done by now.
func (r *rate) update(done int, now time.Time) {
	const window = time.Second
	switch elapsed := now.Sub(r.at); {
	case r.at.IsZero():
		r.at, r.done = now, done
	case elapsed >= window:
		r.perSecond = float64(done-r.done) / elapsed.Seconds()
		r.at, r.done = now, done
	}
}

// openSetUp lays the wizard over the panes. A folder that is being read is shown as it is.
func (m *Model) openSetUp() tea.Cmd {
	backend := m.options.SetUp.Backend
	input := setup.Input{Sample: m.target.Kind == Sample, Current: m.target.Where, Refused: backend.ReadOnly}
	if backend.Model != nil {
		input.Model = backend.Model()
	}
	if m.target.Kind == Remote {
		input.ModelRefused = m.target.Where + " has its own model"
	}
	m.setUp.Open(input)
	m.pushPanel(InSetUp, &m.setUp)
	return m.askModelStatus()
}

// askModelStatus fetches what the models of a library of this machine used today.
func (m *Model) askModelStatus() tea.Cmd {
	c := m.client()
	if c == nil || m.target.Kind == Remote || m.target.Elsewhere {
		return nil
	}
	return during(m.conn.request, c.ModelStatus, func(status *wire.ModelStatus, err error) tea.Cmd {
		if err == nil { // else the set-up does without
			m.setUp.ModelStatus(*status)
			m.conn.noModel = status.Model == ""
		}
		return nil
	})
}

func (m *Model) setUpEnter() tea.Cmd { return m.carryOut(m.setUp.Enter()) }
func (m *Model) setUpNext() tea.Cmd  { return m.carryOut(m.setUp.Next()) }

// Back goes one level back, and stops a test.
func (s *settingUp) Back() bool {
	s.running.stop()
	return s.Wizard.Back()
}

// cannotClose keeps the set-up open for what is as good as written.
func cannotClose(m *Model) string {
	saving := m.overlay() == InSetUp && m.setUp.saving && m.setUp.running.running()
	return unless(!saving, "saving the connection")
}

// carryOut does what the wizard wants.
func (m *Model) carryOut(intent setup.Intent) tea.Cmd {
	backend := m.options.SetUp.Backend
	m.setUp.saving = intent.Kind == setup.Save
	switch intent.Kind {
	case setup.Test:
		return background(m, &m.setUp.running, func(ctx context.Context) (setup.Tested, error) {
			if intent.Model != nil {
				return backend.TestModel(ctx, *intent.Model)
			}
			return backend.Test(ctx, intent.Connection)
		}, m.handleTested)
	case setup.Save:
		return background(m, &m.setUp.running, func(ctx context.Context) (string, error) {
			if intent.Model != nil {
				return backend.SaveModel(ctx, *intent.Model)
			}
			return backend.Save(ctx, intent.Connection)
		}, m.handleSaved)
	case setup.Folder:
		return background(m, &m.setUp.running, func(context.Context) (string, error) {
			return backend.Path(intent.Path)
		}, m.handlePath)
	case setup.Complete:
		return detached(nil, func() (string, error) {
			return backend.Complete(intent.Path), nil
		}, func(completed string, _ error) tea.Cmd {
			m.setUp.Completed(intent.Path, completed)
			return nil
		})
	case setup.Stop:
		m.setUp.folder.cancel() // what was read so far is still reported
	case setup.Leave:
		m.panels = nil
	}
	return nil
}

func (m *Model) handleTested(found setup.Tested, err error) tea.Cmd {
	if err != nil {
		m.setUp.Stopped()
	} else {
		m.setUp.Tested(found)
	}
	return nil
}

func (m *Model) handleSaved(where string, err error) tea.Cmd {
	if err != nil {
		m.setUp.Failed(reasonOf(err), remedyOf(err))
		return nil
	}
	m.setUp.Saved(where)
	return m.findTarget()
}

// findTarget looks for the target that was set up, to search there from now on.
func (m *Model) findTarget() tea.Cmd {
	ctx, find := m.ctx, m.options.SetUp.Target
	return detached(nil, func() (Target, error) { return find(ctx) }, m.handleTarget)
}

func (m *Model) handleTarget(target Target, err error) tea.Cmd {
	if err != nil {
		m.fail("could not switch: " + reasonOf(err))
		return nil
	}
	return m.switchTo(target)
}

// handlePath begins to read a folder.
func (m *Model) handlePath(path string, err error) tea.Cmd {
	if err != nil {
		m.setUp.Refused(err.Error())
		return nil
	}
	if !m.setUp.Adding(path) {
		return nil
	}
	m.setUp.arrived, m.setUp.rate = false, rate{}
	add := m.options.SetUp.AddFolder
	return stream(m, &m.setUp.folder, 0, func(ctx context.Context, report func(wire.LibraryEvent)) (added, error) {
		done, where, err := add(ctx, path, report)
		return added{done, where}, err
	}, m.handleFolderEvents, m.handleAdded)
}

// added is a folder that was read, and where searches go from now on.
type added struct {
	done  wire.LibraryEvent
	where string
}

// handleFolderEvents shows how far the reading is. From its first document on, searches go to the library.
func (m *Model) handleFolderEvents(events []wire.LibraryEvent) tea.Cmd {
	var found tea.Cmd
	for _, event := range events {
		m.setUp.rate.update(event.Done, m.now())
		m.setUp.Progress(event, m.setUp.rate.perSecond)
		if !m.setUp.arrived && event.Stored > 0 {
			m.setUp.arrived, found = true, m.findTarget()
		}
	}
	return found
}

func (m *Model) handleAdded(folder added, err error) tea.Cmd {
	switch {
	case err == nil:
		m.setUp.Added(folder.done, folder.where)
		if m.overlay() != InSetUp {
			m.say(folder.where)
		}
		if done := folder.done; !m.setUp.arrived && done.Added+done.Updated+done.Unchanged > 0 {
			return m.findTarget()
		}
	case errors.Is(err, context.Canceled) || client.KindOf(err) == client.Canceled:
		m.setUp.Stopped()
	default:
		m.setUp.Failed(reasonOf(err), remedyOf(err))
		if m.overlay() != InSetUp {
			m.fail("could not read the whole folder: " + reasonOf(err))
		}
	}
	return nil
}
