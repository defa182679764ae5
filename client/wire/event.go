package wire

import (
	"cmp"
	"fmt"
	"strings"

	"quarry/internal/text"
)

// Fraction returns how much of the work is done, from 0 to 1: by bytes, or by files where there is nothing to read or
// the sizes are not known.
func (e LibraryEvent) Fraction() float64 {
	switch {
	case e.TotalBytes > 0:
		return min(1, float64(e.Bytes)/float64(e.TotalBytes))
	case e.Total > 0:
		return min(1, float64(e.Done)/float64(e.Total))
	}
	return 0
}

// Counts returns what is done of the work: "120 of 456 files", or "indexing 120 of 456 changes".
func (e LibraryEvent) Counts() string {
	switch {
	case e.Type == LibraryIndexing:
		return fmt.Sprintf("indexing %s of %s", text.Number(e.Done), text.Count(e.Total, "change"))
	case e.Total > 0:
		return fmt.Sprintf("%s of %s", text.Number(e.Done), text.Count(e.Total, "file"))
	}
	return text.Count(e.Done, "file")
}

// Sizes returns how much was read: "12 MB of 120 MB", or "12 MB" where the whole is not known.
func (e LibraryEvent) Sizes() string {
	if e.TotalBytes > e.Bytes {
		return text.Size(e.Bytes) + " of " + text.Size(e.TotalBytes)
	}
	return text.Size(e.Bytes)
}

// Outcome returns what changed, in these words: "Documents: 3 added, 1 updated, 5 unchanged. 1 file skipped."
func (e LibraryEvent) Outcome(added, updated, removed string) string {
	var parts []string
	for i, count := range []int{e.Added, e.Updated, e.Removed, e.Unchanged, e.Repaired, e.Damaged} {
		if count > 0 {
			what := []string{added, updated, removed, "unchanged", "repaired", "damaged"}[i]
			parts = append(parts, text.Number(count)+" "+what)
		}
	}
	line := "Documents: " + cmp.Or(strings.Join(parts, ", "), "nothing changed") + "."
	if e.Skipped > 0 {
		line += " " + text.Count(e.Skipped, "file") + " skipped."
	}
	return line
}
