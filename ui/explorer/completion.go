package explorer

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/picker"
)

const (
	leastCompleted  = 2 // characters of a word that may become the name of a filter
	mostCompletions = 8 // that are shown at once
)

// completion is one way to go on with what is typed.
type completion struct {
	text  string // in place of what is typed
	label string // for a person
	count int    // documents; 0: not counted
}

// completing is what tab does in the query box.
type completing struct {
	example int    // number of the example question to ask next
	closed  uint64 // what of the box the menu was closed at
	made    paint.Cache[suggested, suggestions]
}

// suggestions follow from what is typed and what is known of the values of filters.
type suggestions struct {
	found   []completion
	unknown string // a value that does not exist
}

// suggested is what suggestions were made for.
type suggested struct {
	box   uint64
	place Place
	shown *shown
	lists int // filters.version
}

// suggest makes the suggestions again where they can have changed.
func (m *Model) suggest() suggestions {
	of := suggested{box: m.box.Version(), place: m.place(), shown: m.search.shown, lists: m.filters.version}
	return m.completion.made.Get(of, func() suggestions { return suggestions{m.findCompletions(), m.findUnknown()} })
}

// completions returns ways to continue the filter that is being typed, the most frequent first.
func (m *Model) completions() []completion { return m.suggest().found }

// menu returns the completions that are shown: none from when they are closed until the query changes.
func (m *Model) menu() []completion {
	if m.completion.closed == m.box.Version() {
		return nil
	}
	return m.completions()
}

// unknownValue describes the first value of a filter that the target does not have, with the nearest one: of the filter
// that is typed, unless it may go on to a known value, and else of those that are set.
func (m *Model) unknownValue() string { return m.suggest().unknown }

func (m *Model) findCompletions() []completion {
	if m.place() != InBox {
		return nil
	}
	partial, ok := m.box.Typing()
	if !ok {
		return nil
	}
	typed := strings.ToLower(partial.Text)
	if partial.Field == "" {
		return completedNames(typed)
	}
	if partial.Field == "within" {
		return exslices.CastFuncFilter(picker.Lengths(), func(span string) (completion, bool) {
			return completion{text: span + " ", label: span}, strings.HasPrefix(span, typed)
		})
	}
	var found []completion
	field, _ := picker.FieldOf(partial.Field)
	for _, v := range m.values(field) {
		if v.GoesOn(typed) {
			found = append(found, completion{text: client.QuoteValue(v.Name) + " ", label: v.Label, count: v.Count})
		}
	}
	slices.SortStableFunc(found, func(a, b completion) int { return cmp.Compare(b.count, a.count) })
	return found
}

func completedNames(typed string) []completion {
	if len(typed) < leastCompleted {
		return nil
	}
	names, minus := client.FilterNames(), ""
	if rest, ok := strings.CutPrefix(typed, "-"); ok {
		names, typed, minus = client.NegatableFilters(), rest, "-"
	}
	return exslices.CastFuncFilter(names, func(name string) (completion, bool) {
		return completion{text: minus + name + ":", label: minus + name + ":"}, strings.HasPrefix(name, typed)
	})
}

// values are those that are known of a filter, with their counts.
func (m *Model) values(field picker.Field) []picker.Value {
	facets := m.conn.welcome.facets
	if m.search.shown != nil {
		facets = m.search.shown.response.Facets
	}
	counts, _ := field.Counts(facets)
	return field.Values(counts, m.everyKnown(field), false)
}

func (m *Model) findUnknown() string {
	if partial, ok := m.box.Typing(); ok && m.place() == InBox {
		field, _ := picker.FieldOf(partial.Field)
		value, valid := client.FilterValue(field.Name, partial.Text)
		typed := strings.ToLower(partial.Text)
		if valid && !slices.ContainsFunc(m.values(field), func(v picker.Value) bool { return v.GoesOn(typed) }) {
			if said := m.unknown(field, value); said != "" {
				return said
			}
		}
	}
	for _, chip := range m.box.Chips() {
		field, _ := picker.FieldOf(chip.Field)
		given, excluded := m.parse(chip.Raw).Values(field.Name)
		for _, value := range slices.Concat(given, excluded) {
			if said := m.unknown(field, value); said != "" {
				return said
			}
		}
	}
	return ""
}

// unknown says that a filter has no such value; "" if it has, or if not all of its values are known here.
func (m *Model) unknown(field picker.Field, value string) string {
	if field.Unlisted(value) {
		if exists, checked := m.filters.checked[checkKey(field.Name, value)]; exists || !checked {
			return ""
		}
	} else if !m.listing(field).Complete {
		return ""
	}
	known := append(m.values(field), m.everyKnown(field)...) // hidden ones, too
	if field.Name == "source" {
		known = append(known, exslices.CastFunc(wire.SourceValues(), namedValue)...)
	}
	var names []string
	for _, v := range known {
		if strings.EqualFold(v.Name, value) { // a label is no value: there is no lang:unknown
			return ""
		}
		if names = append(names, v.Name); field.Parts != nil {
			names = append(names, field.Parts(v.Name)...)
		}
	}
	said := "no " + field.Noun + " “" + paint.Line(value) + "”"
	if near := wire.Nearest(value, names); near != "" {
		said += "; did you mean " + paint.Line(near) + "?"
	}
	return said
}

// drawMenu draws the ways to go on with what is typed below it, over the lines of the screen.
func (m *Model) drawMenu(lines []string, cursorX int) {
	found := m.menu()
	if len(found) == 0 {
		return
	}
	partial, _ := m.box.Typing()
	key := m.keys.keyOf("complete", InBox)
	rows, label, count := found[:min(len(found), mostCompletions)], 0, 0
	for _, c := range rows {
		label, count = max(label, paint.Width(c.label)), max(count, len(counted(c)))
	}
	const frame = 4
	label = min(label, max(1, m.width-frame-count-len(key)-2))
	inner := label + count + len(key) + 2
	x := bounded(cursorX-paint.Width(partial.Text), 0, m.width-inner-frame)
	menu := make([]string, 0, len(rows))
	for i, c := range rows {
		row := m.theme.Text.Render(paint.Fit(c.label, label)) + paint.Blank(count-len(counted(c))) +
			m.theme.Number.Render(counted(c)) + "  "
		if i == 0 {
			row = m.theme.Selected.Under(paint.Fit(row+m.theme.Key.Render(key), inner))
		}
		menu = append(menu, row)
	}
	border := paint.Frame{Width: inner + frame, Height: len(menu) + 2, Line: m.theme.BorderFocused, Pad: 1}
	if rest := len(found) - len(rows); rest > 0 {
		border.FootBeside = "+" + text.Number(rest)
	}
	for i, row := range border.Draw(menu)[1:] { // the line above is that of the query
		if y := m.rects.Query.Y + 1 + i; y < len(lines) && inner+frame <= m.width {
			lines[y] = paint.Over(lines[y], row, x, m.width)
		}
	}
}

// counted is the number of documents with a completion.
func counted(c completion) string {
	if c.count == 0 {
		return ""
	}
	return " " + text.Number(c.count)
}

// complete takes the first completion, or asks the next of the target's example questions where nothing is typed.
func (m *Model) complete() tea.Cmd {
	if found := m.completions(); len(found) > 0 {
		m.box.Complete(found[0].text)
	} else {
		examples := m.target.Examples
		m.box.SetQuery(examples[m.completion.example%len(examples)])
		m.completion.example++
	}
	return m.queryEdited()
}

// showsExample reports whether the query is the example question that was asked last.
func (m *Model) showsExample() bool {
	examples := m.target.Examples
	return m.completion.example > 0 && len(examples) > 0 &&
		m.box.Query() == examples[(m.completion.example-1)%len(examples)]
}

func cannotComplete(m *Model) string {
	if len(m.completions()) > 0 {
		return ""
	}
	return cmp.Or(unless(m.box.Query() == "" || m.showsExample(), "nothing to complete"),
		unless(len(m.target.Examples) > 0, "no example questions"))
}
