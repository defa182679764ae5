package field

import (
	"slices"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
)

// Values is the list of a field in one of the wire's structs.
type Values interface {
	Len() int
	// Texts returns the values as the query language writes them.
	Texts() []string
	// Keys returns the values as an index knows them.
	Keys() []string
	// Add appends what people wrote. It adds nothing and returns false if the field cannot have one of the values.
	Add(texts ...string) bool
	// Put appends keys unchanged.
	Put(keys ...string)
	Clear()
	// Join appends the values of another list of the field that are not there yet.
	Join(from Values)
}

// list is a list of values of a type.
type list[T comparable] struct {
	at        *[]T
	read      func(text string) (T, bool)
	text, key func(T) string
	of        func(key string) T
}

func texts(at *[]string, read func(string) (string, bool)) Values {
	same := func(text string) string { return text }
	return list[string]{at, read, same, same, same}
}

func pairs(at *[]wire.Tag) Values {
	return list[wire.Tag]{at, readTag,
		func(t wire.Tag) string { return t.Key + "=" + t.Value },
		func(t wire.Tag) string { return Pair(t.Key, t.Value) },
		func(key string) (t wire.Tag) {
			t.Key, t.Value = CutPair(key)
			return t
		}}
}

func (l list[T]) Len() int           { return len(*l.at) }
func (l list[T]) Texts() []string    { return exslices.CastFunc(*l.at, l.text) }
func (l list[T]) Keys() []string     { return exslices.CastFunc(*l.at, l.key) }
func (l list[T]) Put(keys ...string) { *l.at = append(*l.at, exslices.CastFunc(keys, l.of)...) }
func (l list[T]) Clear()             { *l.at = nil }

func (l list[T]) Add(texts ...string) bool {
	values := *l.at
	for _, text := range texts {
		value, ok := l.read(text)
		if !ok {
			return false
		}
		values = append(values, value)
	}
	*l.at = values
	return true
}

func (l list[T]) Join(from Values) {
	*l.at = exslices.DeduplicateUnsorted(slices.Concat(*l.at, *from.(list[T]).at))
}

// pairSeparator ends the key of a pair. Being the lowest character it keeps pairs in the order of their keys.
const pairSeparator = "\x00"

// Pair returns the key of a tag in an index.
func Pair(key, value string) string {
	return strings.ReplaceAll(key, pairSeparator, "\uFFFD") + pairSeparator + value
}

// CutPair takes apart what Pair returned.
func CutPair(pair string) (key, value string) {
	key, value, _ = strings.Cut(pair, pairSeparator)
	return key, value
}

// Counts is the list of a field in wire.Facets.
type Counts interface {
	// Values returns the counts by text. A value that the query language cannot write is empty.
	Values() []wire.FacetValue
	// Put appends the count of a key.
	Put(key string, count int)
}

// counts is a list of counted values.
type counts[T any] struct {
	at    *[]T
	read  func(T) wire.FacetValue
	write func(key string, count int) T
}

func (c counts[T]) Values() []wire.FacetValue { return exslices.CastFunc(*c.at, c.read) }
func (c counts[T]) Put(key string, count int) { *c.at = append(*c.at, c.write(key, count)) }

func valueCounts(at *[]wire.FacetValue) Counts {
	return counts[wire.FacetValue]{at, func(v wire.FacetValue) wire.FacetValue { return v },
		func(key string, count int) wire.FacetValue { return wire.FacetValue{Value: key, Count: count} }}
}

func tagCounts(at *[]wire.FacetTag) Counts {
	return counts[wire.FacetTag]{at,
		func(t wire.FacetTag) wire.FacetValue {
			return wire.FacetValue{Value: TagText(t.Key, t.Value), Count: t.Count}
		},
		func(key string, count int) wire.FacetTag {
			name, value := CutPair(key)
			return wire.FacetTag{Key: name, Value: value, Count: count}
		}}
}

// TagText writes a tag as the query language does; empty for a key with an equals sign, which it cannot write.
func TagText(key, value string) string {
	if strings.Contains(key, "=") {
		return ""
	}
	return key + "=" + value
}

func tagsOf(result *wire.SearchResult) (tags []string) {
	for key, metadata := range result.Metadata {
		for _, value := range metadata.Values {
			tags = append(tags, TagText(key, value))
		}
	}
	return tags
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func last(values []string) string { return first(values[max(0, len(values)-1):]) }

func readText(text string) (string, bool) { return text, true }

func readTag(text string) (wire.Tag, bool) {
	key, value, ok := strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	return wire.Tag{Key: key, Value: value}, ok && key != "" && value != ""
}

// readLower reads a value that has no capitals: the code of a language, a media type, or an extension with or without
// its dot.
func readLower(text string) (string, bool) {
	text = strings.ToLower(strings.TrimLeft(text, "."))
	return text, text != ""
}

// languageName returns the code of a language for display: "und", the code of a text in none that is clear, is no word.
func languageName(code string) string {
	if code == "und" {
		return "unknown"
	}
	return code
}

// readSource returns the source with a value or display name, however its words are joined; other text is lower-cased.
func readSource(text string) (string, bool) {
	value := strings.ToLower(text)
	for _, written := range []string{value, strings.NewReplacer(" ", "_", "-", "_").Replace(value)} {
		if _, known := wire.LookupSource(written); known {
			return written, true
		}
	}
	for _, source := range wire.Sources() {
		if strings.EqualFold(source.Name, text) && !source.Internal {
			return source.Value, true
		}
	}
	return value, true
}

// isPartOfName reports whether a filter is an author's name or a word of it, in any case.
func isPartOfName(author, filter string) bool {
	return strings.EqualFold(author, filter) ||
		slices.ContainsFunc(strings.Fields(author), func(word string) bool { return strings.EqualFold(word, filter) })
}

// normalType returns the document type that a filter means by an extension or a media type.
func normalType(text string) string {
	text = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), ".")
	if extension, ok := mediaTypes[text]; ok {
		return extension
	}
	return text
}

// mediaTypes maps media types to document types.
var mediaTypes = map[string]string{
	"application/pdf": "pdf", "text/markdown": "md", "text/html": "html", "text/plain": "txt", "text/csv": "csv",
	"message/rfc822": "eml", "application/json": "json", "application/epub+zip": "epub", "text/calendar": "ics",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "docx",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "xlsx",
	"application/vnd.oasis.opendocument.text":                                   "odt",
}
