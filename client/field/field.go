// Package field has the table of what a search can be narrowed to, exclude, be counted by and complete: one row for
// each field that is a set of values. The query language, requests, the index, the engines, the explorer and the flags
// of the command line loop over All, so a new field is a row here, a list in the structs of package wire that the row
// points to, and an entry in package index that reads it from documents. Times, agents, access and similar passages are
// no sets of values; they have code of their own.
//
// A value has three forms: the text of the query language (team=infra), what the wire's lists hold (a wire.Tag), and
// the key by which an index knows it. Values and Counts convert between them.
package field

import (
	"slices"
	"strings"

	"quarry/client/wire"
)

// ID numbers the rows of All. It indexes arrays of what is kept by field.
type ID int

// The fields, in the order in which they are offered.
const (
	Source ID = iota
	Set
	Tag
	Author
	Type
	Lang
	Place
	N // how many there are
)

// Keys are the values of each field as an index knows them.
type Keys [N][]string

// Ability is what most fields can do.
type Ability int

// The abilities. A row without one has no accessor for it, and says why.
const (
	Result Ability = iota // results have the values
	Show                  // a server sets the values of results by the table
	Flag                  // searches on the command line have a flag
)

// Field is a row.
type Field struct {
	ID
	Name  string // in the query language
	Noun  string // of one value
	Title string // of a list of values
	Short string // Title where there is little room; empty: Title
	Key   string // in requests, in parameters of URLs and in applied filters
	Chat  string // in the filters of a question
	// Extension: only a server knows the filter whose features name its Key.
	Extension bool

	// Request and Counts return the field's list in a struct of the wire.
	Request func(*wire.Filters) Values
	Counts  func(*wire.Facets) Counts
	// Result returns the values of a result as texts; empty ones are none. Show sets them.
	Result func(*wire.SearchResult) []string
	Show   func(*wire.SearchResult, []string)
	// Flag is the field's flag.
	Flag *FlagInfo
	// Lacks are the reasons for missing abilities.
	Lacks map[Ability]string

	// Listed is the command that lists the values; empty: nothing lists all ways to write one, and counts say what
	// exists.
	Listed string
	// Choices returns the only values that a server takes; nil: any.
	Choices func() []string
	// Pairs: a value is a key and a value, in requests an object.
	Pairs bool
	// Known: a blank value is refused, like every value that does not exist; otherwise it means nothing.
	Known bool
	// Folds: several spellings mean one value, which FilterValue returns.
	Folds bool
	// Matches reports whether a document with one value passes a filter with another; nil: if both are the same.
	Matches func(value, filter string) bool
	// Normal returns a filter's value as documents have it; nil: as it is.
	Normal func(string) string
	// Label returns a value for display; nil: the value.
	Label func(string) string
	// Parts returns what a filter may also take of a value: the words of a name, the names of a place; nil: nothing.
	Parts func(string) []string
	// Unlisted reports whether a filter may take a value that no list of the values has; nil: none.
	Unlisted func(string) bool
}

// FlagInfo describes the flag of a field.
type FlagInfo struct {
	Name, Short, Usage string
	Commas             bool   // several values may be separated by commas
	Invalid, Example   string // said about a value that cannot be read
}

// rows is the table. Its accessors are all that names the lists of the wire one by one.
var rows = [N]Field{
	{ID: Source, Name: "source", Noun: "source", Title: "Sources", Key: "sources", Chat: "source_type",
		Request: func(f *wire.Filters) Values { return texts(&f.Sources, readSource) },
		Counts:  func(f *wire.Facets) Counts { return valueCounts(&f.Sources) },
		Result:  func(r *wire.SearchResult) []string { return []string{r.SourceType} },
		Show:    func(r *wire.SearchResult, values []string) { r.SourceType = first(values) },
		Flag: &FlagInfo{Name: "source", Short: "s", Commas: true,
			Usage: "search only these `sources`, separated by commas, like slack,github"},
		Listed: "sources", Choices: wire.SourceValues, Folds: true, Label: wire.SourceName},
	{ID: Set, Name: "set", Noun: "document set", Title: "Document sets", Short: "Sets",
		Key: "document_sets", Chat: "document_set",
		Request: func(f *wire.Filters) Values { return texts(&f.DocumentSets, readText) },
		Counts:  func(f *wire.Facets) Counts { return valueCounts(&f.DocumentSets) },
		Flag:    &FlagInfo{Name: "document-set", Usage: "only this document set (`NAME`); repeatable"},
		Lacks: map[Ability]string{Result: "a document may be in sets that its reader must not know",
			Show: "its reader must not know them"},
		Listed: "document-sets", Known: true},
	{ID: Tag, Name: "tag", Noun: "tag", Title: "Tags", Key: "tags", Chat: "tags", Pairs: true,
		Request: func(f *wire.Filters) Values { return pairs(&f.Tags) },
		Counts:  func(f *wire.Facets) Counts { return tagCounts(&f.Tags) },
		Result:  tagsOf, Listed: "tags",
		Lacks: map[Ability]string{Show: "a result says what was written as a list"},
		Flag: &FlagInfo{Name: "tag", Usage: "only documents with this tag (`key=value`); repeatable",
			Invalid: "is not key=value", Example: "Example: --tag team=infra. See: quarry tags"}},
	{ID: Author, Name: "author", Noun: "author", Title: "Authors", Key: "authors", Chat: "authors", Extension: true,
		Request: func(f *wire.Filters) Values { return texts(&f.Authors, readText) },
		Counts:  func(f *wire.Facets) Counts { return valueCounts(&f.Authors) },
		Result:  func(r *wire.SearchResult) []string { return r.Authors },
		Show:    func(r *wire.SearchResult, values []string) { r.Authors = append([]string{}, values...) },
		Lacks:   map[Ability]string{Flag: "author: in the query says it"},
		Folds:   true, Matches: isPartOfName, Parts: strings.Fields, Unlisted: func(string) bool { return true }},
	{ID: Type, Name: "type", Noun: "document type", Title: "Types",
		Key: "document_types", Chat: "document_types", Extension: true,
		Request: func(f *wire.Filters) Values { return texts(&f.DocumentTypes, readLower) },
		Counts:  func(f *wire.Facets) Counts { return valueCounts(&f.Types) },
		Result:  func(r *wire.SearchResult) []string { return []string{r.DocumentType} },
		Show:    func(r *wire.SearchResult, values []string) { r.DocumentType = first(values) },
		Lacks:   map[Ability]string{Flag: "type: in the query says it"},
		Matches: strings.EqualFold, Normal: normalType,
		Unlisted: func(value string) bool { return strings.Contains(value, "/") }},
	{ID: Lang, Name: "lang", Noun: "language", Title: "Languages", Short: "Lang",
		Key: "languages", Chat: "languages", Extension: true,
		Request: func(f *wire.Filters) Values { return texts(&f.Languages, readLower) },
		Counts:  func(f *wire.Facets) Counts { return valueCounts(&f.Languages) },
		Result:  func(r *wire.SearchResult) []string { return []string{r.Language} },
		Show:    func(r *wire.SearchResult, values []string) { r.Language = first(values) },
		Flag: &FlagInfo{Name: "lang", Commas: true,
			Usage: "only documents in these languages (`CODES`, separated by commas), like en,de"},
		Folds: true, Matches: strings.EqualFold, Normal: strings.ToLower, Label: languageName},
	{ID: Place, Name: "in", Noun: "place", Title: "Places", Key: "places", Chat: "places", Extension: true,
		Request: func(f *wire.Filters) Values { return texts(&f.Places, readPlace) },
		Counts:  func(f *wire.Facets) Counts { return valueCounts(&f.Places) },
		Result:  func(r *wire.SearchResult) []string { return []string{r.Place} },
		Show:    func(r *wire.SearchResult, values []string) { r.Place = last(values) },
		Flag: &FlagInfo{Name: "in",
			Usage: "only documents in this `PLACE`, like handbook/people or #deploys; repeatable"},
		Matches: isInPlace, Parts: partsOfPlace, Unlisted: func(string) bool { return true }},
}

// All returns the rows in the order in which they are offered.
func All() []Field { return slices.Clone(rows[:]) }

// Of returns the row of a field.
func Of(id ID) Field { return rows[id] }

// Named returns the row with a name in the query language.
func Named(name string) (Field, bool) {
	for _, row := range &rows {
		if row.Name == name {
			return row, true
		}
	}
	return Field{}, false
}

// Of returns the field's values in f as texts.
func (f Field) Of(filters wire.Filters) []string { return f.Request(&filters).Texts() }

// Read returns a text as the query language reads it; false if the field cannot have that value.
func (f Field) Read(text string) (string, bool) {
	var filters wire.Filters
	values := f.Request(&filters)
	if !values.Add(text) || values.Len() != 1 {
		return "", false
	}
	return values.Texts()[0], true
}

// Display returns a value for people.
func (f Field) Display(value string) string {
	if f.Label != nil {
		return f.Label(value)
	}
	return value
}

// Has reports whether a result says what it has in the field.
func (f Field) Has(result wire.SearchResult) bool {
	return f.Result != nil && slices.ContainsFunc(f.Result(&result), func(value string) bool { return value != "" })
}

// Passes reports whether a result has one of the values of a filter, as far as results say so.
func (f Field) Passes(result *wire.SearchResult, filters []string) bool {
	return f.Result != nil && slices.ContainsFunc(f.Result(result), func(value string) bool {
		return slices.ContainsFunc(filters, func(filter string) bool {
			return value == filter || f.Matches != nil && f.Matches(value, filter)
		})
	})
}

// IsEmpty reports whether there are no filters.
func IsEmpty(filters wire.Filters) bool {
	for _, row := range &rows {
		if row.Request(&filters).Len() > 0 {
			return false
		}
	}
	return true
}

// KeysOf returns the values of filters as an index knows them.
func KeysOf(filters wire.Filters) (keys Keys) {
	for id, row := range &rows {
		for _, key := range row.Request(&filters).Keys() {
			if row.Normal != nil {
				key = row.Normal(key)
			}
			keys[id] = append(keys[id], key)
		}
	}
	return keys
}
