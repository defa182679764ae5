package ingest

import (
	"strings"

	"quarry/client/wire"
)

func lookupSource(value string) (known bool, near string) {
	if s, ok := wire.LookupSource(value); ok && !s.Internal {
		return true, value
	}
	var values []string
	for _, s := range wire.Sources() {
		if !s.Internal {
			values = append(values, s.Value)
		}
	}
	return false, nearest(value, values)
}

// nearest is the candidate that takes the fewest edits to become value, ignoring case; empty without candidates. Equal
// ones are decided by their order.
func nearest(value string, candidates []string) string {
	const longest = 200
	value = strings.ToLower(clip(value, longest))
	best, bestEdits := "", -1
	for _, candidate := range candidates {
		c := strings.ToLower(clip(candidate, longest))
		if gap := len(c) - len(value); bestEdits >= 0 && (gap >= bestEdits || -gap >= bestEdits) {
			continue
		}
		if edits := editDistance(value, c); bestEdits < 0 || edits < bestEdits {
			best, bestEdits = candidate, edits
		}
	}
	return best
}

// editDistance is the number of bytes to insert, delete or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
