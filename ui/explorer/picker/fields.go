package picker

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/ui/explorer/paint"
)

// Field is a filter whose values can be listed: what its tab, the completion of its values and the check of unknown
// values have in common. An agent is one, too, with names alone.
type Field struct {
	field.Field
	// Single is set if the filter takes one value and cannot exclude.
	Single bool
	// List fetches the values that exist; nil: they are known from the counts alone, sources from the welcome.
	List func(context.Context, *client.Client) (Listing, error)
}

// Listing is what is known of the values of a field, beside their counts.
type Listing struct {
	Values   []Value
	Complete bool // no other values exist
	Pending  bool // it is being fetched
	Problem  string
	Note     string // on what the values are
}

// Value is a value of a field.
type Value struct {
	Name    string // as the filter takes it
	Label   string // for display
	About   string // what it is
	Count   int    // of matching documents
	Counted bool
	Hidden  bool // it exists, and is not offered
}

// GoesOn reports whether a value, or a word of it, begins with a text in lower case.
func (v Value) GoesOn(typed string) bool {
	return slices.ContainsFunc([]string{strings.ToLower(v.Name), strings.ToLower(v.Label)}, func(text string) bool {
		return strings.HasPrefix(text, typed) || slices.ContainsFunc([]string{" ", "=", "/"}, func(before string) bool {
			return strings.Contains(text, before+typed)
		})
	})
}

// Fields returns the fields in the order of their tabs.
func Fields() []Field {
	fields := exslices.CastFunc(field.All(), func(row field.Field) Field {
		if row.ID == field.Source || row.Listed == "" && row.ID != field.Place {
			return Field{Field: row}
		}
		return Field{Field: row, List: func(ctx context.Context, c *client.Client) (Listing, error) {
			return listValues(ctx, c, row)
		}}
	})
	row := field.Field{Name: client.FilterAgent, Noun: "agent", Title: "Agent"}
	agent := Field{Field: row, Single: true, List: listAgents}
	return slices.Insert(fields, 1, agent)
}

// FieldOf returns the field of a filter.
func FieldOf(name string) (Field, bool) {
	for _, f := range Fields() {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

func listAgents(ctx context.Context, c *client.Client) (Listing, error) {
	agents, err := c.Personas(ctx)
	return Listing{Complete: true, Values: exslices.CastFunc(agents, func(agent wire.Persona) Value {
		return Value{Name: agent.Name, About: agent.Description, Hidden: !agent.IsListed}
	})}, err
}

// mostListed is how many values are listed of a field that may have more.
const mostListed = 1000

func listValues(ctx context.Context, c *client.Client, row field.Field) (Listing, error) {
	found, err := c.ListValues(ctx, row.ID, "", mostListed)
	return Listing{Complete: found.Complete,
		Values: exslices.CastFunc(found.Values, func(value client.ListedValue) Value {
			if row.Pairs { // where about is the source of many
				value.About = ""
			}
			return Value{Name: value.Name, About: value.About}
		})}, err
}

// Counts returns the counts of a field, and whether it has values that were not counted: the least frequent ones.
func (f Field) Counts(facets wire.Facets) (counts []wire.FacetValue, cut bool) {
	if f.Field.Counts == nil {
		return nil, false
	}
	counts = f.Field.Counts(&facets).Values()
	return counts, len(counts) >= wire.MaxFacetValues
}

// CountInHand counts the results that have each value.
func (f Field) CountInHand(results []wire.SearchResult) []wire.FacetValue {
	if f.Result == nil {
		return nil
	}
	var counts []wire.FacetValue
	at := map[string]int{}
	for _, result := range results {
		values := f.Result(&result)
		for n, value := range values {
			if value == "" || slices.Contains(values[:n], value) {
				continue
			}
			i, known := at[value]
			if !known {
				i = len(counts)
				at[value] = i
				counts = append(counts, wire.FacetValue{Value: value})
			}
			counts[i].Count++
		}
	}
	return counts
}

// Canonical returns a value as the query language reads it back, which differs in case for sources and in white space
// for authors too; false if no filter can mean this value.
func (f Field) Canonical(value string) (string, bool) {
	read, ok := client.FilterValue(f.Name, value)
	return read, ok && (read == value || f.Folds)
}

// Unlisted reports whether the filter may take a value that no listing has: the number of an agent, a media type, and
// for authors a part of the name or an address.
func (f Field) Unlisted(value string) bool {
	if f.Single {
		_, err := strconv.Atoi(value)
		return err == nil
	}
	return f.Field.Unlisted != nil && f.Field.Unlisted(value)
}

// Label returns a value for display.
func (f Field) Label(value string) string { return paint.Line(f.Display(value)) }

// Values returns the counted values, and those that are only known to exist; all of them count as counted if the counts
// are of all values. What no filter can mean is left out.
func (f Field) Values(counts []wire.FacetValue, known []Value, all bool) []Value {
	places := make(map[string]int, len(counts)+len(known))
	values := make([]Value, 0, len(counts)+len(known))
	add := func(value Value) *Value {
		canonical, ok := f.Canonical(value.Name)
		if !ok {
			return new(Value)
		}
		at, found := places[canonical]
		if !found {
			at = len(values)
			places[canonical] = at
			values = append(values, Value{Name: canonical, Label: f.Label(canonical), Counted: all})
		}
		values[at].About = cmp.Or(values[at].About, paint.Line(value.About))
		return &values[at]
	}
	for _, value := range known {
		if !value.Hidden {
			add(value)
		}
	}
	for _, counted := range counts {
		value := add(Value{Name: counted.Value})
		value.Count, value.Counted = value.Count+max(0, counted.Count), true
	}
	return values
}

// Filter writes values as one filter of the query language.
func (f Field) Filter(negated bool, values []string) string {
	name := f.Name
	if negated {
		name = "-" + name
	}
	return name + ":" + strings.Join(exslices.CastFunc(values, client.QuoteValue), ",")
}
