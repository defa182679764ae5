package explorer

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/picker"
	"quarry/ui/explorer/querybox"
)

// mostUndo is how many states of the query can be brought back.
const mostUndo = 100

// filtering is the choice of filters.
type filtering struct {
	picker   picker.Picker
	counting *request       // facets for the picker
	counted  string         // the query whose counts the picker has, or waits for
	asked    querybox.State // searched for last, except while typing
	undo     []querybox.State
	cut      *blame // which filter cut the most; nil: not known, or there are results
	blaming  *request
	places   placeCounts              // of the shown query, where its own answer does not have them
	summing  *request                 // for that
	listed   map[string]*listedValues // by filter
	checked  map[string]bool          // whether a value, by its filter, has documents that no list has to have
	version  int                      // counts changes of what is known of values
}

// blame counts the documents that would match without each of the filters.
type blame struct {
	counts []int // per chip
	worst  int   // index of the chip that cut the most; -1: none does, or several cut as much
}

// placeCounts are the counts of the places of one level, where they are known, and of all documents without a choice of
// places; a negative sum is not known.
type placeCounts struct {
	of struct {
		query   string
		prefix  bool // its last word may be the beginning of one
		level   string
		version string // of the library
	}
	counts []wire.FacetValue
	known  bool
	sum    int
}

// openPicker lays the filters over the panes. What was listed before is listed again in the tabs that are shown.
func (m *Model) openPicker() tea.Cmd {
	m.box.FinishFilters()
	m.filters.counting.stop()
	m.filters.counted = ""
	for _, l := range m.filters.listed {
		l.due = true
	}
	m.filters.picker.Open(m.pickerInput())
	m.pushPanel(InPicker, &m.filters.picker)
	return m.askFacets()
}

// facets is what is known now about the values of filters and their counts.
func (m *Model) facets() picker.Input {
	in := picker.Input{Query: m.query(), Now: m.now()}
	s, welcome := m.search.shown, &m.conn.welcome
	if s == nil {
		if welcome.exact && len(in.Query.Chips) == 0 {
			in.Facets, in.Exact = welcome.facets, true // of all documents
		}
		return in
	}
	switch found := s.response; {
	case len(found.Facets.Sources)+len(found.Facets.Months) > 0:
		in.Facets, in.Exact, in.Results = found.Facets, found.Counted(), found.Results
	case welcome.exact && !s.ofAnswer:
		in.Facets, in.Exact = found.Facets, true // nothing matches
	default:
		in.Results = found.Results
	}
	return in
}

// pickerInput is facets with the values that exist.
func (m *Model) pickerInput() picker.Input {
	in := m.facets()
	in.Bare, in.Known, in.First = m.conn.welcome.bare, m.listing, m.look.by.Field().Name
	return in
}

// updatePicker shows in the picker what is known now, unless it has the counts of its own choice.
func (m *Model) updatePicker() {
	if m.overlay() == InPicker && m.filters.counted == "" {
		m.filters.picker.Update(m.pickerInput())
	}
}

// askFacets counts all documents where no search reported counts, so that the first filter can be chosen before a word.
func (m *Model) askFacets() tea.Cmd {
	if m.search.shown != nil || !m.conn.welcome.exact || m.conn.welcome.instant { // then recount does
		return nil
	}
	query, count := m.query(), m.counter(false)
	query.Words, query.Phrases, query.Similar = "", nil, "" // which were not searched for
	return background(m, &m.filters.counting, func(ctx context.Context) (*picker.Input, error) {
		facets, _, err := count(ctx, query, "")
		return &picker.Input{Facets: facets}, err
	}, m.handleCounts)
}

// recount counts what matches the choice in the picker, so that all of its tabs count the same.
func (m *Model) recount() tea.Cmd {
	if m.overlay() != InPicker || !m.conn.welcome.exact || !m.conn.welcome.instant || m.client() == nil {
		return nil
	}
	chosen := querybox.Box{Now: m.options.Now}
	chosen.SetQuery(m.box.Query())
	changes := m.filters.picker.Result()
	chosen.SetFilters(changes.Fields, changes.Raw)
	levels := m.filters.picker.Levels()
	text := chosen.Query() + "\n" + strings.Join(levels, "\n")
	if text == m.filters.counted {
		return nil
	}
	m.filters.counted = text
	count, c, now := m.counter(m.lastWordOpen()), m.client(), m.now()
	return background(m, &m.filters.counting, func(ctx context.Context) (*picker.Input, error) {
		return countChoice(ctx, count, c.Local(), &chosen, levels, now)
	}, m.handleCounts)
}

// countChoice counts the documents of a query, also those of each place in some places, and on this machine, where it
// costs little, those of its other filters in each span of time that is offered.
func countChoice(ctx context.Context, matching counter, local bool, box *querybox.Box, levels []string, now time.Time) (
	*picker.Input, error) {
	in := &picker.Input{Exact: true, Matches: map[string]int{}, Levels: map[string][]wire.FacetValue{}}
	for _, place := range levels {
		facets, _, err := matching(ctx, client.ParseQuery(box.Query(), now), place)
		if err != nil {
			return nil, err
		}
		in.Levels[place] = facets.Places
	}
	count := func(text string) (wire.Facets, error) {
		query := client.ParseQuery(text, now)
		facets, total, err := matching(ctx, query, "")
		if err == nil {
			in.Matches[picker.TimeOf(query)] = total
		}
		return facets, err
	}
	var err error
	if in.Facets, err = count(box.Query()); err != nil {
		return nil, err
	}
	if !local {
		return in, nil
	}
	for _, length := range append([]string{""}, picker.Lengths()...) {
		var filters []string
		if length != "" {
			filters = []string{"within:" + length}
		}
		box.SetFilters([]string{"since", "until", "within"}, filters)
		if _, err = count(box.Query()); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// counter counts what matches a query, without a model; of the places those in one, or where the matches divide.
type counter func(ctx context.Context, query client.Query, within string) (wire.Facets, int, error)

// counter returns one for the target. It asks for as many results as a search, with the same prefix: what is found is
// counted.
func (m *Model) counter(prefix bool) counter {
	c, wanted, usual := m.client(), m.wanted(), m.target.Agent
	return func(ctx context.Context, query client.Query, within string) (_ wire.Facets, _ int, err error) {
		request := query.Request()
		request.FacetPlace = within
		if request.PersonaID, err = c.ResolveAgent(ctx, query.Agent, usual); err != nil {
			return wire.Facets{}, 0, err
		}
		if !query.Searches() {
			counts, err := c.Facets(ctx, request)
			if err != nil {
				return wire.Facets{}, 0, err
			}
			return counts.Facets, counts.TotalMatches, nil
		}
		request.NumResults, request.Prefix = &wanted, prefix
		response, err := c.Search(ctx, withoutModels(request))
		if err != nil {
			return wire.Facets{}, 0, err
		}
		return response.Facets, response.TotalMatches, nil
	}
}

// handleCounts shows the counts of the choice in the picker.
func (m *Model) handleCounts(counted *picker.Input, err error) tea.Cmd {
	switch {
	case m.overlay() != InPicker:
	case err != nil:
		m.fail("could not count: " + reasonOf(err))
	default:
		in := m.pickerInput()
		in.Facets, in.Exact, in.Matches, in.Levels = counted.Facets, true, counted.Matches, counted.Levels
		m.filters.picker.Update(in)
	}
	return nil
}

// applyPicker puts the chosen filters in place of the former ones and searches.
func (m *Model) applyPicker() tea.Cmd {
	m.filters.picker.Confirm() // what is typed counts as chosen
	if problem := m.filters.picker.Problem(); problem != "" {
		m.warn(problem)
		return nil
	}
	changes := m.filters.picker.Result()
	if changes.Empty() && m.filters.picker.Expand() {
		return nil
	}
	if m.panels = nil; changes.Empty() {
		return nil
	}
	m.remember()
	m.box.SetFilters(changes.Fields, changes.Raw)
	return m.filtersChanged()
}

// filtersChanged asks again with other filters.
func (m *Model) filtersChanged() tea.Cmd {
	if m.client() == nil || !m.query().Searches() {
		return m.queryEdited()
	}
	return m.startSearch(m.box.Query(), false, false)
}

// setQuery puts a query into the box. Undo brings back the one before.
func (m *Model) setQuery(query string) {
	m.remember()
	m.box.SetQuery(query)
}

// remember keeps the query as it is, for undo.
func (m *Model) remember() {
	m.settle()
	m.keep(m.filters.asked)
}

// settle keeps the query that was searched for before the one in the box.
func (m *Model) settle() {
	if former := m.filters.asked; former.Query() != m.box.Query() {
		m.keep(former)
		m.filters.asked = m.box.Snapshot()
	}
}

// keep adds a query to those that can be brought back.
func (m *Model) keep(query querybox.State) {
	undo := m.filters.undo
	if query.Query() == "" || len(undo) > 0 && undo[len(undo)-1].Query() == query.Query() {
		return
	}
	m.filters.undo = append(undo[max(0, len(undo)+1-mostUndo):], query)
}

// undoQuery brings back the query before the last change; what was typed since and not searched for is one.
func (m *Model) undoQuery() tea.Cmd {
	m.settle()
	undo := m.filters.undo
	last := len(undo) - 1
	m.filters.asked, m.filters.undo = undo[last], undo[:last]
	m.box.Restore(m.filters.asked)
	return m.filtersChanged()
}

// noUndo says why no query can be brought back.
func noUndo(m *Model) string {
	asked := m.filters.asked.Query()
	return unless(len(m.filters.undo) > 0 || asked != "" && asked != m.box.Query(), "nothing to undo")
}

// dropFilter drops the filter to blame for having no results, or else the last one.
func (m *Model) dropFilter() tea.Cmd {
	m.box.FinishFilters()
	chips := m.box.Chips()
	dropped := len(chips) - 1
	if cut, s := m.filters.cut, m.search.shown; cut != nil && cut.worst >= 0 && s != nil &&
		cut.worst < len(s.query.Chips) {
		worst := s.query.Chips[cut.worst].Raw
		if i := slices.IndexFunc(chips, func(c querybox.Chip) bool { return c.Raw == worst }); i >= 0 {
			dropped = i
		}
	}
	return m.removeChip(dropped)
}

func (m *Model) removeChip(i int) tea.Cmd {
	m.remember()
	m.box.RemoveChip(i)
	return m.filtersChanged()
}

// findBlame asks what would be found without each of the filters, when nothing was found with all of them.
func (m *Model) findBlame() tea.Cmd {
	m.stopBlaming()
	if m.search.shown == nil || len(m.search.shown.response.Results) > 0 || len(m.search.shown.query.Chips) == 0 {
		return nil
	}
	c, asked, usual, now := m.client(), m.search.shown.search, m.target.Agent, m.now()
	return background(m, &m.filters.blaming, func(ctx context.Context) ([]int, error) {
		return c.MatchesWithout(ctx, asked.query, asked.wire, usual, now)
	}, m.handleBlame)
}

// stopBlaming forgets which filter cut the most, and stops finding out.
func (m *Model) stopBlaming() {
	m.filters.blaming.stop()
	m.filters.cut = nil
}

// handleBlame keeps which filter cut the most. Without counts nothing is said about it.
func (m *Model) handleBlame(counts []int, err error) tea.Cmd {
	if err != nil || len(counts) == 0 {
		return nil
	}
	worst, ok := client.MostRestrictive(counts)
	if !ok {
		worst = -1
	}
	m.filters.cut = &blame{counts: counts, worst: worst}
	return nil
}

// countPlaces counts what the shown query matches in the places of the library's level, and without its choice of
// places, where its own answer does not tell: that may have another level, if it was asked before the library's was
// known, and documents may lie beside the places, directly in the folder that contains them.
func (m *Model) countPlaces() tea.Cmd {
	s, name := m.search.shown, m.look.by.Field().Name
	if s == nil || !m.look.by.IsPlace() || !m.facets().Exact {
		return nil
	}
	box := querybox.Box{Now: m.options.Now}
	box.SetQuery(s.text)
	box.SetFilters([]string{name}, nil)
	wanted, _ := s.query.Values(name)
	last, next := m.filters.places, placeCounts{sum: -1}
	next.of.query, next.of.prefix = box.Query(), s.wire.Prefix || s.instant && !s.query.WordEnded
	next.of.level, next.of.version = m.look.by.Level(), s.version
	if next.known = s.wire.FacetPlace == next.of.level; next.known {
		next.counts, next.sum = m.inDimension(m.facets())
	}
	switch asks := !next.known || len(wanted) > 0; {
	case asks && last.of == next.of:
		return nil
	case asks:
		next.sum = -1
	}
	if m.filters.places = next; next.sum >= 0 {
		return nil
	}
	count, query := m.counter(next.of.prefix), m.parse(next.of.query)
	return background(m, &m.filters.summing, func(ctx context.Context) (placeCounts, error) {
		facets, total, err := count(ctx, query, next.of.level)
		return placeCounts{of: next.of, counts: facets.Places, known: true, sum: total}, err
	}, func(counted placeCounts, err error) tea.Cmd {
		if err == nil {
			m.filters.places = counted
		}
		return nil
	})
}
