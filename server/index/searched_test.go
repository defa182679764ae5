package index

import (
	"slices"
	"testing"
)

func TestTitleField(t *testing.T) {
	for id, want := range map[string][]string{
		"slack:C1:7":                               {"Leave", "people", "leave"},
		"file:/home/jo/people/leave/FTTWA.md":      {"Leave", "people", "leave", "FTTWA"},
		"file:/w/people/leave/parental-leave_2.md": {"Leave", "people", "leave", "parental leave 2"},
		"file:/w/people/leave/index.md":            {"Leave", "people", "leave"},
		"file:/w/docs.zip!people/maternity.txt":    {"Leave", "people", "leave", "maternity"},
	} {
		d := Document{ID: id, Title: "Leave", Path: []string{"handbook", "people", "leave"}}
		if got := d.TitleField(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	d := Document{ID: "post:1", Title: "Leave is granted", Untitled: true, Path: []string{"people"}}
	if got := d.TitleField(); !slices.Equal(got, []string{"people"}) {
		t.Errorf("nobody gave the title: %q", got)
	}
}

func TestNames(t *testing.T) {
	for id, want := range map[string][]string{
		"slack:C1:7":                           {"Leave"},
		"file:/w/people/leave/FTTWA.md":        {"Leave", "FTTWA"},
		"file:/w/people/parental-leave/README": {"Leave", "parental leave"},
		"file:/w/docs.zip!time_off/index.md":   {"Leave", "time off"},
		"file:/w/docs.zip!index.md":            {"Leave", "."},
	} {
		d := Document{ID: id, Title: "Leave", Path: []string{"people", "leave"}}
		if got := d.Names(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestHeadingsField(t *testing.T) {
	d := Document{
		Metadata: []Field{{Key: "Keywords", Values: []string{"FTTWA", "leave"}}, {Key: "draft", Values: []string{"true"}}},
		Chunks:   []Chunk{{Headings: []string{"Leave"}}, {Headings: []string{"Leave", "Notice"}}},
	}
	for chunk, want := range [][]string{{"Leave", "FTTWA", "leave"}, {"Leave", "Notice"}} {
		if got := d.HeadingsField(chunk); !slices.Equal(got, want) {
			t.Errorf("chunk %d: %q, want %q", chunk, got, want)
		}
	}
}
