package wire

import (
	"strings"
	"unicode/utf8"

	"quarry/internal/text"
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
		if d := text.EditDistance(value, lower); d <= bound && d < length {
			best, bound = candidate, d-1
		}
	}
	return best
}
