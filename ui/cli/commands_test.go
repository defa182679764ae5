package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/exp/golden"
	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/config"
	"quarry/ui/target"
)

// Every command says the same things about itself: purpose, limits, output, flags, exit codes, examples.
func TestHelp(t *testing.T) {
	a := &app{io: IO{Out: io.Discard, Err: io.Discard}, out: &gate{to: io.Discard}, err: &gate{to: io.Discard}}
	var visit func(command *cobra.Command)
	visit = func(command *cobra.Command) {
		if command.Hidden {
			return
		}
		path := strings.Fields(command.CommandPath())
		t.Run(strings.Join(path, "_"), func(t *testing.T) {
			got := run(t, failing(errNotConfigured), terminal{}, append(path[1:], "--help")...).check(t, ExitSuccess)
			for _, section := range []string{"Usage:", "Purpose:", "When not to use it:", "Output:", "Global flags:", "Exit codes:", "Examples:"} {
				if !strings.Contains(got.out, "\n"+section+"\n") {
					t.Errorf("no section %q", section)
				}
			}
			if examples := strings.Split(got.out, "\nExamples:\n")[1]; strings.Count(examples, "\n") != 2 {
				t.Errorf("examples: %q", examples)
			}
			golden.RequireEqual(t, got.out)
		})
		for _, child := range command.Commands() {
			visit(child)
		}
	}
	visit(a.root())
}

func TestHelpCommand(t *testing.T) {
	byFlag := run(t, failing(errNotConfigured), terminal{}, "search", "--help").check(t, ExitSuccess)
	byCommand := run(t, failing(errNotConfigured), terminal{}, "help", "search").check(t, ExitSuccess)
	if byFlag.out != byCommand.out {
		t.Error("quarry help search and quarry search --help differ")
	}
	group := run(t, failing(errNotConfigured), terminal{}, "admin", "token").check(t, ExitSuccess)
	if !strings.Contains(group.out, "Revoke an access token") {
		t.Errorf("stdout: %s", group.out)
	}
}

func TestListings(t *testing.T) {
	s := newOnyx(t)
	for _, command := range []string{"sources", "agents", "document-sets", "tags"} {
		t.Run(command+" json", func(t *testing.T) {
			golden.RequireEqual(t, run(t, testDoors(s.URL), terminal{}, command).check(t, ExitSuccess).out)
		})
		t.Run(command+" table", func(t *testing.T) {
			golden.RequireEqual(t, run(t, testDoors(s.URL), terminal{tty: true, width: 60}, command).check(t, ExitSuccess).out)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		for route, empty := range map[string]string{"/persona": "[]", "/manage/document-set": "[]", "/query/valid-tags": `{"tags":[]}`,
			"/manage/connector-status": "[]", "/federated": "[]"} {
			s.on(route, body(http.StatusOK, []byte(empty)))
		}
		for _, command := range []string{"sources", "agents", "document-sets", "tags"} {
			if got := run(t, testDoors(s.URL), terminal{}, command).check(t, ExitSuccess); got.out != "[]\n" {
				t.Errorf("%s printed %q", command, got.out)
			}
			if got := run(t, testDoors(s.URL), terminal{tty: true}, command).check(t, ExitSuccess); got.out != "" || got.err == "" {
				t.Errorf("%s on a terminal: %q %q", command, got.out, got.err)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		for route, command := range map[string]string{"/persona": "agents", "/manage/document-set": "document-sets", "/query/valid-tags": "tags"} {
			s.on(route, body(http.StatusForbidden, fixture(t, "error-403-scope.json")))
			run(t, testDoors(s.URL), terminal{}, command).check(t, ExitAuth).twoLines(t, "scope")
		}
	})
}

func TestListingsWithCounts(t *testing.T) {
	s := newOnyx(t)
	s.on("/version", body(http.StatusOK, []byte(`{"backend_version":"4.2.0","quarry":{"version":"1.0.0","api":1,"features":["facets"]}}`)))
	s.on("/search/facets", body(http.StatusOK, []byte(`{"facets":{"sources":[{"value":"slack","count":12}],"authors":[],"types":[],"document_sets":[{"value":"Engineering handbook","count":5}],"tags":[{"key":"team","value":"infra","count":3}],"months":[],"undated":0},"total_matches":20}`)))
	for _, command := range []string{"sources", "document-sets", "tags"} {
		t.Run(command, func(t *testing.T) {
			got := run(t, testDoors(s.URL), terminal{tty: true, width: 80}, command).check(t, ExitSuccess)
			golden.RequireEqual(t, got.out)
			if as := run(t, testDoors(s.URL), terminal{}, command).check(t, ExitSuccess); !strings.Contains(as.out, `"documents":`) {
				t.Errorf("stdout: %s", as.out)
			}
		})
	}
}

// Document sets of files have the sources of their documents.
func TestSourcesOfDocumentSets(t *testing.T) {
	s := newOnyx(t)
	s.on("/version", body(http.StatusOK, []byte(`{"backend_version":"4.2.0","quarry":{"version":"1.0.0","api":1,"features":["facets"]}}`)))
	s.on("/manage/document-set", body(http.StatusOK, []byte(`[{"id":1,"name":"Policies","description":"","cc_pair_summaries":[],"is_public":true}]`)))
	s.on("/search/facets", func(w http.ResponseWriter, r *http.Request) {
		sources := `[{"value":"notion","count":4},{"value":"web","count":1},{"value":"slack","count":9}]`
		if r.URL.Query().Get("document_sets") == "Policies" {
			sources = `[{"value":"notion","count":4},{"value":"web","count":1}]`
		}
		body(http.StatusOK, []byte(`{"facets":{"sources":`+sources+`,"document_sets":[{"value":"Policies","count":5}]},"total_matches":5}`))(w, r)
	})
	got := run(t, testDoors(s.URL), terminal{}, "document-sets").check(t, ExitSuccess)
	if !strings.Contains(got.out, `"sources":["notion","web"]`) {
		t.Errorf("stdout %s", got.out)
	}
}

// Authors and types that no document has are refused where the server counts, as sources, sets and tags are.
func TestUnknownAuthorsAndTypes(t *testing.T) {
	s := newOnyx(t)
	run(t, testDoors(s.URL), terminal{}, "search", "x author:nobody").check(t, ExitSuccess) // nothing counts there
	s.on("/version", body(http.StatusOK, []byte(`{"backend_version":"4.2.0","quarry":{"version":"1.0.0","api":1,"features":["facets","authors","document_types","places"]}}`)))
	s.on("/search/facets", func(w http.ResponseWriter, r *http.Request) {
		query, total, place := r.URL.Query(), 9, map[string]string{"/": "slack", "/slack": "slack/#deploys"}[r.URL.Query().Get("facet_place")]
		author, kind := query.Get("authors"), query.Get("document_types")
		if author != "" && author != "kim" || kind != "" && kind != "pdf" || query.Has("places") {
			total = 0
		}
		places := "[]"
		if place != "" {
			places = `[{"value":"` + place + `","count":9}]`
		}
		body(http.StatusOK, fmt.Appendf(nil, `{"facets":{"authors":[{"value":"Kim Wieczorek","count":3}],"types":[{"value":"pdf","count":9}],
			"places":%s},"total_matches":%d}`, places, total))(w, r)
	})
	for query, says := range map[string]string{
		"x in:#deplys":       `Did you mean "#deploys"?`,
		"x author:wieczorec": `Did you mean "Wieczorek"?`, "x -author:nobody": `unknown author "nobody"`, "x author:kim type:pfd": `Did you mean "pdf"?`,
		"-type:docx x": `unknown document type "docx"`,
	} {
		run(t, testDoors(s.URL), terminal{}, "search", "--", query).check(t, ExitUsage).twoLines(t, says)
	}
	run(t, testDoors(s.URL), terminal{}, "search", "x author:kim type:pdf").check(t, ExitSuccess)
}

func TestCutListing(t *testing.T) {
	s := newOnyx(t)
	got := run(t, testDoors(s.URL), terminal{dir: t.TempDir()}, "sources", "--max-output", "500").check(t, ExitSuccess)
	var list []any
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) == 0 || len(list) > 3 || len(got.out) > 500 {
		t.Errorf("%d rows, %v:\n%s", len(list), err, got.out)
	}
	if !strings.Contains(got.err, "response truncated") {
		t.Errorf("stderr: %s", got.err)
	}
}

func TestVersion(t *testing.T) {
	s := newOnyx(t)
	doors := testDoors(s.URL)
	doors.Commit = "0123456789abcdef"
	expect := func(t *testing.T, doors testMachine, server string) {
		t.Helper()
		for _, arguments := range [][]string{{"version"}, {"--version"}, {"-v"}} {
			got := run(t, doors, terminal{}, arguments...).check(t, ExitSuccess)
			if want := "Client version: 1.2.3 (0123456)\nServer version: " + server + "\n"; got.out != want {
				t.Errorf("%v printed %q, want %q", arguments, got.out, want)
			}
		}
	}
	expect(t, doors, "4.2.0")
	s.on("/version", body(http.StatusOK, []byte(`{"backend_version":"2.9.1"}`)))
	expect(t, doors, "2.9.1")
	if got := run(t, doors, terminal{}, "version"); !strings.Contains(got.err, "older than 3.0") {
		t.Errorf("stderr: %s", got.err)
	}
	s.on("/version", body(http.StatusOK, []byte(`{}`)))
	expect(t, doors, "unknown (empty response)")
	s.on("/version", body(http.StatusInternalServerError, nil))
	expect(t, doors, "unknown (could not reach server)")
	lost := failing(errNotConfigured)
	lost.Commit = doors.Commit
	expect(t, lost, "unknown (not configured)")
}

func TestOlderThan(t *testing.T) {
	for version, want := range map[string]bool{"2.9.1": true, "v2.0": true, "3.0.0": false, "10.1": false, "Development": false, "": false} {
		if got := olderThan(version, 3); got != want {
			t.Errorf("olderThan(%q) = %v", version, got)
		}
	}
}

func TestValidateConfig(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fakeServer, *testMachine)
		code   int
		failed string
	}{
		{"ok", func(s *fakeServer, _ *testMachine) {
			s.on("/search", body(422, fixture(t, "error-422-source.json")))
		}, ExitSuccess, ""},
		{"not configured", func(_ *fakeServer, d *testMachine) { d.decide = failing(errNotConfigured).decide }, ExitNotConfigured, "config"},
		{"cannot open", func(_ *fakeServer, d *testMachine) {
			d.open = func(context.Context, target.Choice) (*client.Session, error) { return nil, errNotConfigured }
		}, ExitNotConfigured, "server"},
		{"blocked", func(s *fakeServer, _ *testMachine) { s.on("/", body(403, []byte("<html>Forbidden</html>"))) }, ExitAuth, "reachable"},
		{"not there", func(s *fakeServer, _ *testMachine) { s.Close() }, ExitUnreachable, "reachable"},
		{"bad token", func(s *fakeServer, _ *testMachine) { s.on("/me", body(403, fixture(t, "error-403-me.json"))) }, ExitAuth, "identity"},
		{"anonymous", func(s *fakeServer, _ *testMachine) { s.on("/me", body(200, fixture(t, "me-anonymous.json"))) }, ExitAuth, "identity"},
		{"no search for this token", func(s *fakeServer, _ *testMachine) { s.on("/search", body(403, fixture(t, "error-403-scope.json"))) }, ExitAuth, "search"},
		{"too old", func(s *fakeServer, _ *testMachine) { s.on("/search", body(404, []byte(`{"detail":"Not Found"}`))) }, ExitNotAvailable, "search"},
		{"no index", func(s *fakeServer, _ *testMachine) { s.on("/search", body(501, fixture(t, "error-501.json"))) }, ExitServer, "search"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newOnyx(t)
			doors := testDoors(s.URL)
			test.change(s, &doors)
			got := run(t, doors, terminal{}, "validate-config", "--json").check(t, test.code)
			var report struct {
				OK       bool `json:"ok"`
				ExitCode int  `json:"exit_code"`
				Steps    []jsonStep
			}
			if err := json.Unmarshal([]byte(got.out), &report); err != nil {
				t.Fatal(err)
			}
			if report.OK != (test.code == 0) || report.ExitCode != test.code || len(report.Steps) != 7 {
				t.Errorf("report %+v", report)
			}
			for _, step := range report.Steps {
				if (step.Outcome == stepFailed) != (step.Name == test.failed) {
					t.Errorf("step %+v", step)
				}
			}
			if test.code != 0 && !strings.Contains(got.err, "connection check failed: ") {
				t.Errorf("stderr: %s", got.err)
			}
		})
	}
	t.Run("text", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/search", body(422, fixture(t, "error-422-source.json")))
		s.on("/version", body(200, []byte(`{"backend_version":"2.0.0"}`)))
		golden.RequireEqual(t, run(t, testDoors(s.URL), terminal{}, "validate-config").check(t, ExitSuccess).out)
	})
	t.Run("library", func(t *testing.T) { // which needs no identity
		s := newOnyx(t)
		s.on("/search", body(422, fixture(t, "error-422-source.json")))
		s.on("/version", body(200, []byte(`{"backend_version":"4.2.0","quarry":{"version":"1.2.3"}}`)))
		doors := testDoors(s.URL)
		doors.decide = func(target.Request) (target.Choice, error) {
			return target.Choice{Kind: target.KindSample, Rule: target.RuleFlag, Reason: "--sample selects the sample library"}, nil
		}
		golden.RequireEqual(t, run(t, doors, terminal{}, "validate-config").check(t, ExitSuccess).out)
	})
}

func TestTokens(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	got := run(t, doors, terminal{}, "admin", "token", "add", "--name", "ci", "--scope", "read:search", "--expires", "30", "--json").check(t, ExitSuccess)
	golden.RequireEqual(t, got.out)
	onScreen := run(t, doors, terminal{tty: true, width: 80}, "admin", "token", "add", "--name", "ci").check(t, ExitSuccess)
	if onScreen.out != "onyx_pat_abcdefgh\n" || !strings.Contains(onScreen.err, "shown only once") {
		t.Errorf("stdout %q, stderr %q", onScreen.out, onScreen.err)
	}
	if list := run(t, doors, terminal{}, "admin", "token", "list").check(t, ExitSuccess); list.out != "[]\n" {
		t.Errorf("list printed %q", list.out)
	}
	run(t, doors, terminal{}, "admin", "token", "remove", "3").check(t, ExitSuccess)
	if last := doors.admin.asked[len(doors.admin.asked)-1]; last != "DELETE /user/pats/3" {
		t.Errorf("asked %v", doors.admin.asked)
	}
}

func TestTokensOfAServer(t *testing.T) {
	s := newOnyx(t)
	s.on("/user/pats", body(http.StatusOK, []byte(`[{"id":1,"name":"laptop","token_display":"onyx_pat_abc****wxyz","created_at":"2026-08-01T00:00:00Z","expires_at":null,"last_used_at":null,"scopes":null}]`)))
	got := run(t, testDoors(s.URL), terminal{tty: true, width: 120}, "admin", "token", "list", "--profile", "work").check(t, ExitSuccess)
	golden.RequireEqual(t, got.out)
	s.on("/user/pats/1", body(http.StatusOK, []byte(`{"message":"Token deleted successfully"}`)))
	run(t, testDoors(s.URL), terminal{}, "admin", "token", "remove", "1", "--profile", "work").check(t, ExitSuccess)
	run(t, testDoors(s.URL), terminal{}, "admin", "token", "remove", "2", "--profile", "work").check(t, ExitNotAvailable)
	run(t, testDoors(s.URL), terminal{}, "admin", "token", "add", "--name", "x", "--user", "jo@acme.example", "--profile", "work").
		check(t, ExitUsage).twoLines(t, "only for the caller")
}

func TestServe(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	doors.Serve = func(ctx context.Context, options target.ServeOptions) error {
		options.Listening(target.Listening{Address: options.HTTP})
		<-ctx.Done()
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	errs := &watcher{want: "Create the first one", seen: make(chan struct{})}
	go func() {
		<-errs.seen
		cancel()
	}()
	var out strings.Builder
	code := Run(ctx, IO{In: strings.NewReader(""), Out: &out, Err: errs, Now: today}, []string{"serve", "--http", "127.0.0.1:8080", "--library", "/srv/my lib"}, doors.Program)
	if code != ExitSuccess || out.String() != "" || !strings.Contains(errs.text.String(), "http://127.0.0.1:8080") ||
		!strings.Contains(errs.text.String(), "--library '/srv/my lib'") || strings.Contains(errs.text.String(), "onyx_pat") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out.String(), errs.text.String())
	}
}

func TestConfigure(t *testing.T) {
	configure := func(t *testing.T, doors testMachine, in string, secrets ...string) (result, []config.NewProfile) {
		t.Helper()
		var saved []config.NewProfile
		doors.save = func(_ context.Context, profile config.NewProfile) (config.Saved, error) {
			saved = append(saved, profile)
			return config.Saved{}, nil
		}
		var out, errs strings.Builder
		code := Run(t.Context(), IO{In: strings.NewReader(in), Out: &out, Err: &errs, InTTY: true, OutTTY: true, ErrTTY: true,
			Env: []string{"TERM=dumb"}, Now: today, ReadSecret: func() (string, error) {
				if len(secrets) == 0 {
					return "", io.EOF
				}
				secret := secrets[0]
				secrets = secrets[1:]
				return secret, nil
			}}, []string{"configure", "--profile", "work"}, doors.Program)
		return result{code, out.String(), errs.String()}, saved
	}
	t.Run("a server", func(t *testing.T) {
		s := newOnyx(t)
		got, saved := configure(t, testDoors(s.URL), "\nonyx.acme.com\n", "onyx_pat_secret")
		got.check(t, ExitSuccess)
		if len(saved) != 1 || saved[0].Profile.Name != "work" || saved[0].Profile.ServerURL != "https://onyx.acme.com" ||
			saved[0].Profile.APIPrefix != nil || saved[0].Typed.Reveal() != "onyx_pat_secret" || !saved[0].Activate {
			t.Errorf("saved %+v", saved)
		}
		if strings.Contains(got.err+got.out, "secret\n") || got.out != "" {
			t.Errorf("stdout %q, stderr %q", got.out, got.err)
		}
	})
	t.Run("a server without the usual prefix", func(t *testing.T) {
		s := newOnyx(t)
		doors := testDoors(s.URL)
		doors.trial = func(profile config.NewProfile) (target.Choice, error) {
			choice := target.Choice{Kind: target.KindRemote, APIPrefix: "/api"}
			if profile.Profile.APIPrefix != nil {
				choice.APIPrefix = *profile.Profile.APIPrefix
			}
			return choice, nil
		}
		doors.open = func(_ context.Context, choice target.Choice) (*client.Session, error) {
			c, err := client.New(client.Options{BaseURL: s.URL, APIPrefix: choice.APIPrefix})
			return &client.Session{Client: c, Close: func() error { return nil }}, err
		}
		got, saved := configure(t, doors, "1\nhttp://onyx.acme.com\n", "token")
		got.check(t, ExitSuccess)
		if len(saved) != 1 || saved[0].Profile.APIPrefix == nil || *saved[0].Profile.APIPrefix != "" || saved[0].Profile.ServerURL != "http://onyx.acme.com" {
			t.Errorf("saved %+v", saved)
		}
	})
	t.Run("a failing server is not saved", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/me", body(403, fixture(t, "error-403-me.json")))
		got, saved := configure(t, testDoors(s.URL), "1\nonyx.acme.com\n\n\n", "a", "b")
		got.check(t, ExitUsage)
		if len(saved) != 0 || strings.Count(got.err, "Connection failed") != 2 || !strings.Contains(got.err, "nothing was saved") {
			t.Errorf("saved %v, stderr %s", saved, got.err)
		}
	})
	t.Run("the sample", func(t *testing.T) {
		got, saved := configure(t, testDoors("http://127.0.0.1:1"), "9\n3\n")
		got.check(t, ExitSuccess)
		if len(saved) != 0 || !strings.Contains(got.err, "--sample") || !strings.Contains(got.err, "Type 1, 2 or 3") {
			t.Errorf("stderr %s", got.err)
		}
	})
	t.Run("a folder", func(t *testing.T) {
		s := newOnyx(t)
		s.on("/library/add", stream(doneLine))
		doors := localDoors(s.URL)
		got := Run(t.Context(), IO{In: strings.NewReader("2\n" + t.TempDir() + "\n"), Out: io.Discard, Err: io.Discard, InTTY: true, ErrTTY: true,
			Now: today, ReadSecret: func() (string, error) { return "", errors.New("not asked for") }}, []string{"configure"}, doors.Program)
		if got != ExitSuccess {
			t.Errorf("exit code %d", got)
		}
	})
	t.Run("no answers", func(t *testing.T) {
		got, _ := configure(t, testDoors("http://127.0.0.1:1"), "")
		got.check(t, ExitUsage)
	})
}

func TestCompletion(t *testing.T) {
	s := newOnyx(t)
	synctest.Test(t, func(t *testing.T) {
		for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
			if got := run(t, s.inProcess(), terminal{}, "completion", shell).check(t, ExitSuccess); !strings.Contains(got.out, "quarry") {
				t.Errorf("%s: %q", shell, got.out)
			}
		}
		for flag, want := range map[string]string{
			"--source": "slack\t", "--agent": "Eng\t", "--agent-id": "7\t", "--document-set": "Engineering handbook\t", "--tag": "team=infra\t", "--format": "ndjson",
		} {
			got := run(t, s.inProcess(), terminal{}, "__complete", "search", flag, "").check(t, ExitSuccess)
			if !strings.Contains(got.out, want) {
				t.Errorf("%s offers %q", flag, got.out)
			}
		}
		if got := run(t, failing(errNotConfigured), terminal{}, "__complete", "search", "--source", "").check(t, ExitSuccess); !strings.Contains(got.out, ":4") {
			t.Errorf("without a server: %q", got.out)
		}
		s.on("/manage/connector-status", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		run(t, s.inProcess(), terminal{}, "__complete", "search", "--source", "").check(t, ExitSuccess)
	})
}

// What a person types first after installing the program.
func TestSampleIsAnnounced(t *testing.T) {
	s := newOnyx(t)
	doors := testDoors(s.URL)
	decide := doors.decide
	doors.decide = func(where target.Request) (target.Choice, error) {
		choice, err := decide(where)
		choice.Kind = target.KindSample
		return choice, err
	}
	if got := run(t, doors, terminal{tty: true}, "search", "x").check(t, ExitSuccess); !strings.Contains(got.err, "sample library") {
		t.Errorf("stderr: %s", got.err)
	}
	if got := run(t, doors, terminal{tty: true}, "search", "x", "--sample").check(t, ExitSuccess); strings.Contains(got.err, "sample library") {
		t.Errorf("stderr: %s", got.err)
	}
}

func TestTheManualNamesEveryCommand(t *testing.T) {
	page := run(t, failing(errNotConfigured), terminal{}, "man").check(t, ExitSuccess).out
	for _, part := range []string{".TH QUARRY 1", "validate\\-config", "deactivate", "document\\-set", "max\\-output", "rate limited"} {
		if !strings.Contains(page, part) && !strings.Contains(page, strings.ReplaceAll(part, "\\-", "-")) {
			t.Errorf("no %q in the page", part)
		}
	}
	run(t, failing(errNotConfigured), terminal{}, "man", "ls").check(t, ExitUsage)
}

// The name of a schema can be the command, as words or quoted.
func TestSchemaOfQuotedCommand(t *testing.T) {
	want := run(t, failing(errNotConfigured), terminal{}, "schema", "admin-token-list").check(t, ExitSuccess).out
	for _, words := range [][]string{{"admin token list"}, {"admin", "token", "list"}} {
		if got := run(t, failing(errNotConfigured), terminal{}, append([]string{"schema"}, words...)...).check(t, ExitSuccess); got.out != want {
			t.Errorf("%v: %s", words, got.out)
		}
	}
}

// Without a choice there is no configuration to name.
func TestValidateInvalidConfig(t *testing.T) {
	doors := failing(errNotConfigured)
	if got := run(t, doors, terminal{tty: true, width: 80}, "validate-config"); got.code == ExitSuccess || strings.Contains(got.out, "Config:") {
		t.Errorf("stdout %q", got.out)
	}
}

// TestCompletionHasNoMarks: descriptions of flags have marks around the names of values, for the help.
func TestCompletionHasNoMarks(t *testing.T) {
	for _, command := range [][]string{{"search"}, {"ask"}, {"add"}, {"serve"}, {"admin", "token", "add"}} {
		got := run(t, failing(errNotConfigured), terminal{}, append(append([]string{"__complete"}, command...), "--")...).check(t, ExitSuccess)
		if strings.Contains(got.out, "`") || !strings.Contains(got.out, "--json\t") {
			t.Errorf("%v: %s", command, got.out)
		}
	}
}
