package explorer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.mau.fi/util/exmaps"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/panel"
	"quarry/ui/passage"
	"quarry/ui/state"
)

const (
	maxPages = 50 // searches to walk through
	// saveWithin bounds the wait for another process that writes the same file.
	saveWithin = 5 * time.Second
)

// history is what the person did before: in this run, to walk through, and in earlier ones.
type history struct {
	state  state.State // as known now
	loaded bool        // else it may be older
	pages  []page      // the oldest first
	at     int         // of the page that is shown

	chosen   int           // entry of the home
	searches panel.Actions // saved and recent searches, to choose from
	opening  string        // the saved search whose results are awaited
	newness
	counting *request
}

// page is a search that was submitted, and where the selection was.
type page struct {
	search
	selected string // reference
}

// loadState reads what is remembered of the target.
func (m *Model) loadState() tea.Cmd {
	store := m.target.State
	return detached(nil, store.Load, func(loaded state.State, err error) tea.Cmd {
		return m.handleState(store, loaded, err)
	})
}

func (m *Model) handleState(store *state.Store, loaded state.State, err error) tea.Cmd {
	if store != m.target.State {
		return nil // the target was left meanwhile
	}
	m.past.state, m.past.loaded = loaded, true
	if m.overlay() == InSearches {
		m.past.searches.Replace(m.searchEntries())
	}
	if err != nil {
		m.warnOf(err)
	}
	return tea.Batch(m.arrangeAsBefore(loaded.Screen),
		m.change(func(s *state.State) error { s.Visit(m.now()); return nil }), m.countAdded())
}

// arrangeAsBefore restores the theme, the grouping and the sizes of the panes, unless the person has changed them
// already. A theme of the configuration stays.
func (m *Model) arrangeAsBefore(screen state.Screen) (read tea.Cmd) {
	if screen.Theme != "" && m.options.Theme == "auto" && m.look.mode == "auto" {
		m.look.mode = screen.Theme
		m.restyle()
		if !slices.Contains(theme.Modes(), screen.Theme) {
			read = m.readThemes()
		}
	}
	if m.look.grouping == "" {
		m.look.grouping = screen.Group
		m.list.SetGrouping(screen.Group)
	}
	if m.look.dividerX == 0 && m.look.dividerY == 0 {
		m.look.dividerX, m.look.dividerY = screen.DividerX, screen.DividerY
	}
	return read
}

// keepScreen remembers the theme, the grouping and the sizes of the panes.
func (m *Model) keepScreen() tea.Cmd {
	screen := state.Screen{Theme: m.look.mode, Group: m.look.grouping, DividerX: m.look.dividerX,
		DividerY: m.look.dividerY}
	return m.change(func(s *state.State) error { s.Screen = screen; return nil })
}

// change changes what is remembered, and saves it.
func (m *Model) change(change func(*state.State) error) tea.Cmd {
	store := m.target.State
	changed, err := store.Change(change)
	if err != nil {
		m.warnOf(err)
		return nil
	}
	m.past.state = changed
	return detached(nil, func() (*state.Store, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), saveWithin)
		defer cancel()
		return store, store.Save(ctx)
	}, m.handleStored)
}

// handleStored takes over what other processes wrote, which the saved state includes.
func (m *Model) handleStored(store *state.Store, err error) tea.Cmd {
	switch {
	case err != nil:
		m.warnOf(err)
	case store == m.target.State:
		m.past.state = store.State()
	}
	return nil
}

// searched remembers a submitted search whose answer is shown.
func (m *Model) searched() tea.Cmd {
	s := m.search.shown
	if !s.isAnswer() {
		return nil
	}
	m.visit(s.search)
	done := state.Search{Query: s.text, At: m.now(), Found: s.response.TotalMatches}
	if s.query.Similar != "" {
		done.Query = "" // nobody typed it
	}
	name, refs := m.past.opening, refsOf(s.response.Results)
	m.past.opening = ""
	saved, ok := m.past.state.SavedNamed(name)
	if !ok || !sameQuestion(saved.Query, s.text) {
		return m.change(func(st *state.State) error { st.Searched(done); return nil })
	}
	m.showAdded(saved, refs)
	now := m.now()
	delete(m.past.inSaved, saved.Name)
	return m.change(func(st *state.State) error {
		st.Searched(done)
		st.MarkSeen(saved.Name, refs, now)
		return nil
	})
}

// showAdded marks the results of a saved search that were not among them at its last opening.
func (m *Model) showAdded(saved state.Saved, refs []string) {
	added := saved.New(refs)
	m.list.SetNew(exmaps.NewSetWithItems(added))
	what := "nothing"
	if len(added) > 0 {
		what = strconv.Itoa(len(added))
	}
	m.say(fmt.Sprintf("%s: %s new, last opened %s", saved.Name, what, m.ago(saved.Opened)))
}

// ago is how long ago something was, for a person: of today the time, unless it is a date alone, which is midnight UTC.
func (m *Model) ago(moment time.Time) string {
	now, isDate := m.now(), moment.Equal(moment.UTC().Truncate(24*time.Hour))
	moment = moment.In(now.Location())
	if moment.Format(time.DateOnly) == now.Format(time.DateOnly) && !isDate {
		return moment.Format("15:04")
	}
	return passage.Age(moment.Format(time.RFC3339), m.now())
}

func refsOf(results []wire.SearchResult) []string {
	return exslices.CastFunc(results, passage.RefOf)
}

// visit puts a search after the page that is shown; the pages after that one go.
func (m *Model) visit(s search) {
	h := &m.past
	if len(h.pages) > 0 && h.pages[h.at].key == s.key && h.pages[h.at].text == s.text {
		return
	}
	h.pages = append(h.pages[:min(len(h.pages), h.at+1)], page{search: s})
	h.pages = h.pages[max(0, len(h.pages)-maxPages):]
	h.at = len(h.pages) - 1
}

// leavePage remembers where the selection is on the page that is shown.
func (m *Model) leavePage() {
	if result, ok := m.result(); ok && m.onPage() {
		m.past.pages[m.past.at].selected = passage.RefOf(result)
	}
}

// onPage reports whether the list shows the page of the history, not something typed after it.
func (m *Model) onPage() bool {
	s, h := m.search.shown, m.past
	return s != nil && len(h.pages) > 0 && s.key == h.pages[h.at].key && s.text == h.pages[h.at].text
}

func noPageBefore(m *Model) string {
	return unless(m.past.at > 0 || len(m.past.pages) > 0 && !m.onPage(), "this is the first search")
}

func noPageAfter(m *Model) string {
	return unless(m.past.at < len(m.past.pages)-1, "this is the latest search")
}

// walk shows the search before or after the shown one, from memory if it is still there.
func (m *Model) walk(steps int) tea.Cmd {
	h := &m.past
	m.leavePage()
	if m.onPage() || steps > 0 {
		h.at += steps
	}
	at := h.pages[h.at]
	m.setQuery(at.text)
	m.stopSearch()
	m.stopBlaming()
	s := at.search
	s.started, s.version, s.request, s.slow, s.selects = m.now(), m.conn.version, nil, false, at.selected
	if !m.recall(s) {
		return m.send(s)
	}
	return m.findBlame()
}

// openSearches lists saved and recent searches.
func (m *Model) openSearches() tea.Cmd {
	m.past.searches.Open("Searches", "no search matches", m.searchEntries())
	m.pushPanel(InSearches, &m.past.searches)
	return nil
}

// nothingBefore is why the selection cannot move up. On an empty query the recent searches are above.
func nothingBefore(m *Model) string {
	if m.focus == InBox && m.box.Query() == "" {
		return noSearches(m)
	}
	return noResult(m)
}

// previous moves the selection up, or from an empty query to the recent searches.
func (m *Model) previous() tea.Cmd {
	if m.focus == InBox && m.box.Query() == "" {
		return m.openSearches()
	}
	m.list.Move(-1)
	return nil
}

// nothingAfter is why the selection cannot move down.
func nothingAfter(m *Model) string {
	if m.focus == InBox && m.atHome() {
		return nothingAtHome(m)
	}
	return noResult(m)
}

// next moves the selection down, or from an empty query to the home below it.
func (m *Model) next() tea.Cmd {
	if m.focus == InBox && m.atHome() {
		m.enterHome()
		return nil
	}
	m.list.Move(1)
	return nil
}

func (m *Model) searchEntries() []panel.Entry {
	var entries []panel.Entry
	for i, saved := range m.past.state.Saved {
		entry := panel.Entry{Value: saved, Group: "Saved", Text: saved.Name, Keys: strconv.Itoa(i + 1)}
		if saved.Query != saved.Name {
			entry.Text += " · " + saved.Query
		}
		if n := m.past.inSaved[saved.Name]; n > 0 {
			entry.Text += fmt.Sprintf(" · %d new", n)
		}
		entries = append(entries, entry)
	}
	for _, search := range m.past.state.Recent {
		entries = append(entries, panel.Entry{Value: search, Group: "Recent", Text: search.Query,
			Keys: m.ago(search.At)})
	}
	return entries
}

func noSearches(m *Model) string {
	return unless(!m.past.loaded || len(m.past.state.Saved)+len(m.past.state.Recent) > 0,
		"no searches yet: the history is empty")
}

// openSearch makes the chosen search again.
func (m *Model) openSearch() tea.Cmd {
	entry, ok := m.past.searches.Chosen()
	if !ok {
		return nil
	}
	m.panels = nil
	if saved, isSaved := entry.Value.(state.Saved); isSaved {
		return m.openSaved(saved.Name)
	}
	return m.searchFor(entry.Value.(state.Search).Query)
}

// openSaved makes a saved search and shows what is new in it.
func (m *Model) openSaved(name string) tea.Cmd {
	saved, ok := m.past.state.SavedNamed(name)
	if !ok {
		return nil
	}
	m.past.opening = saved.Name
	m.setQuery(saved.Query)
	if m.client() == nil {
		return m.submit()
	}
	m.focus = InList
	return m.startSearch(m.box.Query(), false, true)
}

// searchFor puts a query into the box and makes the whole search.
func (m *Model) searchFor(query string) tea.Cmd {
	m.setQuery(query)
	return m.submit()
}

// forgetSearch removes the chosen search from the list.
func (m *Model) forgetSearch() tea.Cmd {
	entry, ok := m.past.searches.Chosen()
	if !ok {
		return nil
	}
	save := m.change(func(s *state.State) error {
		switch chosen := entry.Value.(type) {
		case state.Saved:
			s.Unsave(chosen.Name)
		case state.Search:
			s.Forget(chosen.Query)
		}
		return nil
	})
	m.past.searches.Replace(m.searchEntries())
	return save
}

func noQueryToSave(m *Model) string {
	return unless(strings.TrimSpace(m.box.Query()) != "", "type a query to save it")
}

// nameSearch asks for a name to save the query under; an empty line takes the query itself.
func (m *Model) nameSearch() tea.Cmd {
	query := m.box.Readable(m.box.Query())
	return m.openPrompt("Save search as", query, "",
		func(name string) tea.Cmd { return m.saveSearch(cmp.Or(name, text.OneLine(query))) })
}

// saveSearch saves the query under a name, with the shown results as seen.
func (m *Model) saveSearch(name string) tea.Cmd {
	saved := state.Saved{Name: name, Query: strings.TrimSpace(m.box.Query()), Opened: m.now()}
	if s := m.search.shown; s != nil && sameQuestion(s.text, saved.Query) {
		saved.Seen = refsOf(s.response.Results)
	}
	m.say(fmt.Sprintf("saved as %q; %s lists saved searches", name, m.keys.keyOf("searches", InList)))
	return m.change(func(s *state.State) error { return s.Save(saved) })
}

// newness is what was not there at the last visit, where that was counted.
type newness struct {
	inSaved map[string]int // results of saved searches that were not seen yet, by name
	arrived int            // documents of the library
	changes []change       // some of those added or changed
}

// change is a document that was added or changed since the last visit.
type change struct {
	document wire.SearchResult
	what     string
	request  wire.SearchRequest // lists it
}

// countAdded counts what is new in each saved search and in the library, where a search costs nothing.
func (m *Model) countAdded() tea.Cmd {
	c, past := m.client(), m.past.state
	if !m.isLocal() || m.target.Elsewhere {
		return nil
	}
	requests := exslices.CastFunc(past.Saved, func(saved state.Saved) wire.SearchRequest {
		return m.requestOf(strings.TrimSpace(saved.Query)+" ", true).wire
	})
	kind := m.target.Kind
	return background(m, &m.past.counting, func(ctx context.Context) (found newness, _ error) {
		found.inSaved = map[string]int{}
		for i, request := range requests {
			if response, err := c.Search(ctx, request); err == nil { // else it is shown without a count
				found.inSaved[past.Saved[i].Name] = len(past.Saved[i].New(refsOf(response.Results)))
			}
		}
		if !past.Since.IsZero() && kind != Sample { // which is made anew each time
			found.list(ctx, c, "new", addedSince(past.Since))
			changed := wire.SearchRequest{Browse: true}
			changed.TimeCutoff = &wire.Time{Time: past.Since}
			found.list(ctx, c, "changed", changed)
		}
		return found, nil
	}, func(found newness, _ error) tea.Cmd {
		m.past.newness = found
		return nil
	})
}

// list adds the documents that a request lists, but those that are there, as many as the home shows. It counts new
// ones.
func (n *newness) list(ctx context.Context, c *client.Client, what string, request wire.SearchRequest) {
	wanted := 2 * mostChanges
	asked := request
	asked.NumResults = &wanted
	response, err := c.Search(ctx, asked)
	if err != nil {
		return // what is new is but an offer
	}
	if request.AddedSince != nil {
		n.arrived = response.TotalMatches
	}
	for _, r := range response.Results {
		isIt := func(other change) bool { return other.document.DocumentID == r.DocumentID }
		if !slices.ContainsFunc(n.changes, isIt) {
			n.changes = append(n.changes, change{titleOf(r), what, request})
		}
	}
}

// openArrived lists the documents that came since the last visit.
func (m *Model) openArrived() tea.Cmd { return m.browse(addedSince(m.past.state.Since), "") }

// addedSince lists the documents that were first stored after a time.
func addedSince(since time.Time) wire.SearchRequest {
	return wire.SearchRequest{Browse: true, AddedSince: &wire.Time{Time: since}}
}

// browse lists documents without a query and selects one of them, if it is given.
func (m *Model) browse(request wire.SearchRequest, ref string) tea.Cmd {
	s, wanted := m.searchOf(""), m.wanted()
	request.NumResults, request.FacetPlace = &wanted, m.look.by.Level()
	s.wire, s.selects = request, ref
	s.key = memoryKey(s.wire, "", m.now())
	m.stopSearch()
	m.focus = InList
	return m.send(s)
}
