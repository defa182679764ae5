package explorer

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/dimension"
	"quarry/ui/explorer/picker"
	"quarry/ui/explorer/strip"
)

// stripLine is the line of sources or places under the query.
func (m *Model) stripLine() string {
	hint := ""
	if key := m.keys.keyOf("filters", InBox); key != "" {
		hint = key + " filters"
	}
	return m.strip.View(m.width, m.theme, m.place() == InStrip, hint)
}

// updateStrip shows the sources or places of what matched, or without a search all that there are, with exact counts
// only.
func (m *Model) updateStrip() {
	if m.rects.Strip.H == 0 {
		if m.focus == InStrip {
			m.focus = InList
		}
		return
	}
	facets, by, known := m.facets(), m.look.by, m.known()
	counts, sum := m.inDimension(facets)
	exact := facets.Exact
	switch places := m.filters.places; {
	case m.search.shown == nil:
		counts, sum, exact = known, m.conn.welcome.documents, m.conn.welcome.exact
	case by.IsPlace() && exact:
		counts, sum, exact = places.counts, places.sum, places.known
	}
	values := make([]strip.Value, 0, len(counts)+len(known))
	wanted, excluded := facets.Query.Values(by.Field().Name)
	add := func(value string, count int, counted bool) {
		value, ok := client.FilterValue(by.Field().Name, value)
		if ok && !slices.ContainsFunc(values, func(v strip.Value) bool { return by.Means(value, v.Value) }) {
			isIt := func(filter string) bool { return by.Means(filter, value) }
			values = append(values, strip.Value{Value: value, Count: count, Counted: counted,
				Active: slices.ContainsFunc(wanted, isIt), Excluded: slices.ContainsFunc(excluded, isIt)})
		}
	}
	for _, one := range counts {
		add(one.Value, one.Count, exact)
	}
	for _, one := range known {
		add(one.Value, 0, exact)
	}
	for _, filter := range slices.Concat(wanted, excluded) {
		add(filter, 0, exact && !by.IsPlace()) // a place may be of another level
	}
	if !by.IsPlace() {
		sum = 0 // what the counts add up to
	}
	m.strip.Set(by, values, sum)
}

// known are the sources or places that there are.
func (m *Model) known() []wire.FacetValue {
	if m.look.by.IsPlace() {
		return m.conn.welcome.facets.Places
	}
	return m.conn.welcome.sources
}

// inDimension returns the counts of what matched, and of how many documents they are.
func (m *Model) inDimension(in picker.Input) (counts []wire.FacetValue, sum int) {
	field, _ := picker.FieldOf(m.look.by.Field().Name)
	if !in.Exact {
		results := slices.Clone(in.Results)
		for i := range results {
			if m.look.by.IsPlace() {
				results[i].Place = m.look.by.Value(results[i])
			}
		}
		return field.CountInHand(results), 0
	}
	for _, source := range in.Facets.Sources {
		sum += source.Count
	}
	counts, _ = field.Counts(in.Facets)
	return counts, sum
}

// divide finds out by what the explorer divides the documents, and shows it.
func (m *Model) divide() {
	by := dimension.For(m.conn.welcome.facets, m.look.flipped)
	if by.Equal(m.look.by) {
		return
	}
	m.look.by = by
	m.list.SetDimension(by)
	m.reader.result, m.collection.known = nil, nil // which are shown again
}

// flip divides the documents by what they were not divided by.
func (m *Model) flip() tea.Cmd {
	m.look.flipped = !m.look.flipped
	m.divide()
	m.say("by " + m.look.by.Field().Noun)
	return nil
}

func noPlaces(m *Model) string {
	return unless(len(m.conn.welcome.facets.Places) > 0, "this server does not count places")
}

// enterStrip moves to the line of sources or places, or opens the filters where there is no such line.
func (m *Model) enterStrip() tea.Cmd {
	if m.rects.Strip.H == 0 {
		return m.openPicker()
	}
	m.focus = InStrip
	return nil
}

// toggleValue limits the query to the source or place under the cursor too, or no longer, and searches; beyond the last
// one it opens the filters.
func (m *Model) toggleValue() tea.Cmd {
	if m.strip.Rest() {
		return m.openPicker()
	}
	wanted := m.strip.Toggled()
	_, excluded := m.finishedQuery().Values(m.look.by.Field().Name)
	return m.filterBy(wanted, slices.DeleteFunc(excluded, func(filter string) bool {
		return slices.ContainsFunc(wanted, func(value string) bool { return m.look.by.Means(filter, value) })
	}))
}

func cannotExcludeValue(m *Model) string {
	_, ok := m.strip.Chosen()
	return cmp.Or(notOpen(m), unless(ok, "move to a "+m.look.by.Field().Noun+" to exclude it"))
}

// excludeValue excludes the source or place under the cursor from the query, or no longer, and searches.
func (m *Model) excludeValue() tea.Cmd {
	value, _ := m.strip.Chosen()
	wanted, excluded := m.finishedQuery().Values(m.look.by.Field().Name)
	isIt := func(filter string) bool { return m.look.by.Means(filter, value) }
	left := slices.DeleteFunc(slices.Clone(excluded), isIt)
	if len(left) == len(excluded) {
		left = append(left, value)
	}
	return m.filterBy(slices.DeleteFunc(wanted, isIt), left)
}

// finishedQuery is the query with all of its filters finished.
func (m *Model) finishedQuery() client.Query {
	m.box.FinishFilters()
	return m.query()
}

// filterBy limits the query to sources or places, if there are any, excludes others, and searches.
func (m *Model) filterBy(wanted, excluded []string) tea.Cmd {
	m.remember()
	var filters []string
	field, _ := picker.FieldOf(m.look.by.Field().Name)
	if len(wanted) > 0 {
		filters = append(filters, field.Filter(false, wanted))
	}
	if len(excluded) > 0 {
		filters = append(filters, field.Filter(true, excluded))
	}
	m.box.SetFilters([]string{field.Name, "-" + field.Name}, filters)
	return m.filtersChanged()
}
