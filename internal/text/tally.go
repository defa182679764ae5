package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ByCount returns what was counted, the most frequent first.
func ByCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
}

// Tally returns the sum of counts, and a list of them: "60 .svg, 22 .png, 3 other kinds", the most frequent first.
func Tally(counts map[string]int) (total int, list string) {
	const most = 8
	names := ByCount(counts)
	var parts []string
	for i, name := range names {
		total += counts[name]
		if i < most || len(names) == most+1 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
		}
	}
	if others := len(names) - len(parts); others > 0 {
		parts = append(parts, fmt.Sprintf("%d other kinds", others))
	}
	return total, strings.Join(parts, ", ")
}
