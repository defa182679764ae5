package explorer

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/picker"
	"quarry/ui/explorer/strip"
)

// stripLine is the line of sources under the query.
func (m *Model) stripLine() string {
	hint := ""
	if key := m.keys.keyOf("filters", InBox); key != "" {
		hint = key + " filters"
	}
	return m.strip.View(m.width, m.theme, m.place() == InStrip, hint)
}

// updateStrip shows the sources of what matched, or without a search all that there are, with exact counts only.
func (m *Model) updateStrip() {
	if m.rects.Strip.H == 0 {
		if m.focus == InStrip {
			m.focus = InList
		}
		return
	}
	facets, welcome := m.facets(), m.conn.welcome
	counts := facets.Facets.Sources
	if !facets.Exact {
		field, _ := picker.FieldOf("source")
		counts = field.CountInHand(facets.Results)
	}
	if s := m.search.shown; s != nil && m.filters.others.of == s.key {
		counts = m.filters.others.sources
	}
	if m.search.shown == nil {
		counts = welcome.sources
	}
	exact := facets.Exact || m.search.shown == nil && welcome.exact
	sources := make([]strip.Source, 0, len(counts)+len(welcome.sources))
	add := func(value string, count int) {
		value, ok := client.FilterValue("source", value)
		if !ok || slices.ContainsFunc(sources, func(s strip.Source) bool { return s.Value == value }) {
			return
		}
		sources = append(sources, strip.Source{Value: value, Name: client.SourceName(value), Count: count, Counted: exact,
			Active: slices.Contains(facets.Query.Sources, value)})
	}
	for _, counted := range counts {
		add(counted.Value, counted.Count)
	}
	for _, known := range welcome.sources {
		add(known.Value, 0)
	}
	for _, active := range facets.Query.Sources {
		add(active, 0)
	}
	m.strip.Set(sources)
}

// otherSources are the sources of a search made without its filter of sources: what removing that filter gives.
type otherSources struct {
	of       string // key of the search with the filter
	sources  []wire.FacetValue
	counting *request
}

// countOthers counts the sources of the shown search without its filter of sources, where that costs no call of a model.
// The counts in its own answer leave out what is only found by that other search.
func (m *Model) countOthers() tea.Cmd {
	s, others := m.search.shown, &m.filters.others
	if s == nil || s.key == others.of || len(s.wire.Sources) == 0 || s.ofAnswer || m.client() == nil || !m.client().Local() {
		return nil
	}
	others.counting.stop()
	*others = otherSources{of: s.key, sources: s.response.Facets.Sources}
	query, matching := s.query, m.counter(s.wire.Prefix)
	query.Sources = nil
	return background(m, &others.counting, func(ctx context.Context) (wire.Facets, error) {
		facets, _, err := matching(ctx, query)
		return facets, err
	}, func(facets wire.Facets, err error) tea.Cmd {
		if err == nil { // else the counts of the answer stay
			others.sources = facets.Sources
		}
		return nil
	})
}

// enterStrip moves to the line of sources, or opens the filters where there is no such line.
func (m *Model) enterStrip() tea.Cmd {
	if m.rects.Strip.H == 0 {
		return m.openPicker()
	}
	m.focus = InStrip
	return nil
}

// toggleSource limits the query to the source under the cursor too, or no longer, and searches; beyond the last source
// it opens the filters.
func (m *Model) toggleSource() tea.Cmd {
	if m.strip.Rest() {
		return m.openPicker()
	}
	m.box.FinishFilters(m.now())
	m.remember()
	var filters []string
	sources := m.strip.Toggled()
	field, _ := picker.FieldOf("source")
	if len(sources) > 0 {
		filters = append(filters, field.Filter(false, sources))
	}
	excluded := client.ParseQuery(m.box.Query(), m.now()).Excluded.Sources
	excluded = slices.DeleteFunc(excluded, func(source string) bool { return slices.Contains(sources, source) }) // they are wanted now
	if len(excluded) > 0 {
		filters = append(filters, field.Filter(true, excluded))
	}
	m.box.SetFilters([]string{"source", "-source"}, filters)
	return m.filtersChanged()
}
