package explorer

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
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
	example int // number of the example question to ask next
}

// completions returns ways to continue the filter that is being typed, the most frequent first.
func (m *Model) completions() []completion {
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
	var found []completion
	for _, c := range m.values(partial.Field) {
		if strings.HasPrefix(strings.ToLower(c.text), typed) || strings.HasPrefix(strings.ToLower(c.label), typed) {
			c.text = client.QuoteValue(c.text) + " "
			found = append(found, c)
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
	var found []completion
	for _, name := range names {
		if strings.HasPrefix(name, typed) {
			found = append(found, completion{text: minus + name + ":", label: minus + name + ":"})
		}
	}
	return found
}

// values are those that are known of a filter, with their counts.
func (m *Model) values(field string) []completion {
	facets := m.conn.welcome.facets
	if m.search.shown != nil {
		facets = m.search.shown.response.Facets
	}
	var found []completion
	add := func(values []wire.FacetValue, label func(string) string) {
		for _, v := range values {
			found = append(found, completion{text: v.Value, label: paint.Line(label(v.Value)), count: v.Count})
		}
	}
	same := func(value string) string { return value }
	switch field {
	case "source":
		add(m.knownSources(facets.Sources), client.SourceName)
	case "set":
		add(facets.DocumentSets, same)
	case "author":
		add(facets.Authors, same)
	case "type":
		add(facets.Types, same)
	case "tag":
		for _, tag := range facets.Tags {
			value := tag.Key + "=" + tag.Value
			found = append(found, completion{text: value, label: paint.Line(value), count: tag.Count})
		}
	case "within":
		for _, span := range []string{"7d", "30d", "90d", "1y"} {
			found = append(found, completion{text: span, label: span})
		}
	}
	return found
}

// knownSources are the counted sources, and those that exist but match nothing now.
func (m *Model) knownSources(counted []wire.FacetValue) []wire.FacetValue {
	all := slices.Clone(counted)
	for _, source := range m.conn.welcome.sources {
		if !slices.ContainsFunc(counted, func(known wire.FacetValue) bool { return known.Value == source.Value }) {
			all = append(all, wire.FacetValue{Value: source.Value})
		}
	}
	return all
}

// unknownValue describes the first value of a filter that the target does not have, with the nearest one: of the filter that
// is typed, unless it may go on to a known value, and else of those that are set.
func (m *Model) unknownValue() string {
	if partial, ok := m.box.Typing(); ok && partial.Text != "" && m.place() == InBox {
		known := m.values(partial.Field)
		typed := strings.ToLower(partial.Text)
		mayGoOn := slices.ContainsFunc(known, func(c completion) bool {
			return strings.HasPrefix(strings.ToLower(c.text), typed) || strings.HasPrefix(strings.ToLower(c.label), typed)
		})
		if said := m.unknown(partial.Field, partial.Text); said != "" && !mayGoOn {
			return said
		}
	}
	for _, chip := range m.box.Chips() {
		set := client.ParseQuery(chip.Raw, m.now())
		for _, value := range slices.Concat(set.Sources, set.Sets, set.Types) {
			if said := m.unknown(chip.Field, value); said != "" {
				return said
			}
		}
	}
	return ""
}

// unknown says that a filter has no such value; "" if it has, or if not all of its values are known here.
func (m *Model) unknown(field, value string) string {
	nouns := map[string]string{"source": "source", "set": "document set", "type": "document type"}
	noun, listed := nouns[field]
	if !listed || field != "source" && !m.conn.welcome.exact {
		return ""
	}
	known := m.values(field)
	if field == "source" {
		for _, source := range wire.Sources() {
			known = append(known, completion{text: source.Value, label: source.Name})
		}
	}
	names := make([]string, 0, len(known))
	for _, c := range known {
		if strings.EqualFold(c.text, strings.TrimLeft(value, ".")) || strings.EqualFold(c.label, value) {
			return ""
		}
		names = append(names, c.text)
	}
	said := "no " + noun + " “" + paint.Line(value) + "”"
	if near := wire.Nearest(strings.ToLower(value), names); near != "" {
		said += "; did you mean " + paint.Line(near) + "?"
	}
	return said
}

// drawMenu draws the ways to go on with what is typed below it, over the lines of the screen.
func (m *Model) drawMenu(lines []string, cursorX int) {
	found := m.completions()
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
	border := paint.PenOf(m.theme.BorderFocused)
	var menu []string
	for i, c := range rows {
		row := m.theme.Text.Render(paint.Fit(c.label, label)) + paint.Blank(count-len(counted(c))) + m.theme.Number.Render(counted(c)) + "  "
		if i == 0 {
			row = paint.Under(paint.Fit(row+m.theme.Key.Render(key), inner), m.theme.Selected)
		}
		menu = append(menu, border.Write("│")+" "+paint.Fit(row, inner)+" "+border.Write("│"))
	}
	bottom := strings.Repeat("─", inner+2)
	if rest := len(found) - len(rows); rest > 0 {
		more := " +" + text.Number(rest) + " "
		bottom = strings.Repeat("─", max(0, inner+2-len(more))) + more
	}
	menu = append(menu, border.Write("╰"+paint.Fit(bottom, inner+2)+"╯"))
	for i, row := range menu {
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

// complete takes the first completion, or asks an example question where nothing is typed.
func (m *Model) complete() tea.Cmd {
	if found := m.completions(); len(found) > 0 {
		m.box.Complete(found[0].text)
		return m.queryEdited()
	}
	return m.askExample()
}

// showsExample reports whether the query is the example question that was asked last.
func (m *Model) showsExample() bool {
	examples := m.target.Examples
	return m.completion.example > 0 && len(examples) > 0 && m.box.Query() == examples[(m.completion.example-1)%len(examples)]
}

func cannotComplete(m *Model) string {
	if len(m.completions()) > 0 {
		return ""
	}
	return cmp.Or(unless(m.box.Query() == "" || m.showsExample(), "nothing to complete"),
		unless(len(m.target.Examples) > 0, "no example questions"))
}
