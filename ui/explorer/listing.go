package explorer

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/ui/explorer/picker"
	"quarry/ui/explorer/querybox"
)

// listedValues is the listing of a filter's values, once it was asked for.
type listedValues struct {
	picker.Listing
	request *request
	due     bool // to be fetched again when its tab is shown
}

// listing is what is known of the values of a filter: what was listed, and what the documents have. Of places it is the
// level at which the library divides, of which the picker makes a tree.
func (m *Model) listing(field picker.Field) (known picker.Listing) {
	if l := m.filters.listed[field.Name]; l != nil && field.Name != "in" {
		known = l.Listing
	}
	welcome := m.conn.welcome
	counts, cut := field.Counts(welcome.facets)
	known.Values = slices.Clone(known.Values)
	if field.Name == "source" {
		counts, cut = welcome.sources, welcome.sources == nil || welcome.listedBy == client.ListedByTags
		known.Note = map[string]string{
			client.ListedForAll:    "the workspace's sources: you may lack access to some",
			client.ListedByTags:    "sources with tags: there may be more",
			client.ListedByNothing: "this token may not list sources: all of Onyx's",
		}[welcome.listedBy]
		if welcome.listedBy == client.ListedByNothing {
			known.Values = exslices.CastFunc(client.OfferedSources(), namedValue)
		}
	}
	counted := exslices.CastFunc(counts, func(v wire.FacetValue) picker.Value { return namedValue(v.Value) })
	known.Values = append(known.Values, counted...)
	if field.List == nil || field.Name == "tag" { // others exist without documents, too
		known.Complete = known.Complete || (welcome.exact || field.Name == "source") && !cut
	}
	known.Complete = known.Complete && len(m.target.Beside) == 0
	return known
}

// everyKnown are the values of a filter that are known to exist, of places those at every depth.
func (m *Model) everyKnown(field picker.Field) []picker.Value {
	known := m.listing(field).Values
	if l := m.filters.listed[field.Name]; l != nil && field.Name == "in" {
		known = append(known, l.Values...)
	}
	return known
}

func namedValue(name string) picker.Value { return picker.Value{Name: name} }

// listValues fetches the values of the filters that somebody chooses or types, once.
func (m *Model) listValues() tea.Cmd {
	if m.client() == nil {
		return nil
	}
	var commands []tea.Cmd
	shown := ""
	if m.overlay() == InPicker {
		shown = m.filters.picker.Filter()
	}
	for _, name := range append(m.filtersInUse(), shown) {
		before := m.filters.listed[name]
		if name == "" || before != nil && (!before.due || name != shown) {
			continue
		}
		if field, ok := picker.FieldOf(name); ok && field.List != nil {
			commands = append(commands, m.fetchListing(field))
		}
	}
	return tea.Batch(append(commands, m.checkValues())...)
}

// filtersInUse are the filters of the query, and the one that is typed.
func (m *Model) filtersInUse() (names []string) {
	if partial, ok := m.box.Typing(); ok && m.place() == InBox {
		names = append(names, partial.Field)
	}
	fields := exslices.CastFunc(m.box.Chips(), func(chip querybox.Chip) string { return chip.Field })
	return append(names, fields...)
}

// fetchListing fetches the values of a filter. What was listed before stays until then.
func (m *Model) fetchListing(field picker.Field) tea.Cmd {
	l := m.filters.listed[field.Name]
	if l == nil {
		l = &listedValues{}
		if m.filters.listed == nil {
			m.filters.listed = map[string]*listedValues{}
		}
		m.filters.listed[field.Name] = l
	}
	l.due, l.Pending = false, true
	c := m.client()
	return background(m, &l.request, func(ctx context.Context) (picker.Listing, error) { return field.List(ctx, c) },
		func(found picker.Listing, err error) tea.Cmd {
			if l.Pending = false; err != nil {
				l.Problem = reasonOf(err)
			} else {
				l.Listing = found
			}
			m.relist()
			return nil
		})
}

// relist shows values that were listed meanwhile.
func (m *Model) relist() {
	m.filters.version++
	if m.overlay() == InPicker {
		m.filters.picker.Refresh()
	}
}

const (
	mostRemembered = 100 // values that are checked until what is known of them is forgotten
	mostChecked    = 8   // values of one query
)

// checkValues finds out whether the authors and places of the query have documents. No list says so: a filter also
// takes an address, a part of a name or a place at any depth.
func (m *Model) checkValues() tea.Cmd {
	if !m.conn.welcome.exact || len(m.target.Beside) > 0 {
		return nil
	}
	var commands []tea.Cmd
	for _, name := range [...]string{"author", "in"} {
		row, _ := field.Named(name)
		values := m.valuesInUse(name)
		for _, value := range values[:min(len(values), mostChecked)] {
			key := checkKey(name, value)
			if _, known := m.filters.checked[key]; known {
				continue
			}
			if m.filters.checked == nil || len(m.filters.checked) >= mostRemembered {
				m.filters.checked = map[string]bool{}
			}
			m.filters.checked[key] = true // until the answer
			c := m.client()
			commands = append(commands, during(m.conn.request, func(ctx context.Context) (*wire.FacetCounts, error) {
				var request wire.SearchRequest
				row.Request(&request.Filters).Add(value)
				return c.Facets(ctx, request)
			}, func(counts *wire.FacetCounts, err error) tea.Cmd {
				if m.filters.checked != nil { // else what is known was forgotten meanwhile
					m.filters.checked[key] = err != nil || counts.TotalMatches > 0
					m.filters.version++
				}
				return nil
			}))
		}
	}
	return tea.Batch(commands...)
}

func checkKey(filter, value string) string { return filter + ":" + value }

// valuesInUse are the values of a filter in the query, and on this machine the one that is typed and no known one goes
// on as.
func (m *Model) valuesInUse(filter string) (values []string) {
	if partial, ok := m.box.Typing(); ok && partial.Field == filter && m.client().Local() && m.place() == InBox &&
		len(m.completions()) == 0 {
		if value, valid := client.FilterValue(filter, partial.Text); valid {
			values = append(values, value)
		}
	}
	for _, chip := range m.box.Chips() {
		if chip.Field == filter {
			given, excluded := m.parse(chip.Raw).Values(filter)
			values = slices.Concat(values, given, excluded)
		}
	}
	return values
}

// strangeSource is a source of a query that a server refused, with the one that was probably meant.
type strangeSource struct{ name, near string }

func (s strangeSource) Error() string { return fmt.Sprintf("there is no source %q", s.name) }

// Remedy returns a hint for the user.
func (s strangeSource) Remedy() string {
	if s.near == "" {
		return "Remove the filter, or choose a source from the list"
	}
	return fmt.Sprintf("Did you mean source:%s? Or choose a source from the list", s.near)
}

// explained is why a server refused a request, in words for the person, where it may be a source that does not exist.
func explained(err error, sources []string) error {
	if client.KindOf(err) != client.BadRequest {
		return err
	}
	for _, name := range sources {
		if _, found := wire.LookupSource(name); !found {
			return strangeSource{name, wire.Nearest(name, wire.SourceValues())}
		}
	}
	return err
}
