// Package dimension has what the explorer divides documents by: their sources, or, where nearly all are of one source,
// their places. The line under the query, the home, the groups and rows of the list and the reader show the same one.
package dimension

import (
	"slices"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/passage"
)

// Dimension is a field that every document has one value of. The zero value is sources.
type Dimension struct {
	field  field.ID
	places []string // of one level, those with most documents first: each has a colour
}

// ByPlace returns the dimension of places, as facets list those of one level.
func ByPlace(level []wire.FacetValue) Dimension {
	places := exslices.CastFunc(level, func(v wire.FacetValue) string { return strings.TrimPrefix(v.Value, "/") })
	return Dimension{field.Place, places}
}

// For returns the dimension of a library with these facets: places where one source has more than nine tenths of the
// documents. The other one is what flipped asks for; facets without places have sources only.
func For(facets wire.Facets, flipped bool) Dimension {
	most, all := 0, 0
	for _, source := range facets.Sources {
		most, all = max(most, source.Count), all+source.Count
	}
	if len(facets.Places) == 0 || (10*most > 9*all) == flipped {
		return Dimension{}
	}
	return ByPlace(facets.Places)
}

// Field returns the field that filters and counts use.
func (d Dimension) Field() field.Field { return field.Of(d.field) }

// IsPlace reports whether documents are divided by place.
func (d Dimension) IsPlace() bool { return d.field == field.Place }

// Level returns the level of the places with a colour, as a request names it. It is empty for sources.
func (d Dimension) Level() string {
	if len(d.places) == 0 {
		return ""
	}
	return field.LevelOf(d.places[0])
}

// Equal reports whether two dimensions show the same.
func (d Dimension) Equal(other Dimension) bool {
	return d.field == other.field && strings.Join(d.places, "/\n") == strings.Join(other.places, "/\n")
}

// Value returns the value of a result's document: its source, or the place that contains it among those with a colour.
func (d Dimension) Value(r wire.SearchResult) string {
	if !d.IsPlace() || r.Place == "" {
		return r.SourceType
	}
	if at := d.index(r.Place); at >= 0 {
		return d.places[at]
	}
	return r.Place
}

// index returns the index of the place with a colour that contains another one; -1 without one.
func (d Dimension) index(place string) int {
	return slices.IndexFunc(d.places, func(outer string) bool { return field.IsWithin(place, outer) })
}

// Means reports whether a filter means a value.
func (d Dimension) Means(filter, value string) bool {
	return filter == value || d.IsPlace() && field.EndsInPlace(strings.TrimPrefix(value, "/"), filter)
}

// Name returns a value for display. A place is called by its last name; the outermost may be a source.
func (d Dimension) Name(value string) string {
	names := field.PlaceNames(value)
	if _, isSource := wire.LookupSource(value); !d.IsPlace() || len(names) == 0 || isSource {
		return wire.SourceName(value)
	}
	return names[len(names)-1]
}

// Path returns the name of a result's value, and where its document is below that.
func (d Dimension) Path(r wire.SearchResult) (name string, below []string) {
	if d.IsPlace() && r.Place != "" {
		value := d.Value(r)
		return d.Name(value), field.PlaceNames(strings.TrimPrefix(r.Place, value))
	}
	if r.SourceType != "" {
		name = wire.SourceName(r.SourceType)
	}
	return name, passage.Where(r)
}

// Glyph returns a mark of one column before the name of a source; places have none.
func (d Dimension) Glyph(th theme.Theme, value string) string {
	if d.IsPlace() {
		return ""
	}
	return th.SourceGlyph(value)
}

// Label returns the name of a value behind its mark.
func (d Dimension) Label(th theme.Theme, value string) string {
	return d.Marked(th, value, d.Name(value))
}

// Marked returns a text behind the mark of a value, if it has one.
func (d Dimension) Marked(th theme.Theme, value, text string) string {
	return strings.TrimLeft(d.Glyph(th, value)+" "+text, " ")
}

// Style returns the style of a value's name.
func (d Dimension) Style(th theme.Theme, value string) theme.Style {
	if !d.IsPlace() {
		return th.SourceStyle(value)
	}
	if at := d.index(value); at >= 0 {
		return th.PlaceStyle(at)
	}
	return th.Source
}
