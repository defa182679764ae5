package segment

import (
	"encoding/binary"
	"slices"
	"strings"

	"quarry/client/field"
	"quarry/server/index"
)

// FacetField is a field whose values are counted.
type FacetField uint8

// FacetMonth are the values "2026-03", or empty for a document without a date. The number is part of the format.
const FacetMonth FacetField = 6

// FilterKind is a kind of filter key.
type FilterKind uint8

// The kinds of filter keys beside those of fields; the numbers are part of the format.
const (
	FilterAccess FilterKind = 6
	FilterHidden FilterKind = 7  // the value is empty
	FilterSpoken FilterKind = 10 // the language of a chunk, if it is not the document's
)

// Knows reports whether segments have a field.
func Knows(id field.ID) bool { return FilterOf(id) > 0 }

// FacetOf returns the facet of a field.
func FacetOf(id field.ID) FacetField { return FacetField(index.ColumnOf(id).Facet) }

// FilterOf returns the kind of a field's filter keys.
func FilterOf(id field.ID) FilterKind { return FilterKind(index.ColumnOf(id).Filter) }

// FacetValue is a value of a field.
type FacetValue struct {
	Field FacetField
	Value string
}

func (v FacetValue) encode() string {
	if v.Field == FacetOf(field.Tag) {
		return string(byte(v.Field)) + packPair(v.Value)
	}
	return string(byte(v.Field)) + v.Value
}

func decodeValue(r *Reader, key []byte) (v FacetValue) {
	r.require(len(key) > 0, "a facet value is empty")
	v.Field, key = FacetField(key[0]), key[1:]
	if v.Value = string(key); v.Field == FacetOf(field.Tag) {
		length, rest := uvarint(r, key)
		r.require(length <= uint64(len(rest)), "a tag is cut off")
		v.Value = field.Pair(string(rest[:length]), string(rest[length:]))
	}
	return v
}

func filterKey(kind FilterKind, value string) string { return string(byte(kind)) + value }

// fieldKey is the filter key of a field's key.
func fieldKey(id field.ID, key string) string {
	if id == field.Tag {
		key = packPair(key)
	}
	return filterKey(FilterOf(id), key)
}

// packPair returns the stored form of a pair: the length of its key comes before it.
func packPair(pair string) string {
	key, value := field.CutPair(pair)
	return string(append(binary.AppendUvarint(nil, uint64(len(key))), key...)) + value
}

// Values are the facet values of a document, each once, sorted as the segment sorts them.
func Values(document *index.Document) []FacetValue {
	values := []FacetValue{{FacetMonth, Month(document)}}
	for id := range field.N {
		for _, value := range index.ValuesOf(id, document) {
			values = append(values, FacetValue{FacetOf(id), value})
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

// filterKeys are the filter keys of a document, whose chunks are in languages, each once, sorted.
func filterKeys(document *index.Document, languages []string) []string {
	var keys []string
	for id := range field.N {
		for _, key := range index.KeysOf(id, document) {
			keys = append(keys, fieldKey(id, key))
		}
	}
	for _, term := range document.Access {
		keys = append(keys, filterKey(FilterAccess, term))
	}
	for _, spoken := range languages {
		if spoken != document.Language {
			keys = append(keys, filterKey(FilterSpoken, spoken))
		}
	}
	if document.Hidden {
		keys = append(keys, filterKey(FilterHidden, ""))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
