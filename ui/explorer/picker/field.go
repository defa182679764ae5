package picker

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
)

// valueField says what a tab of values is about: a field of the query, where its values come from, and its words.
type valueField struct {
	name     string // of the filter
	title    string
	one      string // "source"
	many     string // "sources"
	selected func(client.Query) []string
	counted  func(wire.Facets) []wire.FacetValue
	known    func(Input) []string
	label    func(value string) string
	glyph    func(value string) string
	dress    func(th theme.Theme, value string) lipgloss.Style
}

func sourceField() valueField {
	return valueField{
		name: "source", title: "Sources", one: "source", many: "sources",
		selected: func(q client.Query) []string { return q.Sources },
		counted:  func(f wire.Facets) []wire.FacetValue { return f.Sources },
		known:    func(in Input) []string { return in.Known },
		label:    client.SourceName,
		glyph:    theme.SourceGlyph,
		dress:    func(th theme.Theme, value string) lipgloss.Style { return th.SourceStyle(value) },
	}
}

// canonical is a value as the query language reads it back, which may differ in case and in its spaces. False if it
// cannot be a value.
func (f valueField) canonical(value string) (string, bool) {
	read := f.selected(client.ParseQuery(f.filter([]string{value}), time.Time{}))
	if len(read) != 1 {
		return "", false
	}
	return read[0], true
}

// filter writes values as one filter of the query language.
func (f valueField) filter(values []string) string {
	written := make([]string, len(values))
	for i, value := range values {
		written[i] = client.QuoteValue(value)
	}
	return f.name + ":" + strings.Join(written, ",")
}
