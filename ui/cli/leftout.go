package cli

import (
	"fmt"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
)

// leftOutText is "not read: 12 ignored files, 2 ignored folders, 1 link in the folder"; empty for nothing.
func leftOutText(left wire.LeftOut) string {
	var parts []string
	for _, part := range []struct {
		count int
		what  string
	}{
		{left.IgnoredFiles, "ignored file"}, {left.IgnoredFolders, "ignored folder"}, {left.HiddenFiles, "hidden file"},
		{left.HiddenFolders, "hidden folder"}, {left.Links, "link"}, {left.Parts, "damaged part"},
		{left.Secret, "secret"}, {left.Generated, "generated file"},
	} {
		if part.count > 0 {
			parts = append(parts, text.Count(part.count, part.what))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "not read: " + strings.Join(parts, ", ")
}

// dryRunText is what a dry run prints: its counts by format, and in all.
func (p *progress) dryRunText(done wire.LibraryEvent) string {
	t := table{header: []string{"FORMAT", "ADD", "UPDATE", "REMOVE", "UNCHANGED", "SKIPPED FILES"}, style: p.app.style,
		width: p.app.io.columns()}
	for _, f := range p.formats {
		counts := []int{f.Added, f.Updated, f.Removed, f.Unchanged, f.Skipped}
		t.rows = append(t.rows, append([]string{printable(f.Kind)}, exslices.CastFunc(counts, text.Number)...))
	}
	out := ""
	if len(t.rows) > 0 {
		out = t.String() + "\n"
	}
	return out + fmt.Sprintf("%s Nothing was stored (dry run).\n", done.Outcome("to add", "to update", "to remove"))
}
