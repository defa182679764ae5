package ingest

import (
	"testing"
	"time"

	"quarry/server/index"
)

// A document lives below the name of its root: in the folders of a file, in what a reader says of a container, in what a line
// says of itself, in a section of a site.
func TestPlacesOfDocuments(t *testing.T) {
	t.Parallel()
	archive, _ := formatOf("x.zip")
	archive.container = &slackExport
	folder := statedInfo{moment: time.Now()}
	for name, test := range map[string]struct {
		file foundFile
		doc  index.Document
		want string
	}{
		"a file":              {foundFile{name: "people/leave/rules.md"}, index.Document{Place: "old/place"}, "handbook/people/leave"},
		"at the top":          {foundFile{name: "rules.md"}, index.Document{}, "handbook"},
		"the root":            {foundFile{}, index.Document{}, "handbook"},
		"a channel":           {foundFile{name: "exports/acme.zip", format: archive, info: folder}, index.Document{Place: "#deploys"}, "handbook/exports/acme/#deploys"},
		"an export as a root": {foundFile{format: archive, info: folder}, index.Document{Place: "Space/Run%2Fbooks"}, "handbook/Space/Run%2Fbooks"},
		"a line": {foundFile{name: "dumps/all.jsonl", format: format{lines: true}}, index.Document{Source: "slack",
			Metadata: []index.Field{{Key: "Channel", Values: []string{"ops"}}}}, "handbook/dumps/#ops"},
		"a page": {foundFile{name: "x", remote: &remoteFile{}}, index.Document{Link: "https://acme.example/docs/ops/a.html"}, "handbook/docs/ops"},
		"piped":  {foundFile{name: "x", remote: &remoteFile{}}, index.Document{}, "handbook"},
	} {
		at := &task{file: test.file, target: &target{state: rootState{Name: "handbook"}}}
		if got := at.place(&test.doc); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
