package client

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
)

// SourceName returns the display name of a source type; an unknown value is title-cased.
func SourceName(value string) string {
	value = strings.TrimPrefix(value, "federated_")
	if source, ok := wire.LookupSource(value); ok {
		return source.Name
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) })
	for i, word := range words {
		first, width := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToTitle(first)) + word[width:]
	}
	return strings.Join(words, " ")
}

// SourceDescription describes a source type in a few words; empty for an unknown one.
func SourceDescription(value string) string {
	source, _ := wire.LookupSource(strings.TrimPrefix(value, "federated_"))
	return source.Description
}

// SplitRef splits a result's ref, "<document id>#<chunk>", at the last # that only digits follow. Without a chunk it
// returns the whole ref as the id, and false. Callers must first try the whole ref as an id: ids may end in # and a
// number too.
func SplitRef(ref string) (documentID string, chunk int, ok bool) {
	at := strings.LastIndexByte(ref, '#')
	if at < 0 || at == len(ref)-1 {
		return ref, 0, false
	}
	const most = 1 << 30
	for _, digit := range []byte(ref[at+1:]) {
		if digit < '0' || digit > '9' || chunk > most/10 {
			return ref, 0, false
		}
		chunk = chunk*10 + int(digit-'0')
	}
	return ref[:at], chunk, at > 0
}
