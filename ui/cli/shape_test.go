package cli

import (
	"net/http"
	"strings"
	"testing"
)

func TestShapes(t *testing.T) {
	s := newOnyx(t)
	s.on("/search", body(http.StatusOK, fixture(t, "../quarry-search.json")))
	tests := []struct {
		name      string
		arguments []string
		want      string
	}{
		{"jq", []string{"search", "x", "--jq", ".results[].title"}, "Runbook: rolling back a release\nnotes.md\n"},
		{"jq makes JSON", []string{"search", "x", "--jq", ".results[0].metadata"}, `{"labels":["ops","release"],"space":"PLAT"}` + "\n"},
		{"jq without output", []string{"search", "x", "--jq", "empty"}, ""},
		{"jq sees no environment", []string{"search", "x", "--jq", "$ENV|length"}, "0\n"},
		{"jq of a list", []string{"agents", "--jq", ".[0].id"}, "0\n"},
		{"jq of lines", []string{"search", "x", "--format", "ndjson", "--jq", ".type"}, "result\nresult\nsummary\n"},
		{"fields", []string{"search", "x", "--fields", "title,citation_id"},
			`{"results":[{"title":"Runbook: rolling back a release","citation_id":1},{"title":"notes.md","citation_id":2}],"searched":["work","local"]`},
		{"fields of --explain", []string{"search", "x", "--fields", "blurb"}, `{"results":[{"blurb":"Roll back when"},{"blurb":"Nothing"}]`},
		{"fields of several", []string{"search", "a b", "c d", "--fields", "title"}, `{"searches":[{"query":"a b","results":[{"title":"Runbook`},
		{"fields of lines", []string{"search", "x", "--format", "ndjson", "--fields", "title"}, `{"type":"result","title":"Runbook: rolling back a release"}` + "\n"},
		{"fields of a list", []string{"document-sets", "--fields", "name,documents"}, `[{"name":"Engineering handbook","documents":null}]` + "\n"},
		{"fields of an object", []string{"version", "--fields", "client_version"}, `{"client_version":"1.2.3"}` + "\n"},
		{"fields and jq", []string{"search", "x", "--fields", "title", "--jq", ".results[0]|keys"}, `["title"]` + "\n"},
		{"template", []string{"search", "x", "--template", `{{range .results}}{{.citation_id}} {{truncate 8 .title}} {{timeago .updated_at}}|{{end}}`},
			"1 Runbook:… 2 days ago|2 notes.md |"},
		{"template functions", []string{"search", "x", "--template",
			`{{join "+" (pluck "title" .results)}} {{timefmt "Jan 2006" (index .results 0).updated_at}} {{json .searched}}`},
			`Runbook: rolling back a release+notes.md Aug 2026 ["work","local"]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := run(t, testDoors(s.URL), terminal{}, test.arguments...).check(t, ExitSuccess)
			if test.want == "" && got.out != "" || !strings.HasPrefix(got.out, test.want) {
				t.Errorf("stdout %s", got.out)
			}
		})
	}
}

func TestWrongShapes(t *testing.T) {
	s := newOnyx(t)
	for says, arguments := range map[string][]string{
		"--jq: unexpected":                  {"search", "x", "--jq", ".results["},
		"function not defined":              {"search", "x", "--jq", "nope"},
		"cannot iterate":                    {"search", "x", "--jq", ".results[].title[]"},
		"unclosed action":                   {"search", "x", "--template", "{{.results"},
		`function "nope" not defined`:       {"search", "x", "--template", "{{nope}}"},
		`Did you mean "title"?`:             {"search", "x", "--fields", "titel"},
		"--jq and --template exclude":       {"search", "x", "--jq", ".", "--template", "x"},
		"--jq and --format md exclude":      {"search", "x", "--jq", ".", "--format", "md"},
		"--template requires JSON":          {"completion", "bash", "--template", "x"},
		"--fields works on results":         {"ask", "x", "--fields", "type"},
		"--fields and --format tsv exclude": {"search", "x", "--fields", "title", "--format", "tsv"},
	} {
		run(t, testDoors(s.URL), terminal{}, arguments...).check(t, ExitUsage).twoLines(t, says)
	}
	run(t, guestDoors(t, s.URL), terminal{}, "search", "x", "--jq", ".").check(t, ExitUsage).twoLines(t, "--jq is not available over SSH", "jq EXPRESSION")
	run(t, guestDoors(t, s.URL), terminal{}, "search", "x", "--template", ".").check(t, ExitUsage).twoLines(t, "--template is not available over SSH")
	run(t, guestDoors(t, s.URL), terminal{}, "search", "x", "--fields", "title").check(t, ExitSuccess)
}

// An expression that never ends is stopped by --timeout, and one that prints too much by its size.
func TestEndlessShapes(t *testing.T) {
	s := newOnyx(t)
	run(t, testDoors(s.URL), terminal{}, "search", "x", "--timeout", "1s", "--jq", "def f: f; f").check(t, ExitTimeout)
	run(t, testDoors(s.URL), terminal{}, "search", "x", "--jq", `range(1e9)|"`+strings.Repeat("x", 1<<20)+`"`).check(t, ExitUsage).twoLines(t, "larger than 67 MB")
}
