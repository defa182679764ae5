package explorer

import (
	"cmp"
	"fmt"
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
	mostCompletions = 4 // that are shown
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
	partial, ok := m.box.Typing()
	if !ok || m.place() != InBox {
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
	var found []completion
	for _, name := range []string{"source", "since", "until", "within", "agent", "set", "tag", "author", "type"} {
		if strings.HasPrefix(name, typed) {
			found = append(found, completion{text: name + ":", label: name + ":"})
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

// completionHint shows how what is typed may go on, or is empty.
func (m *Model) completionHint() string {
	found := m.completions()
	if len(found) == 0 {
		return ""
	}
	labels := make([]string, 0, mostCompletions)
	for _, c := range found[:min(len(found), mostCompletions)] {
		label := c.label
		if c.count > 0 {
			label += " " + text.Number(c.count)
		}
		labels = append(labels, label)
	}
	if rest := len(found) - len(labels); rest > 0 {
		labels = append(labels, fmt.Sprintf("+%d", rest))
	}
	return m.keys.keyOf("complete", InBox) + " completes " + strings.Join(labels, " · ")
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
