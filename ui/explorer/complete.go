package explorer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
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

// filterNames are the fields of the query language.
func filterNames() []string {
	return []string{"source", "since", "until", "within", "agent", "set", "tag", "author", "type"}
}

// completing is what tab does in the query box.
type completing struct {
	offered offered
	example int // number of the example question to ask next
}

// offered are the completions of what is typed, as long as nothing that they depend on changes.
type offered struct {
	typed       uint64 // version of the box
	shown       *shown
	session     *client.Session
	listed      int // sources
	completions []completion
}

// offerCompletions finds the completions of what is typed, once for each change.
func (m *Model) offerCompletions() {
	now := offered{typed: m.box.Version(), shown: m.search.shown, session: m.conn.session, listed: len(m.conn.welcome.sources)}
	if o := m.completion.offered; o.typed == now.typed && o.shown == now.shown && o.session == now.session && o.listed == now.listed {
		return
	}
	now.completions = m.findCompletions()
	m.completion.offered = now
}

// completions go on with the filter that is being typed, the likeliest first.
func (m *Model) completions() []completion {
	if m.place() != InBox {
		return nil
	}
	return m.completion.offered.completions
}

func (m *Model) findCompletions() []completion {
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
		value := strings.ToLower(c.text)
		if strings.HasPrefix(value, typed) || strings.HasPrefix(strings.ToLower(c.label), typed) {
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
	for _, name := range filterNames() {
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
			text := tag.Key + "=" + tag.Value
			found = append(found, completion{text: text, label: paint.Line(text), count: tag.Count})
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
	all, known := slices.Clone(counted), map[string]bool{}
	for _, source := range counted {
		known[source.Value] = true
	}
	for _, source := range m.conn.welcome.sources {
		if !known[source.Value] {
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
			label += " " + paint.Number(c.count)
		}
		labels = append(labels, label)
	}
	if rest := len(found) - len(labels); rest > 0 {
		labels = append(labels, fmt.Sprintf("+%d", rest))
	}
	return m.keys.keyOf("complete", InBox) + " takes " + strings.Join(labels, " · ")
}

// complete takes the first completion, or asks an example question where nothing is typed.
func (m *Model) complete() tea.Cmd {
	if found := m.completions(); len(found) > 0 {
		m.box.Complete(found[0].text)
		return m.queryEdited()
	}
	return m.askExample()
}

// showsExample tells that the query is the example question that was asked last.
func (m *Model) showsExample() bool {
	examples := m.target.Examples
	return m.completion.example > 0 && len(examples) > 0 && m.box.Query() == examples[(m.completion.example-1)%len(examples)]
}

func cannotComplete(m *Model) string {
	if len(m.completions()) > 0 {
		return ""
	}
	return cmp.Or(unless(m.box.Query() == "" || m.showsExample(), "there is nothing to complete here"),
		unless(len(m.target.Examples) > 0, "there are no example questions here"))
}
