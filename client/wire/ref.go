package wire

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

// ShortestID is how many characters of the hash of its id name a document, unless another one shares them.
const ShortestID = 8

// MessageScheme begins what a message without an address is cited by: mid:ID, which mail programs open (RFC 2392).
const MessageScheme = "mid:"

// hashSize is how many bytes of a SHA-256 HashID writes, as 16 characters.
const hashSize = 10

// HashID returns what the short refs of a document begin with, whose id is as others than the owner see it.
func HashID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:hashSize]))
}

// SplitShort splits what may be a short ref or its beginning, "<beginning of a hash>[#<chunk>]", before the #.
func SplitShort(ref string) (hash, rest string, ok bool) {
	hash, _, _ = strings.Cut(ref, "#")
	rest, hash = ref[len(hash):], strings.ToLower(hash)
	return hash, rest, len(hash) >= ShortestID && len(hash) <= hashSize*8/5 &&
		strings.Trim(hash, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

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

// ShortestRef returns the short ref, or the other one where that is shorter or the only one.
func (r *SearchResult) ShortestRef() string {
	if r.ShortRef != "" && len(r.ShortRef) < len(r.Ref) {
		return r.ShortRef
	}
	return r.Ref
}

// Agent refers to an agent by number, or else by name. The zero value is none.
type Agent struct {
	ID   *int
	Name string
}

// IsZero reports whether no agent is named.
func (a Agent) IsZero() bool { return a.ID == nil && a.Name == "" }

// String returns the agent's name or number; "" for none.
func (a Agent) String() string {
	if a.ID != nil {
		return strconv.Itoa(*a.ID)
	}
	return a.Name
}
