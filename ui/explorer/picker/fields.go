package picker

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
)

// Field is a filter whose values can be listed: what its tab, the completion of its values and the check of unknown values
// have in common.
type Field struct {
	Name  string // of the filter
	Noun  string // one value
	Title string // of the tab
	Short string // Title where there is little room
	// Single is set if the filter takes one value and cannot exclude.
	Single bool
	// Extension is set if a bare Onyx ignores the filter.
	Extension bool
	// List fetches the values that exist; nil: they are known from the counts alone, sources from the welcome.
	List func(context.Context, *client.Client) (Listing, error)

	counts func(wire.Facets) []wire.FacetValue     // nil: no server counts them
	inHand func(result wire.SearchResult) []string // nil: results do not have them
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
	for _, text := range []string{strings.ToLower(v.Name), strings.ToLower(v.Label)} {
		if strings.HasPrefix(text, typed) || strings.Contains(text, " "+typed) || strings.Contains(text, "="+typed) {
			return true
		}
	}
	return false
}

// Fields returns the fields in the order of their tabs.
func Fields() []Field {
	return []Field{
		{Name: "source", Noun: "source", Title: "Sources", counts: func(f wire.Facets) []wire.FacetValue { return f.Sources },
			inHand: func(r wire.SearchResult) []string { return []string{r.SourceType} }},
		{Name: "agent", Noun: "agent", Title: "Agent", Single: true, List: listAgents},
		{Name: "set", Noun: "document set", Title: "Document sets", Short: "Sets", List: listSets,
			counts: func(f wire.Facets) []wire.FacetValue { return f.DocumentSets }},
		{Name: "tag", Noun: "tag", Title: "Tags", List: listTags, counts: countsOfTags, inHand: tagsOf},
		{Name: "author", Noun: "author", Title: "Authors", Extension: true,
			counts: func(f wire.Facets) []wire.FacetValue { return f.Authors },
			inHand: func(r wire.SearchResult) []string { return r.Authors }},
		{Name: "type", Noun: "document type", Title: "Types", Extension: true,
			counts: func(f wire.Facets) []wire.FacetValue { return f.Types },
			inHand: func(r wire.SearchResult) []string { return []string{r.DocumentType} }},
	}
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

func listSets(ctx context.Context, c *client.Client) (Listing, error) {
	sets, err := c.DocumentSets(ctx)
	return Listing{Complete: true, Values: exslices.CastFunc(sets, func(set wire.DocumentSet) Value {
		return Value{Name: set.Name, About: text.OrEmpty(set.Description)}
	})}, err
}

// mostTags is how many tags are listed.
const mostTags = 1000

func listTags(ctx context.Context, c *client.Client) (Listing, error) {
	tags, err := c.ValidTags(ctx, "", true, mostTags)
	return Listing{Complete: len(tags) < mostTags, Values: exslices.CastFunc(tags, func(tag wire.SourceTag) Value {
		return Value{Name: tagValue(tag.Key, tag.Value)}
	})}, err
}

// tagValue writes a tag as a filter takes it; empty for a key with an equals sign, which a filter cannot have.
func tagValue(key, value string) string {
	if strings.Contains(key, "=") {
		return ""
	}
	return key + "=" + value
}

func countsOfTags(facets wire.Facets) []wire.FacetValue {
	return exslices.CastFunc(facets.Tags, func(tag wire.FacetTag) wire.FacetValue {
		return wire.FacetValue{Value: tagValue(tag.Key, tag.Value), Count: tag.Count}
	})
}

func tagsOf(result wire.SearchResult) []string {
	var tags []string
	for key, metadata := range result.Metadata {
		for _, value := range metadata.Values {
			tags = append(tags, tagValue(key, value))
		}
	}
	return tags
}

// Counts returns the counts of a field, and whether it has values that were not counted: the least frequent ones.
func (f Field) Counts(facets wire.Facets) (counts []wire.FacetValue, cut bool) {
	if f.counts == nil {
		return nil, false
	}
	counts = f.counts(facets)
	return counts, len(counts) >= wire.MaxFacetValues
}

// CountInHand counts the results that have each value.
func (f Field) CountInHand(results []wire.SearchResult) []wire.FacetValue {
	if f.inHand == nil {
		return nil
	}
	var counts []wire.FacetValue
	at := map[string]int{}
	for _, result := range results {
		values := f.inHand(result)
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

// Canonical returns a value as the query language reads it back, which differs in case for sources and in white space for
// authors too; false if no filter can mean this value.
func (f Field) Canonical(value string) (string, bool) {
	read, ok := client.FilterValue(f.Name, value)
	return read, ok && (read == value || f.Name == "source" || f.Name == "author")
}

// Unlisted reports whether the filter may take a value that no listing has: the number of an agent, a media type, and for
// authors a part of the name or an address.
func (f Field) Unlisted(value string) bool {
	switch f.Name {
	case "agent":
		_, err := strconv.Atoi(value)
		return err == nil
	case "type":
		return strings.Contains(value, "/")
	}
	return f.Name == "author"
}

// Label returns a value for display.
func (f Field) Label(value string) string {
	if f.Name == "source" {
		value = client.SourceName(value)
	}
	return paint.Line(value)
}

// Values returns the counted values, and those that are only known to exist; all of them count as counted if the counts are
// of all values. What no filter can mean is left out.
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
