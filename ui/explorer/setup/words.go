package setup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
)

// counts is "120 of 456 files".
func counts(event wire.LibraryEvent) string {
	if event.Total > 0 {
		return fmt.Sprintf("%d of %s", event.Done, text.Count(event.Total, "file"))
	}
	return text.Count(event.Done, "file")
}

// pace is "40 files/s · 12.3 MB · 3 skipped".
func (f *folder) pace() string {
	var parts []string
	if f.rate > 0 {
		parts = append(parts, fmt.Sprintf("%.0f files/s", f.rate))
	}
	parts = append(parts, text.Size(f.progress.Bytes))
	if f.skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", f.skipped))
	}
	return strings.Join(parts, " · ")
}

// skipLines says what was skipped and why: kinds of files in one line, then file by file, the latest first. Paths are
// relative to the folder and cut to their end in lines of width columns; 0 leaves them whole.
func (w *Wizard) skipLines(width int) []string {
	f := &w.folder
	var lines []string
	if kinds := kindsText(f.kinds); kinds != "" {
		lines = append(lines, kinds)
	}
	for _, skip := range slices.Backward(f.skips) {
		path, reason := oneLine(within(f.path, skip.Path)), ": "+oneLine(skip.Reason)
		if width > 0 {
			path = tail(path, max(leastPath, width-paint.Width("skipped "+reason)))
		}
		lines = append(lines, "skipped "+path+reason)
	}
	rest := f.skipped - len(f.skips)
	for _, n := range f.kinds {
		rest -= n
	}
	if rest > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", rest))
	}
	return lines
}

// leastPath is how many columns of a path are kept before a long reason.
const leastPath = 20

// within returns a path relative to a folder.
func within(folder, path string) string {
	if rest, found := strings.CutPrefix(path, strings.TrimRight(folder, `/\`)); found {
		if inner := strings.TrimLeft(rest, `/\`); inner != "" && inner != rest {
			return inner
		}
	}
	return path
}

// kindsText is "82 skipped, of kinds that are not read: 60 .svg, 22 .png", the most frequent first.
func kindsText(kinds map[string]int) string {
	const most = 8
	total := 0
	for _, n := range kinds {
		total += n
	}
	if total == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(most, len(names))] {
		parts = append(parts, fmt.Sprintf("%d %s", kinds[name], name))
	}
	if len(names) > most {
		parts = append(parts, "…")
	}
	return fmt.Sprintf("%d skipped (unsupported types): %s", total, strings.Join(parts, ", "))
}

// doneText is "300 documents added, 2 updated, 5 unchanged; 12 files skipped."
func doneText(done wire.LibraryEvent) string {
	var parts []string
	add := func(n int, what string) {
		switch {
		case n > 0 && len(parts) == 0:
			parts = append(parts, text.Count(n, "document")+" "+what)
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(done.Added, "added")
	add(done.Updated, "updated")
	add(done.Removed, "removed")
	add(done.Unchanged, "unchanged")
	said := cmp.Or(strings.Join(parts, ", "), "No readable files found")
	if done.Skipped > 0 {
		said += "; " + text.Count(done.Skipped, "file") + " skipped"
	}
	return said + "."
}

func stoppedText(last wire.LibraryEvent) string {
	if last.Stored == 0 {
		return "Stopped before anything was stored."
	}
	return fmt.Sprintf("Stopped. %s stored so far; open the folder again to continue.",
		text.Count(last.Stored, "file"))
}
