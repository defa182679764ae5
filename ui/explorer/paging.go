package explorer

import (
	"cmp"
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
	"quarry/ui/explorer/results"
	"quarry/ui/passage"
)

const (
	// maxRows bounds the list, and with it the memory of a session.
	maxRows = 1000
	// pageAhead is how near to the end of the list the selection must be for more to be fetched, in rows.
	pageAhead = 5
)

// paging fetches the documents behind those that the list shows.
type paging struct {
	fetching *request
	of       *shown // whose further documents these are
	first    int    // passages of its first page
	offset   int    // documents that were asked for
	stayed   int    // selected result when the last page came; -1: that brought nothing, or there was none
	complete bool   // there are no more, or they cannot be fetched
}

// orders are those of the results, in the order in which the key walks through them.
func orders() []string { return []string{wire.SortRelevance, wire.SortNewest, wire.SortOldest} }

// orderName is an order for a person.
func orderName(order string) string {
	return map[string]string{wire.SortNewest: "newest first", wire.SortOldest: "oldest first"}[order]
}

// nextOrder sorts the results in another order.
func (m *Model) nextOrder() tea.Cmd {
	all := orders()
	m.search.order = all[(slices.Index(all, m.search.order)+1)%len(all)]
	m.say("sorted: " + cmp.Or(orderName(m.search.order), "by relevance"))
	return m.startSearch(m.search.shown.text, m.search.shown.instant, false)
}

// nextGrouping groups the results by something else.
func (m *Model) nextGrouping() tea.Cmd {
	all := results.Groupings()
	m.look.grouping = all[(max(0, slices.Index(all, m.look.grouping))+1)%len(all)]
	m.list.SetGrouping(m.look.grouping)
	m.say("grouped by " + m.groupingName())
	return m.keepScreen()
}

// groupingName is what the results are grouped by.
func (m *Model) groupingName() string {
	if m.look.grouping == results.BySource {
		return m.look.by.Field().Noun
	}
	return m.look.grouping
}

func cannotSort(m *Model) string {
	return unless(m.search.shown != nil && !m.search.shown.ofAnswer && m.client() != nil, "search first")
}

// inOrder asks for the chosen order. Only relevance needs a model.
func (m *Model) inOrder(request *wire.SearchRequest) {
	if name := orderName(m.search.order); name != "" {
		request.Sort = m.search.order
		request.SkipQueryExpansion, request.SkipDocumentSelection = true, true
	}
}

// moreResults fetches the documents behind those in the list once the selection comes near its end.
func (m *Model) moreResults() tea.Cmd {
	s, p := m.search.shown, &m.search.paging
	if p.of != s {
		p.fetching.stop()
		*p = paging{of: s, stayed: -1}
		if s != nil {
			p.first = len(s.response.Results)
		}
		if s != nil && !byModel(s.response) { // what a model chose is not the beginning of the list
			p.offset = s.response.Next(0)
		}
	}
	if !m.wantsMore() {
		return nil
	}
	request, number, c := s.wire, wantedResults, m.client()
	if said := s.response.QueryExpansion.SemanticQueries; len(s.wire.MessageHistory) > 1 && len(said) > 0 {
		request.Query = said[0] // its words decided what matches
	}
	request.Offset, request.NumResults, request.MessageHistory, request.Explain = &p.offset, &number, nil, false
	request.SkipQueryExpansion, request.SkipDocumentSelection = true, true
	return background(m, &p.fetching, func(ctx context.Context) (*wire.SearchResponse, error) {
		return s.find(ctx, c, request)
	}, m.handlePage)
}

// wantsMore reports whether the selection was moved near the end of the list. One that stays there, since a page went
// into the groups above it, asks for no more.
func (m *Model) wantsMore() bool {
	s, p := m.search.shown, m.search.paging
	documents, _, _ := m.list.Found()
	return s != nil && !s.provisional && !s.ofAnswer && m.search.running == nil && !p.fetching.running() &&
		!p.complete && m.pages() && m.list.Len() > 0 &&
		m.list.Row() >= m.list.Len()-pageAhead && m.list.Len() < maxRows && m.list.SelectedIndex() != p.stayed &&
		s.response.TotalMatches > documents
}

// pages reports whether the target lists the documents behind those that were asked for.
func (m *Model) pages() bool {
	return m.client() != nil && (m.client().Local() || m.conn.welcome.pages)
}

// handlePage puts the documents of a page that the list does not have yet behind it, with numbers of their own.
func (m *Model) handlePage(page *wire.SearchResponse, err error) tea.Cmd {
	s, p := m.search.shown, &m.search.paging
	if err != nil {
		p.complete = true
		m.warn("cannot load more results: " + reasonOf(err))
		return nil
	}
	next := page.Next(p.offset)
	p.complete, p.offset = next == p.offset, next
	known, number := map[string]bool{}, 0
	for _, result := range s.response.Results {
		known[result.DocumentID] = true
		if result.CitationID != nil {
			number = max(number, *result.CitationID)
		}
	}
	longer := *s.response
	longer.Results = slices.Clone(longer.Results)
	for _, result := range page.Results {
		if !known[result.DocumentID] {
			number++
			numbered := number
			result.CitationID = &numbered
			longer.Results = append(longer.Results, result)
		}
	}
	if byModel(s.response) {
		m.list.More = p.first
	}
	p.stayed = -1
	if len(longer.Results) > len(s.response.Results) {
		p.stayed = m.list.SelectedIndex()
	}
	s.response = &longer
	m.list.IsPart = !p.complete && p.offset < s.response.TotalMatches
	m.list.Set(longer.Results, passage.Words(s.query), true)
	return nil
}
