package wire

import (
	"strconv"
	"strings"
)

// SplitRef splits a result's ref, "<document id>#<chunk>", at the last # that only digits follow. Without a chunk it
// returns the whole ref as the id, and false. Callers must first try the whole ref as an id: ids may end in # and a
// number too.
func SplitRef(ref string) (documentID string, chunk int, ok bool) {
	at := strings.LastIndexByte(ref, '#')
	number, err := strconv.ParseUint(ref[at+1:], 10, 30)
	if at < 0 || err != nil {
		return ref, 0, false
	}
	return ref[:at], int(number), at > 0
}

// SplitRange is SplitRef that also splits "<document id>#<first>-<last>".
func SplitRange(ref string) (documentID string, first, last int, ok bool) {
	if documentID, first, ok = SplitRef(ref); ok {
		return documentID, first, first, true
	}
	at := strings.LastIndexByte(ref, '-')
	if at < 0 {
		return ref, 0, 0, false
	}
	to, err := strconv.ParseUint(ref[at+1:], 10, 30)
	documentID, first, ok = SplitRef(ref[:at])
	return documentID, first, int(to), ok && err == nil && first <= int(to)
}
