package cli

import (
	"strings"
	"testing"

	"quarry/config"
)

func TestEmptyValuesAreRefused(t *testing.T) {
	s := newOnyx(t)
	for _, arguments := range [][]string{
		{"search", "x", "--library", ""}, {"search", "x", "--profile", " "}, {"search", "x", "--server", ""},
		{"search", "x", "--since", ""}, {"search", "x", "--until", ""}, {"search", "x", "--agent", ""},
		{"search", "x", "--document-set", ""}, {"search", "x", "--document-set", "a", "--document-set", ""},
		{"search", "x", "--tag", ""}, {"x", "--until="}, {"status", "--library="}, {"add", "/tmp", "--as", ""},
		{"remove", "--set", ""}, {"remove", "/tmp", "--source", ""}, {"read", "x", "--from", ""},
		{"remove", ""}, {"remove", "/tmp", " "}, {"add", ""}, {"sync", ""}, {"read", ""}, {"serve", "--http", ""},
	} {
		run(t, testDoors(s.URL), terminal{}, arguments...).check(t, ExitUsage).twoLines(t, "empty")
	}
	run(t, testDoors(s.URL), terminal{}, "search", "x", "--source", "").check(t, ExitSuccess)
	if _, filtered := s.asked(t)["sources"]; filtered {
		t.Error("--source \"\" is a filter")
	}
}

func TestWarningsOfTheConfiguration(t *testing.T) {
	s := newOnyx(t)
	doors := testDoors(s.URL)
	doors.warnings = []config.Warning{{Text: "config.yaml is open to others", Remedy: "chmod 600 it"}}
	for _, arguments := range [][]string{{"search", "x"}, {"agents"}, {"validate-config"}, {"version"}, {"sources", "--json"}} {
		got := run(t, doors, terminal{}, arguments...).check(t, ExitSuccess)
		if strings.Count(got.err, "note: config.yaml is open to others") != 1 {
			t.Errorf("%v: stderr %q", arguments, got.err)
		}
	}
	for _, arguments := range [][]string{{"search", "x", "--quiet"}, {"help", "search"}, {"completion", "bash"}, {"search", "--help"}} {
		if got := run(t, doors, terminal{}, arguments...).check(t, ExitSuccess); strings.Contains(got.err, "open to others") {
			t.Errorf("%v: stderr %q", arguments, got.err)
		}
	}
}
