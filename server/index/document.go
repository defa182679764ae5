package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"quarry/client/field"
)

// Document is a document as it is stored: its text, its metadata, and who may see it.
type Document struct {
	ID       string
	Source   string // a value of DocumentSource
	Title    string
	Untitled bool     // nobody gave the title: it is made of the text or the id, to show it, and is not searched
	Path     []string // the last segments of its place (folders, breadcrumb), searched with the title
	// Names joined by '/', as field.JoinPlace does, from the short name of its root or its source down.
	Place     string
	Link      string
	Permalink string    // of the file as a colleague sees it, with FIRST and LAST for lines; empty: unknown
	Type      string    // "md", "pdf", "thread", …
	Language  string    // ISO 639-1, "und" if undetermined; set when the document is stored
	CreatedAt time.Time // zero: unknown
	UpdatedAt time.Time // zero: undated
	Authors   []Person
	Secondary int     // how many of the last authors are secondary owners
	Metadata  []Field // in the order in which they are shown
	Sets      []string
	Access    []string // access terms, such as "PUBLIC" or "user_email:jo@acme.example"
	Hidden    bool
	Origin    string // what it was read from (a file's absolute path); empty when it was posted
	Outline   []Heading
	Chunks    []Chunk
	Positions []Position // of the chunks in the source file; nil: unknown
}

// Position is where a chunk's text is in its file, without white space around it.
type Position struct {
	Start, End          int // bytes [Start, End)
	FirstLine, LastLine int // from 1, inclusive
}

// Person is an author or owner.
type Person struct{ Name, Email string }

// Display is the name, or the address where there is none.
func (p Person) Display() string {
	if p.Name != "" {
		return p.Name
	}
	return p.Email
}

// Field is one metadata key with its values. Every value is also a tag that can be filtered by.
type Field struct {
	Key    string
	Values []string
	List   bool // it was written as a list
}

// Column is how documents have a field, and how engines store it.
type Column struct {
	// Filter and Facet are the field's numbers in segments, 0 if those lack it. 6 and 7, and 6, are taken. They are
	// part of the format.
	Filter, Facet byte
	// Property has the keys in Weaviate, Counted the values where they differ; Single: each document has one. Empty:
	// objects lack the field.
	Property, Counted string
	Single            bool
	// values returns what is counted.
	values func(*Document) []string
	// keys returns what a filter finds a document by, and key turns a filter's value into one of them; nil: the values.
	keys func(*Document) []string
	key  func(string) string
}

// columns has the only accessors of documents by field.
var columns = [field.N]Column{
	field.Source: {Filter: 1, Facet: 1, Property: "source_type", Single: true,
		values: func(d *Document) []string { return []string{d.Source} }},
	field.Set: {Filter: 3, Facet: 4, Property: "document_sets", values: func(d *Document) []string { return d.Sets }},
	field.Tag: {Filter: 4, Facet: 5, Property: "tags", values: tags},
	field.Author: {Filter: 5, Facet: 2, Property: "author_keys", Counted: "authors", values: authorNames,
		keys: authorKeys, key: AuthorKey},
	field.Type: {Filter: 2, Facet: 3, Property: "type", Single: true,
		values: func(d *Document) []string { return []string{d.Type} }},
	field.Lang: {Filter: 8, Facet: 7, Property: "language", Single: true,
		values: func(d *Document) []string { return []string{d.Language} }},
	field.Place: {Filter: 9, Facet: 8, Property: "places",
		values: func(d *Document) []string { return field.PlacesTo(d.Place) }},
}

// ColumnOf returns the column of a field.
func ColumnOf(id field.ID) Column { return columns[id] }

// ValuesOf returns the values of a document that are counted; empty ones are none.
func ValuesOf(id field.ID, document *Document) []string {
	return slices.DeleteFunc(slices.Clone(columns[id].values(document)), func(value string) bool { return value == "" })
}

// KeysOf returns what a filter finds a document by. They may repeat.
func KeysOf(id field.ID, document *Document) []string {
	if keys := columns[id].keys; keys != nil {
		return keys(document)
	}
	return columns[id].values(document)
}

// KeyOf returns the key of a filter's value.
func KeyOf(id field.ID, value string) string {
	if key := columns[id].key; key != nil {
		return key(value)
	}
	return value
}

// ErrField: an engine was given a filter by a field that it does not store. Leaving the filter out would show more than
// was asked for.
var ErrField = errors.New("the search engine cannot filter by this field")

// Check returns ErrField if the filter names a field that an engine does not know.
func (f *Filter) Check(knows func(field.ID) bool) error {
	for id := range field.N {
		if len(f.Any[id])+len(f.None[id]) > 0 && !knows(id) {
			return fmt.Errorf("%w: %s", ErrField, field.Of(id).Name)
		}
	}
	return nil
}

func tags(d *Document) (pairs []string) {
	for _, f := range d.Metadata {
		for _, value := range f.Values {
			pairs = append(pairs, field.Pair(f.Key, value))
		}
	}
	return pairs
}

func authorNames(d *Document) (names []string) {
	for _, author := range d.Authors {
		names = append(names, author.Display())
	}
	return names
}

// PlaceInSource returns what the document's own metadata and link say of its place in its source.
func (d *Document) PlaceInSource() []string {
	metadata := make(map[string][]string, len(d.Metadata))
	for _, m := range d.Metadata {
		metadata[m.Key] = m.Values
	}
	return field.PlaceInSource(d.Source, d.Link, metadata)
}

// OwnPlace returns the place of a document that no root has: its source, and what it says itself; empty for others.
func (d *Document) OwnPlace() string {
	if d.Origin != "" && !strings.HasPrefix(d.Origin, "cc_pair:") { // the origin of connectors' documents
		return ""
	}
	return field.JoinPlace(append([]string{d.Source}, d.PlaceInSource()...)...)
}

// authorKeys are, of each author, the name, each word of it, the address and its part before the @.
func authorKeys(d *Document) (keys []string) {
	for _, author := range d.Authors {
		name, email := AuthorKey(author.Name), AuthorKey(author.Email)
		keys = append(append(keys, name, email), strings.Fields(name)...)
		if at := strings.IndexByte(email, '@'); at > 0 {
			keys = append(keys, email[:at])
		}
	}
	return slices.DeleteFunc(keys, func(key string) bool { return key == "" })
}

// AuthorKey is the form in which names and addresses are compared.
func AuthorKey(text string) string { return strings.Join(strings.Fields(strings.ToLower(text)), " ") }
