package explorer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

const (
	// wantedResults is how many passages are asked for; those that a model did not keep follow those that it kept.
	wantedResults = 50
	// slowAfter is how long a search may take before the screen shows that it is running.
	slowAfter = 200 * time.Millisecond
	// pauseBefore is how long the keys must rest before a remote server is asked while typing.
	pauseBefore = 100 * time.Millisecond
)

// searching is the search in flight and the results of the last one.
type searching struct {
	running  *search  // nil: none
	pause    *request // the rest of the keys before a search by meaning
	shown    *shown   // what the list shows; nil: nothing was found yet
	failure  *failure
	memory   *memory
	order    string // of the results, one of orders
	paging   paging
	locating *request // of what the query cites
	old      bool     // the list shows the results of another query
}

// search is one running search.
type search struct {
	*request
	text    string // as typed, filters included
	version string // of the library when it was asked
	query   client.Query
	wire    wire.SearchRequest
	agent   string // by name or number, where the request does not say it yet
	key     string // in the memory
	selects string // ref of the result to select
	instant bool   // lexical only, while typing
	paused  bool   // asked as the keys rested, by meaning, too; nobody waits for it
	started time.Time
	slow    bool   // it took longer than slowAfter
	stage   string // of the pipeline, once known
}

// shown is the answer that the list shows.
type shown struct {
	search
	response    *wire.SearchResponse
	took        time.Duration
	provisional bool   // better ones are coming, or were given up
	ofAnswer    bool   // the documents of an answer; nothing was searched for
	from        string // what they are of, if ofAnswer
	remembered  bool   // not asked now
}

// isAnswer reports whether results are the whole answer to what somebody submitted; nil is none.
func (s *shown) isAnswer() bool { return s != nil && !s.typed() && !s.provisional && !s.ofAnswer }

// of reports whether an answer came from a search; a nil or remembered one did not.
func (s *shown) of(asked *search) bool {
	return s != nil && s.request != nil && s.request == asked.request
}

// typed reports whether a search is of what somebody types, who has not submitted it.
func (s *search) typed() bool { return s.instant || s.paused }

// endsInPrefix reports whether the last word, which is being typed, stands for all words that begin with it.
func (s *search) endsInPrefix() bool { return s.instant && !s.query.WordEnded && s.query.Words != "" }

// queryEdited searches as one types, where a search costs nothing.
func (m *Model) queryEdited() tea.Cmd {
	m.conn.pending = false
	text := m.box.InstantQuery()
	if !m.searches(m.parse(text)) {
		m.stopSearch()
		m.forgetResults()
		return nil
	}
	switch {
	case m.client() == nil || m.target.Elsewhere:
		return nil
	case m.client().Local():
		return tea.Batch(m.startSearch(text, true, false), m.awaitPause(text))
	case m.typingSearches():
		return after(nil, pauseBefore, func() tea.Cmd { return m.handlePause(text) })
	}
	return nil
}

// searches reports whether a query finds something here: filters alone do where the server lists what they leave.
func (m *Model) searches(query client.Query) bool {
	return query.Searches() || query.Browses() && (m.conn.welcome.browses || m.isLocal())
}

// typingSearches reports whether typing searches a remote server: where somebody wants that, and over SSH.
func (m *Model) typingSearches() bool {
	return m.options.Instant || m.target.Offers && m.conn.welcome.instant
}

// handlePause searches a remote server if no key was pressed since.
func (m *Model) handlePause(text string) tea.Cmd {
	if m.client() == nil || m.box.InstantQuery() != text || m.focus != InBox {
		return nil
	}
	return m.startSearch(text, true, false)
}

// forgetResults empties the list, since nothing is asked any more.
func (m *Model) forgetResults() {
	m.leavePage()
	m.list.Clear()
	m.stopBlaming()
	m.search.shown, m.search.failure = nil, m.openingFailure()
}

// submit runs the whole search and moves to the list.
func (m *Model) submit() tea.Cmd {
	m.box.FinishFilters()
	text := m.box.Query()
	query := m.parse(text)
	switch {
	case !query.Searches() && !query.Browses():
		return nil
	case m.client() == nil:
		m.conn.pending = true
		return m.reopen()
	case !m.searches(query):
		m.warn("type a query: this server does not list documents by filters alone")
		return nil
	}
	if cited := citationIn(text); cited != "" && !m.conn.welcome.bare {
		return m.openCitation(cited)
	}
	return m.searchSubmitted(text)
}

// searchSubmitted runs the whole search of a query that is in the box, and moves to the list.
func (m *Model) searchSubmitted(text string) tea.Cmd {
	m.focus = InList
	m.settle()
	if s := m.search.running; s != nil && s.paused && s.key == m.requestOf(text, false).key {
		s.paused = false
		return m.awaitSlow(s)
	}
	if s := m.search.shown; s.isAnswer() && s.text == text && m.upToDate() {
		return nil
	}
	return m.startSearch(text, false, false)
}

// searchAgain asks the server even when the answer is remembered.
func (m *Model) searchAgain() tea.Cmd {
	switch {
	case m.client() == nil:
		return m.reopen()
	case !m.searches(m.query()):
		return m.askWelcome()
	}
	return m.startSearch(m.box.Query(), false, true)
}

// startSearch asks for an answer, or takes it from the memory. The search before it is given up.
func (m *Model) startSearch(text string, instant, fresh bool) tea.Cmd {
	m.leavePage()
	if !instant {
		m.settle()
	}
	return m.find(m.requestOf(text, instant), fresh)
}

// find is startSearch for a search whose request is made.
func (m *Model) find(s search, fresh bool) tea.Cmd {
	m.stopSearch()
	m.stopBlaming()
	if !fresh && m.recall(s) {
		return tea.Batch(m.searched(), m.findBlame())
	}
	return m.send(s)
}

// recall shows the remembered answer to a search, and reports whether there is one.
func (m *Model) recall(s search) bool {
	answer, ok := m.search.memory.Get(s.key)
	if !ok || !answer.holds(m.now()) {
		return false
	}
	m.search.failure, s.wire.FacetPlace = nil, answer.level
	former := m.search.shown
	remembered := former == nil || former.key != s.key || former.remembered // else it was asked just now
	m.show(shown{search: s, response: answer.response, took: answer.took, remembered: remembered})
	return true
}

// requestOf is the search of a query with its request.
func (m *Model) requestOf(text string, instant bool) search {
	s := m.searchOf(text)
	s.instant = instant
	s.wire = s.query.Request()
	if instant {
		s.wire = s.query.InstantRequest()
		// As little as such a server can do.
		s.wire.SkipQueryExpansion = m.target.Kind == Remote && !m.conn.welcome.instant
	}
	wanted := m.wanted()
	s.wire.NumResults, s.wire.FacetPlace = &wanted, m.look.by.Level()
	m.inOrder(&s.wire)
	s.wire.Explain = !instant
	if !instant {
		s.wire.Prefix = text == m.box.Query() && m.lastWordOpen()
		s.wire.MessageHistory = m.follow.question.of(s.query)
		if m.follow.trail = s.wire.MessageHistory; m.follow.trail == nil {
			m.follow.question = following{}
			m.follow.trail = []wire.Message{{Type: "user", Message: s.query.Text}}
		}
	}
	s.agent = s.query.Agent
	if s.agent == "" {
		s.wire.PersonaID, s.agent = m.target.Agent.ID, m.target.Agent.Name
	}
	s.key = memoryKey(s.wire, s.agent, m.now())
	return s
}

// lastWordOpen reports whether the last word may not be finished; filters follow it in the query.
func (m *Model) lastWordOpen() bool {
	typed := m.box.Text()
	return typed != "" && !strings.HasSuffix(typed, " ")
}

// withoutModels is a whole search that calls no model. An instant search takes the last word for a prefix in any case,
// unless it says otherwise.
func withoutModels(request wire.SearchRequest) wire.SearchRequest {
	if request.Instant = true; !request.Prefix {
		request.Query = strings.TrimRight(request.Query, " ") + " "
	}
	return request
}

// wanted is how many passages a search asks for.
func (m *Model) wanted() int { return cmp.Or(m.options.Results, wantedResults) }

// send sends a search to the server.
func (m *Model) send(s search) tea.Cmd {
	m.search.running = &s
	c := m.client()
	work := func(ctx context.Context, report func(wire.SearchEvent)) (*wire.SearchResponse, error) {
		if s.typed() {
			response, err := s.find(ctx, c, s.wire)
			return response, explained(err, s.wire.Sources)
		}
		request, usual := s.wire, wire.Agent{ID: s.wire.PersonaID}
		var err error
		if request.PersonaID, err = c.ResolveAgent(ctx, s.agent, usual); err != nil {
			return nil, err
		}
		response, err := c.SearchStream(ctx, request, report)
		return response, explained(err, request.Sources)
	}
	handle := func(response *wire.SearchResponse, err error) tea.Cmd { return m.handleSearch(&s, response, err) }
	found := stream(m, &s.request, 0, work,
		func(events []wire.SearchEvent) tea.Cmd { return m.handleSearchEvents(&s, events) }, handle)
	if s.paused {
		return found
	}
	return tea.Batch(found, m.awaitSlow(&s), m.askFast(&s))
}

// awaitSlow shows that a search is running once somebody has waited for it.
func (m *Model) awaitSlow(s *search) tea.Cmd {
	return after(s.request, slowAfter, func() tea.Cmd { return m.handleSlowSearch(s) })
}

// searchOf is the search of a query, before anything is asked.
func (m *Model) searchOf(text string) search {
	return search{text: text, version: m.conn.version, query: m.parse(text), started: m.now()}
}

// memoryKey distinguishes requests, but for the level of the places that they count. Bounds that count back from now
// are the same for a day, as dates are.
func memoryKey(request wire.SearchRequest, agent string, now time.Time) string {
	if cutoff := request.TimeCutoff; cutoff != nil {
		request.TimeCutoff = &wire.Time{Time: cutoff.Truncate(24 * time.Hour)}
	}
	request.FacetPlace = ""
	agent += now.UTC().Format(time.DateOnly)
	encoded, _ := json.Marshal(request) // of plain values, which can always be encoded
	return agent + "\x00" + string(encoded)
}

// askFast fetches the answer without expansion from a remote server as well, to have something to show.
func (m *Model) askFast(s *search) tea.Cmd {
	if !m.options.Fast || s.instant || m.client().Local() {
		return nil
	}
	c, request := m.client(), s.wire
	request.SkipQueryExpansion = true
	return during(s.request, func(ctx context.Context) (*wire.SearchResponse, error) {
		return s.find(ctx, c, request)
	}, func(response *wire.SearchResponse, err error) tea.Cmd {
		if err == nil && !m.search.shown.of(s) { // the whole search reports an error
			m.showProvisional(s, response)
		}
		return nil
	})
}

// find answers a request of the search, with its agent.
func (s *search) find(ctx context.Context, c *client.Client, request wire.SearchRequest) (*wire.SearchResponse, error) {
	return c.SearchAs(ctx, request, s.agent, wire.Agent{ID: request.PersonaID})
}

// handleSearch shows the answer to a search.
func (m *Model) handleSearch(s *search, response *wire.SearchResponse, err error) tea.Cmd {
	m.search.running = nil
	if err != nil {
		return m.searchFailed(err)
	}
	took := m.now().Sub(s.started)
	m.search.failure = nil
	// Such a search asks a model if there is one.
	if len(response.Stages) > 0 && !s.wire.Instant && !s.wire.SkipQueryExpansion && !s.wire.WithoutModel() {
		m.conn.noModel = withoutModel(response)
	}
	if s.version == m.conn.version { // what a library answered before it changed is of no use
		m.search.memory.Add(s.key, remembered{response: response, level: s.wire.FacetPlace, took: took, at: m.now(),
			kept: m.target.Kind != Remote})
	}
	if s.paused && m.readsOn(s) {
		return m.refresh() // Enter finds it in the memory
	}
	m.show(shown{search: *s, response: response, took: took})
	kept := m.searched()
	if again := m.refresh(); again != nil { // the library changed meanwhile
		return tea.Batch(kept, again)
	}
	if client.KindOf(m.conn.welcome.err) == client.Unreachable {
		return tea.Batch(kept, m.findBlame(), m.askWelcome()) // it can be reached again
	}
	return tea.Batch(kept, m.findBlame())
}

// handleSearchEvents shows the stage of a search and its provisional results.
func (m *Model) handleSearchEvents(s *search, events []wire.SearchEvent) tea.Cmd {
	for _, event := range events {
		switch {
		case event.Type == wire.EventStage:
			s.stage = event.Name
		case event.Type == wire.EventProvisional && event.Response != nil && len(event.Response.Results) > 0:
			m.showProvisional(s, event.Response)
		}
	}
	return nil
}

func (m *Model) showProvisional(s *search, response *wire.SearchResponse) {
	m.show(shown{search: *s, response: response, took: m.now().Sub(s.started), provisional: true})
}

// show puts an answer into the list. When the same question was asked again, a selection that the person made stays.
func (m *Model) show(answer shown) {
	former := m.search.shown
	keep := former != nil && sameQuestion(former.text, answer.text) && former.wire.Sort == answer.wire.Sort &&
		m.list.SelectedIndex() > 0
	if results := answer.response.Results; len(results) > wire.MaxNumResults { // a server that minds no number
		cut := *answer.response
		cut.Results = results[:wire.MaxNumResults]
		answer.response = &cut
	}
	m.search.shown = &answer
	m.list.SetNow(m.now())
	m.compare.following.SetNow(m.now())
	m.search.old = false
	m.list.Plain = !selective(answer.response)
	m.list.OldestFirst = answer.wire.Sort == wire.SortOldest
	m.list.More = 0
	m.list.IsPart = answer.response.Counted() && answer.response.Next(0) < answer.response.TotalMatches
	m.list.SetNew(nil)
	words := passage.Words(answer.query)
	if answer.endsInPrefix() {
		words = passage.Typing(words)
	}
	m.list.Set(answer.response.Results, words, keep)
	if answer.selects != "" {
		m.list.SelectIndex(slices.Index(refsOf(answer.response.Results), answer.selects))
	}
	if keep && former.typed() && !answer.typed() { // a better order is read from its beginning
		m.list.ScrollToTop()
	}
	m.box.SetIgnored(ignoredFields(answer.response.Notes))
	m.updatePicker()
}

func sameQuestion(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// ignoredFields are the filters that the server said to take no notice of.
func ignoredFields(notes []wire.Note) []string {
	fields := exslices.CastFunc(notes, ignoredField)
	return slices.DeleteFunc(fields, func(field string) bool { return field == "" })
}

// ignoredField returns the filter that a note reports as ignored; such a note begins with the name of the filter. It is
// empty for other notes and for filters that have no chip or were applied to the results: the summary reports these.
func ignoredField(note wire.Note) string {
	field, _, _ := strings.Cut(note.Text, ":")
	if note.Code != wire.NoteFilterIgnored || strings.Contains(field, " ") ||
		strings.Contains(note.Text, "only the returned results") {
		return ""
	}
	return field
}

// searchFailed keeps the shown results and records the failure.
func (m *Model) searchFailed(err error) tea.Cmd {
	if client.KindOf(err) == client.Canceled || errors.Is(err, context.Canceled) {
		return nil
	}
	m.note("search", err)
	return m.countDown(m.search.failure)
}

// stopSearch stops the running search and keeps its results.
func (m *Model) stopSearch() {
	m.search.pause.stop()
	if m.search.running != nil {
		m.search.running.stop()
		m.search.running = nil
	}
}

// giveUp stops the search that somebody waits for, and says what is left.
func (m *Model) giveUp() {
	given := m.search.running
	m.stopSearch()
	switch s := m.search.shown; {
	case s.of(given):
		m.inform("stopped; " + text.Count(m.list.Len(), "provisional passage") + " kept")
	case m.list.Len() > 0 && !sameQuestion(s.text, given.text):
		m.inform("stopped; the results are still those for “" + paint.Line(s.text) + "”")
	case m.list.Len() > 0:
		m.inform("stopped; the results stay")
	default:
		m.inform("stopped; nothing was found yet")
	}
}

// followQuery marks the rows as old while they belong to another query than the one in the box, except in the moment in
// which new ones may come.
func (m *Model) followQuery() {
	s, running := m.search.shown, m.search.running
	switch {
	case s == nil || s.ofAnswer || sameQuestion(s.text, m.box.Query()) || sameQuestion(s.text, m.box.InstantQuery()):
		m.search.old = false
	case running != nil && !running.slow:
	case running == nil && !m.failing() && m.focus == InBox && m.client() != nil && !m.target.Elsewhere &&
		(m.client().Local() || m.typingSearches()):
	default:
		m.search.old = true
	}
	m.list.Stale = m.search.old || running != nil && running.slow && !s.of(running)
}

// handleSlowSearch shows that a search is running, and from then on its seconds.
func (m *Model) handleSlowSearch(s *search) tea.Cmd {
	s.slow = true
	return s.watch.Start()
}
