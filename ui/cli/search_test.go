package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"quarry/ui/target"
)

func TestSearchSendsWhatTheFlagsSay(t *testing.T) {
	history := filepath.Join(t.TempDir(), "history.json")
	if err := os.WriteFile(history, []byte(`[{"message":"hello","message_type":"user"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name      string
		arguments []string
		want      string // JSON of the fields beside the query
	}{
		{"nothing", nil, `{"query":"deploy"}`},
		{"sources", []string{"--source", "slack, Google Drive"}, `{"query":"deploy","sources":["slack","google_drive"]}`},
		{"empty source", []string{"--source", ""}, `{"query":"deploy"}`},
		{"days", []string{"--days", "2"}, `{"query":"deploy","time_cutoff":"2026-08-20T12:00:00Z"}`},
		{"since and until", []string{"--since", "2026-01-01", "--until", "2026-01-31"},
			`{"query":"deploy","time_cutoff":"2026-01-01T00:00:00Z","time_until":"2026-01-31T23:59:59.999999Z"}`},
		{"agent zero is sent", []string{"--agent-id", "0"}, `{"query":"deploy","persona_id":0}`},
		{"agent by name", []string{"--agent", "eng"}, `{"query":"deploy","persona_id":7}`},
		{"set", []string{"--document-set", "Engineering handbook"}, `{"query":"deploy","document_sets":["Engineering handbook"]}`},
		{"tag", []string{"--tag", "team=infra"}, `{"query":"deploy","tags":[{"tag_key":"team","tag_value":"infra"}]}`},
		{"skips", []string{"--no-query-expansion", "--no-document-selection"},
			`{"query":"deploy","skip_query_expansion":true,"skip_document_selection":true}`},
		{"limit", []string{"--limit", "3", "--explain"}, `{"query":"deploy","num_results":3,"explain":true}`},
		{"history", []string{"--history", history},
			`{"query":"deploy","message_history":[{"message":"hello","message_type":"user"},{"message":"deploy","message_type":"user"}]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newOnyx(t)
			run(t, testDoors(s.URL), terminal{}, append([]string{"search", "deploy"}, test.arguments...)...).check(t, ExitSuccess)
			got, err := json.Marshal(s.asked(t))
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if wanted, _ := json.Marshal(want); string(got) != string(wanted) {
				t.Errorf("sent %s\nwant %s", got, wanted)
			}
		})
	}
}

func TestFiltersOfQueryAndFlagsAddUp(t *testing.T) {
	s := newOnyx(t)
	got := run(t, testDoors(s.URL), terminal{}, "search", "deploy source:github since:2026-01-01 agent:Assistant",
		"--source", "slack,github", "--since", "2026-02-01", "--agent-id", "7").check(t, ExitSuccess)
	asked := s.asked(t)
	if asked["query"] != "deploy" || asked["time_cutoff"] != "2026-02-01T00:00:00Z" || asked["persona_id"] != 7.0 {
		t.Errorf("sent %v", asked)
	}
	if sources, _ := json.Marshal(asked["sources"]); string(sources) != `["github","slack"]` {
		t.Errorf("sources %s", sources)
	}
	for _, note := range []string{"overrides since: in the query", `overrides agent:"Assistant"`} {
		if !strings.Contains(got.err, note) {
			t.Errorf("stderr lacks %q:\n%s", note, got.err)
		}
	}
}

func TestProfileAgent(t *testing.T) {
	s := newOnyx(t)
	doors := testDoors(s.URL)
	decide := doors.decide
	for _, test := range []struct {
		agent int
		want  any
	}{{7, 7.0}, {0, nil}} {
		s.searches = nil
		doors.decide = func(w target.Request) (target.Choice, error) {
			choice, err := decide(w)
			choice.Agent.ID = &test.agent
			return choice, err
		}
		run(t, doors, terminal{}, "search", "deploy").check(t, ExitSuccess)
		if got := s.asked(t)["persona_id"]; got != test.want {
			t.Errorf("agent %d of the profile: sent %v", test.agent, got)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	s := newOnyx(t)
	long := strings.Repeat("x", 2049)
	tests := []struct {
		name      string
		arguments []string
		says      string
	}{
		{"unknown flag", []string{"search", "x", "--nope"}, "--nope"},
		{"flag without value", []string{"search", "x", "--days"}, "--days"},
		{"no query", []string{"search"}, "missing argument QUERY"},
		{"empty query", []string{"search", "  "}, "empty"},
		{"empty bare query", []string{""}, "empty"},
		{"too long", []string{"search", long}, "2048"},
		{"binary", []string{"search", "a\xff\xfe"}, "not valid UTF-8"},
		{"four queries", []string{"search", "a", "b", "c", "d"}, "the limit is 3"},
		{"filters without words", []string{"search", "source:slack since:2026-01-01"}, "cannot list documents without a query"},
		{"excluded words alone", []string{"search", "--", "-slack"}, "only excludes words"},
		{"sort", []string{"search", "x", "--sort", "newst"}, `"newest"`},
		{"offset", []string{"search", "x", "--offset", "-1"}, "--offset"},
		{"exclusions without words", []string{"search", "-- -draft"}, ""},
		{"days zero", []string{"search", "x", "--days", "0"}, "--days 0"},
		{"days many", []string{"search", "x", "--days", "36501"}, "--days"},
		{"days and since", []string{"search", "x", "--days", "1", "--since", "2026-01-01"}, "exclude"},
		{"impossible date", []string{"search", "x", "--since", "2026-02-30"}, "2026-02-30"},
		{"number as date", []string{"search", "x", "--until", "7"}, "--until"},
		{"dates the wrong way", []string{"search", "x", "--since", "2026-02-02", "--until", "2026-01-01"}, "is after the end date"},
		{"dates of flag and query", []string{"search", "x until:2026-01-01", "--since", "2026-02-02"}, "is after the end date"},
		{"limit", []string{"search", "x", "--limit", "101"}, "--limit"},
		{"limit zero", []string{"search", "x", "--limit", "0"}, "--limit"},
		{"tag", []string{"search", "x", "--tag", "infra"}, `--tag "infra" is not key=value`},
		{"example of a tag", []string{"search", "x", "--tag", "infra"}, "Example: --tag team=infra. See: quarry tags"},
		{"format", []string{"search", "x", "--format", "jason"}, "jason"},
		{"format and json", []string{"search", "x", "--json", "--format", "md"}, "exclude"},
		{"raw and format", []string{"search", "x", "--raw", "--format", "tsv"}, "--raw"},
		{"agents", []string{"search", "x", "--agent", "Eng", "--agent-id", "7"}, "exclude"},
		{"agent id", []string{"search", "x", "--agent-id", "-1"}, "--agent-id"},
		{"unknown agent", []string{"search", "x", "--agent", "Engg"}, `"Eng"`},
		{"unknown source", []string{"search", "x", "--source", "slak"}, `Did you mean "slack"? See: quarry sources`},
		{"filter as a flag", []string{"search", "alarm", "-source:slack"}, "-- 'WORDS -source:slack'"},
		{"filter as a flag without a command", []string{"alarm", "-type:md", "loud"}, `"-type:md" is read as a flag`},
		{"filter that cannot exclude", []string{"ask", "alarm", "-since:2026"}, `"-since:2026" is read as a flag`},
		{"unknown set", []string{"search", "x", "--document-set", "Engineering handbok"}, "Engineering handbook"},
		{"unknown tag", []string{"search", "x", "--tag", "team=infro"}, "team=infra"},
		{"history missing", []string{"search", "x", "--history", "/does/not/exist"}, "--history"},
		{"history of another shape", []string{"search", "x", "--history", filepath.Join("testdata", "history-object.json")}, "is not a JSON list of messages"},
		{"connector without a source", []string{"admin", "connector", "add", "Wiki"}, "missing flag --source"},
		{"max-output", []string{"search", "x", "--max-output", "-5"}, "--max-output"},
		{"timeout", []string{"search", "x", "--timeout", "0s"}, "--timeout"},
		{"two targets", []string{"search", "x", "--sample", "--server", "https://x.example"}, "exclude"},
		{"near a command", []string{"serach"}, `"search"`},
		{"near a command, alone", []string{"statsu"}, `"status"`},
		{"argument of a listing", []string{"sources", "x"}, `"x"`},
		{"read nothing", []string{"read"}, "missing argument REF"},
		{"read around", []string{"read", "x#1", "--around", "100"}, "--around"},
		{"read citation", []string{"read", "--from", "-", "x"}, "citation"},
		{"add nothing", []string{"add"}, "missing argument PATH"},
		{"add missing path", []string{"add", "/does/not/exist"}, "/does/not/exist"},
		{"add as unknown", []string{"add", ".", "--as", "slak"}, `"slack"`},
		{"add as internal", []string{"add", ".", "--as", "craft_file"}, "craft_file"},
		{"add to a server", []string{"add", ".", "--server", "https://x.example"}, "only on a local library"},
		{"remove nothing", []string{"remove"}, "missing argument PATH|ID"},
		{"serve nothing", []string{"serve"}, "missing flag --http or --ssh"},
		{"serve no sessions", []string{"serve", "--ssh", ":0", "--ssh-sessions", "0"}, "--ssh-sessions 0: must be greater than 0"},
		{"serve no time", []string{"serve", "--ssh", ":0", "--ssh-idle", "0s"}, "which means: end idle sessions after this DURATION"},
		{"serve less than no time", []string{"serve", "--ssh", ":0", "--ssh-total", "-1h"}, "--ssh-total -1h0m0s: must be greater than 0"},
		{"add of another kind", []string{"add", "ftp://x/y"}, "http:// or https://"},
		{"migrate to nothing", []string{"migrate"}, "missing flag --to"},
		{"serve a word", []string{"serve", "--http", "a:b:c"}, "not an address"},
		{"token without name", []string{"admin", "token", "add"}, "missing argument NAME"},
		{"token expiry", []string{"admin", "token", "add", "--name", "x", "--expires", "0"}, "--expires"},
		{"token of nobody", []string{"admin", "token", "add", "--name", "x", "--user", "jo"}, "email"},
		{"token", []string{"admin", "token", "remove"}, "missing argument NAME|ID"},
		{"group", []string{"admin", "tokn"}, "token"},
		{"completion", []string{"completion", "fihs"}, "fish"},
		{"configure without a terminal", []string{"configure"}, "terminal"},
		{"help of nothing", []string{"help", "nope"}, "nope"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run(t, testDoors(s.URL), terminal{}, test.arguments...).check(t, ExitUsage).twoLines(t, test.says)
		})
	}
}

// Flags are read first, then the configuration, then values.
func TestOrderOfChecks(t *testing.T) {
	doors := failing(errNotConfigured)
	run(t, doors, terminal{}, "search", "x", "--nope").check(t, ExitUsage)
	run(t, doors, terminal{}, "search", "x", "--days", "many").check(t, ExitUsage)
	for _, arguments := range [][]string{
		{"search"}, {"search", "x", "--days", "0"}, {"search", "x", "--format", "nope"}, {"read"}, {"sources", "x"}, {"x", "y"},
	} {
		run(t, doors, terminal{}, arguments...).check(t, ExitNotConfigured).twoLines(t, "no server is configured", "Set ONYX_PAT")
	}
}

func TestWhoDecides(t *testing.T) {
	listings := []string{"/manage/connector-status", "/federated", "/manage/indexed-sources", "/query/valid-tags",
		"/persona", "/manage/document-set"}
	refused := func(s *fakeServer) {
		for _, route := range listings {
			s.on(route, body(http.StatusForbidden, fixture(t, "error-403-scope.json")))
		}
	}
	t.Run("without a list the server decides", func(t *testing.T) {
		s := newOnyx(t)
		refused(s)
		got := run(t, testDoors(s.URL), terminal{}, "search", "x", "--source", "brand_new", "--document-set", "Secret",
			"--tag", "a=b").check(t, ExitSuccess)
		if got.err != "" {
			t.Errorf("refused listings are quiet: %s", got.err)
		}
		if sources, _ := json.Marshal(s.asked(t)["sources"]); string(sources) != `["brand_new"]` {
			t.Errorf("sent %s", sources)
		}
	})
	t.Run("a name of an agent needs a list", func(t *testing.T) {
		s := newOnyx(t)
		refused(s)
		run(t, testDoors(s.URL), terminal{}, "search", "x", "--agent", "Eng").check(t, ExitAuth).twoLines(t, "--agent-id")
	})
	t.Run("known but unlisted runs and says so", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/search", body(http.StatusOK, fixture(t, "search-empty.json")))
		got := run(t, testDoors(s.URL), terminal{}, "search", "x", "--source", "jira").check(t, ExitSuccess)
		if !strings.Contains(got.out, `"source_empty"`) || !strings.Contains(got.out, "jira is not connected") {
			t.Errorf("stdout: %s", got.out)
		}
	})
	t.Run("a federated source is listed", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/manage/connector-status", body(http.StatusOK, []byte(`[]`)))
		got := run(t, testDoors(s.URL), terminal{}, "search", "x", "--source", "slack").check(t, ExitSuccess)
		if strings.Contains(got.out, "not connected") {
			t.Errorf("stdout: %s", got.out)
		}
	})
	t.Run("the workspace's list is next", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/manage/connector-status", body(http.StatusForbidden, fixture(t, "error-403-scope.json")))
		got := run(t, testDoors(s.URL), terminal{}, "sources").check(t, ExitSuccess)
		if !strings.Contains(got.out, `"listed_by":"workspace"`) {
			t.Errorf("stdout: %s", got.out)
		}
	})
	t.Run("sources without any list are those that exist", func(t *testing.T) {
		s := newOnyx(t)
		refused(s)
		got := run(t, testDoors(s.URL), terminal{}, "sources").check(t, ExitSuccess)
		if !strings.Contains(got.out, `"listed_by":"known"`) || strings.Contains(got.out, "craft_file") {
			t.Errorf("stdout: %s", got.out)
		}
		if !strings.Contains(got.err, "the token cannot list sources: these are the sources that quarry knows, connected or not") {
			t.Errorf("stderr: %s", got.err)
		}
	})
}

func TestSeveralQueries(t *testing.T) {
	t.Run("all", func(t *testing.T) {
		s := newOnyx(t)
		got := run(t, testDoors(s.URL), terminal{}, "search", "first", "second").check(t, ExitSuccess)
		var answer struct {
			Searches []struct {
				Query   string
				Results []any
			}
			Searched []string
		}
		if err := json.Unmarshal([]byte(got.out), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Searches) != 2 || answer.Searches[0].Query != "first" || len(answer.Searches[1].Results) != 4 ||
			len(answer.Searched) != 1 {
			t.Errorf("answer: %+v", answer)
		}
		if !strings.Contains(got.err, `"first second"`) {
			t.Errorf("one-word arguments are noted: %s", got.err)
		}
	})
	t.Run("one fails", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/search", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(queryHeader) == "bad query" {
				body(http.StatusInternalServerError, fixture(t, "error-500.json"))(w, r)
				return
			}
			body(http.StatusOK, fixture(t, "search-empty.json"))(w, r)
		})
		got := run(t, testDoors(s.URL), terminal{in: "good query\nbad query\n"}, "search", "-").check(t, ExitSuccess)
		golden.RequireEqual(t, got.out)
		if !strings.Contains(got.err, "empty answer") {
			t.Errorf("stderr: %s", got.err)
		}
	})
	t.Run("all fail", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/search", body(http.StatusInternalServerError, fixture(t, "error-500.json")))
		got := run(t, testDoors(s.URL), terminal{}, "search", "first query", "second query").check(t, ExitServer)
		got.twoLines(t, "second query", "empty answer")
	})
	t.Run("from standard input", func(t *testing.T) {
		s := newOnyx(t)
		got := run(t, testDoors(s.URL), terminal{in: "one\n\ntwo\nthree\n"}, "search", "-").check(t, ExitSuccess)
		if strings.Count(got.out, `"query"`) != 3 {
			t.Errorf("stdout: %s", got.out)
		}
		run(t, testDoors(s.URL), terminal{in: strings.Repeat("one\n", 101)}, "search", "-").check(t, ExitUsage)
		run(t, testDoors(s.URL), terminal{in: strings.Repeat("x", 1<<20)}, "search", "-").check(t, ExitUsage)
		run(t, testDoors(s.URL), terminal{in: ""}, "search", "-").check(t, ExitUsage)
		run(t, testDoors(s.URL), terminal{in: "x"}, "search", "-", "-").check(t, ExitUsage)
	})
}

func TestFormats(t *testing.T) {
	s := newOnyx(t)
	for _, format := range searchFormats() {
		t.Run(format, func(t *testing.T) {
			got := run(t, testDoors(s.URL), terminal{}, "search", "roll back", "--format", format).check(t, ExitSuccess)
			golden.RequireEqual(t, got.out)
		})
	}
	t.Run("raw", func(t *testing.T) {
		got := run(t, testDoors(s.URL), terminal{}, "search", "roll back", "--raw", "--max-output", "10").check(t, ExitSuccess)
		golden.RequireEqual(t, got.out)
	})
	t.Run("raw several", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/search", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(queryHeader) == "bad query" {
				body(http.StatusInternalServerError, fixture(t, "error-500.json"))(w, r)
				return
			}
			body(http.StatusOK, fixture(t, "search-empty.json"))(w, r)
		})
		got := run(t, testDoors(s.URL), terminal{}, "search", "good query", "bad query", "--raw").check(t, ExitSuccess)
		golden.RequireEqual(t, got.out)
	})
	t.Run("text several", func(t *testing.T) {
		got := run(t, testDoors(s.URL), terminal{}, "search", "roll back", "incidents", "--format", "text").check(t, ExitSuccess)
		golden.RequireEqual(t, got.out)
	})
	t.Run("several", func(t *testing.T) {
		got := run(t, testDoors(s.URL), terminal{}, "search", "roll back", "data migrations", "--format", "md").check(t, ExitSuccess)
		golden.RequireEqual(t, got.out)
	})
}

func TestTextOnTerminals(t *testing.T) {
	s := newOnyx(t)
	for _, test := range []struct {
		name   string
		screen terminal
	}{
		{"40", terminal{tty: true, width: 40}},
		{"80", terminal{tty: true, width: 80}},
		{"120", terminal{tty: true, width: 120}},
		{"1", terminal{tty: true, width: 1}},
		{"mono", terminal{tty: true, width: 80, env: []string{"TERM=xterm", "NO_COLOR=1"}}},
		{"dumb", terminal{tty: true, width: 80, env: []string{"TERM=dumb"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := run(t, testDoors(s.URL), test.screen, "search", "roll back ロールバック").check(t, ExitSuccess)
			golden.RequireEqual(t, got.out)
			if test.name == "dumb" && strings.Contains(got.out+got.err, "\x1b") {
				t.Error("a dumb terminal got an escape sequence")
			}
		})
	}
}

func TestQuarryServerTellsMore(t *testing.T) {
	s := newOnyx(t)
	s.on("/search", body(http.StatusOK, fixture(t, "../quarry-search.json")))
	for name, arguments := range map[string][]string{
		"json": {"--json"}, "explain": {"--json", "--explain"}, "text": {"--format", "text"}, "md": {"--format", "md"},
		"explained text": {"--format", "text", "--explain"}, "tsv": {"--format", "tsv"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, testDoors(s.URL), terminal{width: 80}, append([]string{"search", "roll back"}, arguments...)...).check(t, ExitSuccess)
			golden.RequireEqual(t, got.out)
		})
	}
}

func TestHostileResultsStayText(t *testing.T) {
	s := newOnyx(t)
	s.on("/search", body(http.StatusOK, fixture(t, "search-hostile.json")))
	for _, tty := range []bool{false, true} {
		for _, format := range append(searchFormats(), "raw") {
			arguments := []string{"search", "gone", "--format", format}
			if format == "raw" {
				arguments = []string{"search", "gone", "--raw"}
			}
			got := run(t, testDoors(s.URL), terminal{tty: tty, width: 80}, arguments...).check(t, ExitSuccess)
			if !tty && strings.Contains(got.out, "\x1b") {
				t.Errorf("%s: an escape sequence without a terminal: %q", format, got.out)
			}
			for _, bad := range []string{"\x1b]", "\x1b[2J", "\x1b[H", "\x07", "\r", "\u202e", "\x00", "52;c"} {
				if strings.Contains(got.out, bad) {
					t.Errorf("%s (terminal %v) lets %q through: %q", format, tty, bad, got.out)
				}
			}
		}
	}
}

func TestHostileArgumentsStayText(t *testing.T) {
	s := newOnyx(t)
	got := run(t, testDoors(s.URL), terminal{}, "search", "x", "--source", "\x1b]0;owned\x07")
	if strings.Contains(got.err, "\x1b") || strings.Contains(got.err, "\x07") {
		t.Errorf("stderr: %q", got.err)
	}
}

func TestNoResults(t *testing.T) {
	s := newOnyx(t)
	s.on("/search", body(http.StatusOK, fixture(t, "search-empty.json")))
	got := run(t, testDoors(s.URL), terminal{}, "search", "nothing").check(t, ExitSuccess)
	if !strings.Contains(got.out, `"results":[]`) {
		t.Errorf("stdout: %s", got.out)
	}
	got = run(t, testDoors(s.URL), terminal{tty: true, width: 80}, "search", "nothing").check(t, ExitSuccess)
	if got.out != "" || !strings.Contains(got.err, "No results") {
		t.Errorf("stdout %q, stderr %q", got.out, got.err)
	}
}

// Lines without a query take no memory beyond that of the text.
func TestEmptyQueriesOfStandardInput(t *testing.T) {
	lines := strings.Repeat("\n", 800_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	queries := readQueries(strings.NewReader(lines + " deploy \r\n\nroll back"))
	runtime.ReadMemStats(&after)
	if !slices.Equal(queries, []string{"deploy", "roll back"}) {
		t.Errorf("%q", queries)
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 8*uint64(len(lines)) {
		t.Errorf("%d bytes for %d lines", bytes, len(lines))
	}
}
