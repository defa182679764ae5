package wire

import (
	_ "embed" // sources.txt
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"go.mau.fi/util/exslices"
)

// Source describes one value of Onyx's DocumentSource.
type Source struct {
	Value       string
	Name        string // for display
	Category    string
	Description string // empty: intentionally undescribed
	Internal    bool   // never listed
}

// sources follows the order of Onyx's enumeration (backend/onyx/configs/constants.py); names and categories are its
// web application's.
var sources = sync.OnceValue(func() (rows []Source) {
	for line := range strings.Lines(sourcesText) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		rows = append(rows, Source{cells[0], cells[1], cells[2], cells[3], len(cells) > 4})
	}
	return rows
})

//go:embed sources.txt
var sourcesText string

// Sources returns all values of Onyx, in its order.
func Sources() []Source { return slices.Clone(sources()) }

// SourceValues returns the value of each source.
func SourceValues() []string {
	return exslices.CastFunc(sources(), func(s Source) string { return s.Value })
}

// LookupSource returns the source with a value of DocumentSource.
func LookupSource(value string) (Source, bool) {
	for _, s := range sources() {
		if s.Value == value {
			return s, true
		}
	}
	return Source{}, false
}

// SourceName returns the display name of a source type; an unknown value is title-cased.
func SourceName(value string) string {
	value = strings.TrimPrefix(value, "federated_")
	if source, ok := LookupSource(value); ok {
		return source.Name
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) })
	for i, word := range words {
		first, width := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToTitle(first)) + word[width:]
	}
	return strings.Join(words, " ")
}
