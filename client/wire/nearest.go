package wire

import (
	"strings"
	"unicode/utf8"
)

// Nearest finds the known value that a mistyped one most likely meant, by the number of letters that were added, left
// out, replaced or swapped. It gives "" when none is near: one mistake in short words, up to three in long ones.
func Nearest(value string, known []string) string {
	const longest = 100
	value = strings.ToLower(strings.TrimSpace(value))
	length := utf8.RuneCountInString(value)
	if length == 0 || length > longest {
		return ""
	}
	best, bound := "", min(3, max(1, (length+1)/3))
	for _, candidate := range known {
		lower := strings.ToLower(candidate)
		if lower == value {
			return candidate
		}
		difference := utf8.RuneCountInString(lower) - length
		if difference > bound || -difference > bound {
			continue
		}
		if d := EditDistance(value, lower); d <= bound && d < length {
			best, bound = candidate, d-1
		}
	}
	return best
}

// EditDistance returns how many letters must be inserted, removed, changed or swapped to make b of a, where no part is
// edited twice.
func EditDistance(x, y string) int {
	a, b := []rune(x), []rune(y)
	before := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	next := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
