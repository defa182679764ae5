package ingest

import (
	"cmp"
	"os"
	"strings"
	"testing"
)

// TestEachReaderIsListed compares the table of readers in docs/security.md with the formats and containers: each has a row,
// which says in which process it is read.
func TestEachReaderIsListed(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	must(t, err)
	_, table, _ := strings.Cut(string(page), "\n| reader | where |")
	where := func(reader string) (found string) {
		for line := range strings.Lines(table) {
			if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(strings.ToLower(cells[1]), strings.ToLower(reader)) {
				return strings.TrimSpace(cells[2])
			}
		}
		return ""
	}
	names := map[string]string{"md": "Markdown", "txt": "plain text", ".rst": "reStructuredText", ".org": "Org,", "adoc": "AsciiDoc", "log": "logs",
		".tsv": "CSV", "ipynb": "notebooks", "ics": "calendars", "vcf": "contacts", "eml": "mail ", "odt": "OpenDocument", "ods": "OpenDocument",
		"odp": "OpenDocument"}
	for _, f := range formats {
		for _, extension := range strings.Fields(f.extensions) {
			reader := cmp.Or(names[cmp.Or(f.name, extension)], f.name, strings.TrimPrefix(extension, "."))
			if f.name == "" && f.here && names[extension] == "" && extension != ".csv" {
				reader = "code"
			}
			want := "worker"
			if f.here {
				want = "here"
			}
			if got := where(reader); !strings.HasPrefix(got, want) {
				t.Errorf("%s (%s) is read in %q, want %q", extension, reader, got, want)
			}
		}
	}
	for _, c := range containers {
		name, _, _ := strings.Cut(strings.TrimPrefix(c.kind, "Google "), " ")
		name = cmp.Or(map[string]string{"Gmail": "mbox", "mailbox": "mbox"}[name], name)
		if where(name) == "" {
			t.Errorf("%s has no row", c.kind)
		}
	}
}
