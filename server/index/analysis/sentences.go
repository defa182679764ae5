package analysis

import "github.com/clipperhouse/uax29/v2/sentences"

// Sentences returns the byte ranges of the sentences of text (UAX #29, and at line breaks), which cover it entirely.
func Sentences(text string) [][2]int {
	var ranges [][2]int
	for it := sentences.FromString(text); it.Next(); {
		ranges = append(ranges, [2]int{it.Start(), it.End()})
	}
	return ranges
}
