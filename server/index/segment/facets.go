package segment

import (
	"encoding/binary"
	"slices"
	"strings"

	"quarry/server/index"
)

// FacetField is a field whose values are counted.
type FacetField uint8

// The facet fields; the numbers are part of the format.
const (
	FacetSource FacetField = iota + 1
	FacetAuthor
	FacetType
	FacetSet
	FacetTag
	FacetMonth // "2026-03", or empty for a document without a date
)

// FacetValue is a value of a field; Key is set for tags.
type FacetValue struct {
	Field      FacetField
	Key, Value string
}

func (v FacetValue) encode() string {
	if v.Field == FacetTag {
		return string(byte(v.Field)) + TagKey(v.Key, v.Value)
	}
	return string(byte(v.Field)) + v.Value
}

func decodeValue(r *Reader, key []byte) (v FacetValue) {
	if len(key) == 0 {
		panic(r.damaged("a facet value is empty"))
	}
	v.Field, key = FacetField(key[0]), key[1:]
	if v.Field == FacetTag {
		length, rest := uvarint(r, key)
		if length > uint64(len(rest)) {
			panic(r.damaged("a tag is cut off"))
		}
		v.Key, key = string(rest[:length]), rest[length:]
	}
	v.Value = string(key)
	return v
}

// FilterKind is a kind of filter key.
type FilterKind uint8

// The kinds of filter keys; the numbers are part of the format.
const (
	FilterSource FilterKind = iota + 1
	FilterType
	FilterSet
	FilterTag    // the value is that of TagKey
	FilterAuthor // the value is one of AuthorKeys
	FilterAccess
	FilterHidden // the value is empty
)

func filterKey(kind FilterKind, value string) string { return string(byte(kind)) + value }

// TagKey is the filter value of a tag.
func TagKey(key, value string) string {
	return string(append(binary.AppendUvarint(nil, uint64(len(key))), key...)) + value
}

// AuthorKeys are what an author can be filtered by: the name, each word of it, the address and its part before the @, all
// in lower case.
func AuthorKeys(p index.Person) []string {
	name, email := AuthorKey(p.Name), AuthorKey(p.Email)
	keys := append([]string{name, email}, strings.Fields(name)...)
	if at := strings.IndexByte(email, '@'); at > 0 {
		keys = append(keys, email[:at])
	}
	return slices.DeleteFunc(keys, func(key string) bool { return key == "" })
}

// AuthorKey is the form in which names and addresses are compared.
func AuthorKey(text string) string { return strings.Join(strings.Fields(strings.ToLower(text)), " ") }

// Values are the facet values of a document, each once, sorted as the segment sorts them.
func Values(document *index.Document) []FacetValue {
	values := []FacetValue{{Field: FacetMonth, Value: Month(document)}}
	add := func(field FacetField, value string) {
		if value != "" {
			values = append(values, FacetValue{Field: field, Value: value})
		}
	}
	add(FacetSource, document.Source)
	add(FacetType, document.Type)
	for _, author := range document.Authors {
		add(FacetAuthor, author.Display())
	}
	for _, set := range document.Sets {
		add(FacetSet, set)
	}
	for _, field := range document.Metadata {
		for _, value := range field.Values {
			values = append(values, FacetValue{FacetTag, field.Key, value})
		}
	}
	slices.SortFunc(values, func(a, b FacetValue) int { return strings.Compare(a.encode(), b.encode()) })
	return slices.Compact(values)
}

// Month is when a document was updated, as "2026-03" in UTC; empty if it is undated.
func Month(document *index.Document) string {
	if document.UpdatedAt.IsZero() {
		return ""
	}
	return document.UpdatedAt.UTC().Format("2006-01")
}

// filterKeys are the filter keys of a document, each once, sorted.
func filterKeys(document *index.Document) []string {
	var keys []string
	add := func(kind FilterKind, values ...string) {
		for _, value := range values {
			keys = append(keys, filterKey(kind, value))
		}
	}
	add(FilterSource, document.Source)
	add(FilterType, document.Type)
	add(FilterSet, document.Sets...)
	add(FilterAccess, document.Access...)
	for _, field := range document.Metadata {
		for _, value := range field.Values {
			add(FilterTag, TagKey(field.Key, value))
		}
	}
	for _, author := range document.Authors {
		add(FilterAuthor, AuthorKeys(author)...)
	}
	if document.Hidden {
		add(FilterHidden, "")
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
