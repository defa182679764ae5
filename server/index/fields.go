package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"quarry/client/field"
)

// column is how documents have a field. Engines store its keys and values; the names and codes by which they do are theirs.
type column struct {
	// values returns what is counted.
	values func(*Document) []string
	// keys returns what a filter finds a document by, and key turns a filter's value into one of them; nil: the values.
	keys func(*Document) []string
	key  func(string) string
}

// columns has the only accessors of documents by field.
var columns = [field.N]column{
	field.Source: {values: func(d *Document) []string { return []string{d.Source} }},
	field.Set:    {values: func(d *Document) []string { return d.Sets }},
	field.Tag:    {values: tags},
	field.Author: {values: authorNames, keys: authorKeys, key: AuthorKey},
	field.Type:   {values: func(d *Document) []string { return []string{d.Type} }},
}

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

// ErrField: an engine was given a filter by a field that it does not store. Leaving the filter out would show more than was
// asked for.
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
