package explorer

import (
	"cmp"
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
		sources = append(sources, strip.Source{Value: value, Name: wire.SourceName(value), Count: count, Counted: exact,
			Active: slices.Contains(facets.Query.Sources, value), Excluded: slices.Contains(facets.Query.Excluded.Sources, value)})
	}
	for _, counted := range counts {
		add(counted.Value, counted.Count)
	}
	for _, known := range welcome.sources {
		add(known.Value, 0)
	}
	for _, filtered := range slices.Concat(facets.Query.Sources, facets.Query.Excluded.Sources) {
		add(filtered, 0)
	}
	m.strip.Set(sources)
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
	sources, excluded := m.strip.Toggled(), m.sourcesOfQuery().Excluded.Sources
	return m.filterSources(sources, slices.DeleteFunc(excluded, func(source string) bool { return slices.Contains(sources, source) }))
}

func cannotExcludeSource(m *Model) string {
	_, ok := m.strip.Chosen()
	return cmp.Or(notOpen(m), unless(ok, "move to a source to exclude it"))
}

// excludeSource excludes the source under the cursor from the query, or no longer, and searches.
func (m *Model) excludeSource() tea.Cmd {
	source, _ := m.strip.Chosen()
	query := m.sourcesOfQuery()
	isIt := func(value string) bool { return value == source }
	excluded := slices.DeleteFunc(slices.Clone(query.Excluded.Sources), isIt)
	if len(excluded) == len(query.Excluded.Sources) {
		excluded = append(excluded, source)
	}
	return m.filterSources(slices.DeleteFunc(query.Sources, isIt), excluded)
}

// sourcesOfQuery is the query with all of its filters finished.
func (m *Model) sourcesOfQuery() client.Query {
	m.box.FinishFilters(m.now())
	return client.ParseQuery(m.box.Query(), m.now())
}

// filterSources limits the query to sources, if there are any, excludes others, and searches.
func (m *Model) filterSources(wanted, excluded []string) tea.Cmd {
	m.remember()
	var filters []string
	field, _ := picker.FieldOf("source")
	if len(wanted) > 0 {
		filters = append(filters, field.Filter(false, wanted))
	}
	if len(excluded) > 0 {
		filters = append(filters, field.Filter(true, excluded))
	}
	m.box.SetFilters([]string{"source", "-source"}, filters)
	return m.filtersChanged()
}
