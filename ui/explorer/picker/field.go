package picker

import (
	"strings"

	"charm.land/lipgloss/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
)

// valueField says what a tab of values is about: a field of the query, where its values come from, and its words.
type valueField struct {
	name    string // of the filter
	title   string
	one     string // "source"
	many    string // "sources"
	held    func(client.Query) []string
	counted func(wire.Facets) []wire.FacetValue
	known   func(Input) []string
	label   func(value string) string
	glyph   func(value string) string
	dress   func(th theme.Theme, value string) lipgloss.Style
}

func sourceField() valueField {
	return valueField{
		name: "source", title: "Sources", one: "source", many: "sources",
		held:    func(q client.Query) []string { return q.Sources },
		counted: func(f wire.Facets) []wire.FacetValue { return f.Sources },
		known:   func(in Input) []string { return in.Known },
		label:   client.SourceName,
		glyph:   theme.SourceGlyph,
		dress:   func(th theme.Theme, value string) lipgloss.Style { return th.SourceStyle(value) },
	}
}

// canonical is a value as the query language reads it back, which may differ in case and in its spaces. False if the
// language cannot say it, as with a quote inside.
func (f valueField) canonical(value string) (string, bool) {
	for range 3 {
		read := f.held(client.ParseQuery(f.filter([]string{value}), noMoment()))
		if len(read) != 1 {
			return "", false
		}
		if read[0] == value {
			return value, true
		}
		value = read[0]
	}
	return "", false
}

// filter writes values as one filter of the query language.
func (f valueField) filter(values []string) string {
	written := make([]string, len(values))
	for i, value := range values {
		written[i] = quoted(value)
	}
	return f.name + ":" + strings.Join(written, ",")
}

// quoted puts a value in quotes where anything in it could end it.
func quoted(value string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.@/", r)
	}
	if value != "" && strings.IndexFunc(value, func(r rune) bool { return !plain(r) }) < 0 {
		return value
	}
	return `"` + value + `"`
}
