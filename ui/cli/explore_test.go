package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"quarry/client"
	"quarry/ui/target"
)

// exploring are doors that note what the explorer was opened with.
func exploring(t *testing.T) (doors testMachine, opened *[]Exploration) {
	t.Helper()
	opened = &[]Exploration{}
	doors = testDoors("http://127.0.0.1:1")
	doors.Explore = func(_ context.Context, e Exploration) error {
		*opened = append(*opened, e)
		return nil
	}
	return doors, opened
}

func TestTheExplorerOpens(t *testing.T) {
	for _, test := range []struct {
		arguments string // separated by |
		query     string
	}{
		{"", ""},
		{"how|do|we", "how do we"},
		{" ", ""},
		{"--|tags", "tags"},
		{"deploy|--source|slack,Google Drive", "deploy source:slack,google_drive"},
		{"--source|slack", "source:slack"},
		{"--source|", ""},
		{"deploy|--days|30", "deploy within:30d"},
		{"deploy|--since|2026-01-01|--until|2026-06-30", "deploy since:2026-01-01 until:2026-06-30"},
		{"deploy|--since|2026-01-01T08:00:00+02:00", "deploy since:2026-01-01T06:00:00Z"},
		{"deploy|--document-set|On Call|--document-set|wiki", `deploy set:"On Call" set:wiki`},
		{"deploy|--tag|team=site reliability", `deploy tag:"team=site reliability"`},
		{"deploy|--lang|en,de|--in|handbook/people", "deploy lang:en,de in:handbook/people"},
		{"deploy|--agent|Eng Team", `deploy agent:"Eng Team"`},
		{"deploy|--agent-id|7", "deploy agent:7"},
		{"deploy within:7d agent:Ops source:jira|--days|30|--agent|Eng|--source|slack", "deploy source:jira source:slack within:30d agent:Eng"},
		{"deploy until:2026-01-01|--until|2026-02-01", "deploy until:2026-02-01"},
	} {
		doors, opened := exploring(t)
		var arguments []string
		if test.arguments != "" {
			arguments = strings.Split(test.arguments, "|")
		}
		got := run(t, doors, terminal{tty: true}, arguments...).check(t, ExitSuccess)
		if len(*opened) != 1 || got.out != "" {
			t.Errorf("%q: opened %d times, stdout %q", test.arguments, len(*opened), got.out)
			continue
		}
		e := (*opened)[0]
		if e.Query != test.query || e.Plain || e.NoColor || e.Limit != 0 || e.Target.ServerURL != "https://onyx.example" {
			t.Errorf("%q: %+v", test.arguments, e)
		}
	}
}

func TestFlagsOfTheExplorer(t *testing.T) {
	dumb := []string{"TERM=dumb"}
	for _, test := range []struct {
		arguments string
		env       []string
		want      Exploration
	}{
		{"x --limit 20 --no-color", nil, Exploration{Limit: 20, NoColor: true}},
		{"x --plain", nil, Exploration{Plain: true}},
		{"x --plain", dumb, Exploration{Plain: true}},
		{"x", []string{"TERM=xterm", "ACCESSIBLE=1"}, Exploration{Plain: true}},
		{"x", []string{"TERM=dumb", "ACCESSIBLE=yes"}, Exploration{Plain: true}},
		{"x", []string{"TERM=xterm", "ACCESSIBLE=0"}, Exploration{}},
		{"x", []string{"TERM=xterm", "ACCESSIBLE=False"}, Exploration{}},
		{"x", []string{"TERM=xterm", "ACCESSIBLE="}, Exploration{}},
	} {
		doors, opened := exploring(t)
		run(t, doors, terminal{tty: true, env: test.env}, strings.Fields(test.arguments)...).check(t, ExitSuccess)
		if len(*opened) != 1 {
			t.Errorf("%s %v: not opened", test.arguments, test.env)
			continue
		}
		e := (*opened)[0]
		if e.Limit != test.want.Limit || e.Plain != test.want.Plain || e.NoColor != test.want.NoColor {
			t.Errorf("%s %v: %+v", test.arguments, test.env, e)
		}
	}
}

func TestPrintInsteadOfTheExplorer(t *testing.T) {
	s := newOnyx(t)
	for _, flags := range []string{"--json", "--format text", "--raw", "--explain", "--max-output 0", "--no-query-expansion",
		"--no-document-selection", "--format md --plain"} {
		doors := testDoors(s.URL)
		doors.Explore = func(context.Context, Exploration) error { return errors.New("opened") }
		if got := run(t, doors, terminal{tty: true}, append([]string{"rollback"}, strings.Fields(flags)...)...).check(t, ExitSuccess); got.out == "" {
			t.Errorf("%s printed nothing", flags)
		}
	}
	doors := testDoors(s.URL)
	doors.Explore = func(context.Context, Exploration) error { return errors.New("opened") }
	run(t, doors, terminal{tty: true, in: "deploy\n"}, "-").check(t, ExitSuccess)
	run(t, doors, terminal{tty: true, env: []string{"TERM=dumb"}}, "rollback").check(t, ExitSuccess)
	run(t, doors, terminal{}, "rollback", "--plain").check(t, ExitSuccess)
	if got := run(t, doors, terminal{}, "--plain").check(t, ExitSuccess); !strings.Contains(got.out, "Usage:") ||
		!strings.Contains(got.err, "--plain needs a terminal") {
		t.Errorf("without a terminal and a query: %s\n%s", got.out, got.err)
	}
}

func TestTheExplorerDoesNotOpen(t *testing.T) {
	listener := terminal{tty: true, env: []string{"TERM=dumb", "ACCESSIBLE=1"}} // errors without colours
	for _, test := range []struct {
		arguments []string
		code      int
		told      string
	}{
		{[]string{"x", "--days", "0"}, ExitUsage, "--days 0"},
		{[]string{"x", "--since", "soon"}, ExitUsage, "soon"},
		{[]string{"x", "--limit", "1000"}, ExitUsage, "1000"},
		{[]string{"x", "--agent", "a", "--agent-id", "1"}, ExitUsage, "exclude"},
		{[]string{"x", "--document-set", `the "best"`}, ExitUsage, "--format text"},
		{[]string{"x", "--bogus"}, ExitUsage, "--bogus"},
		{[]string{strings.Repeat("x", 2049)}, ExitUsage, "2049"},
		{[]string{strings.Repeat("x", 2040), "--source", "slack"}, ExitUsage, "characters"},
		{[]string{"x\xff"}, ExitUsage, "not valid UTF-8"},
	} {
		doors, opened := exploring(t)
		run(t, doors, listener, test.arguments...).check(t, test.code).twoLines(t, test.told)
		if len(*opened) > 0 {
			t.Errorf("%.40q: opened", test.arguments)
		}
	}
	doors := failing(errNotConfigured)
	run(t, doors, listener).check(t, ExitNotConfigured).twoLines(t, "no server is configured")
	doors, _ = exploring(t)
	doors.Explore = func(context.Context, Exploration) error { return errors.New("no room") }
	run(t, doors, listener).check(t, ExitGeneral).oneLine(t, "no room")
}

func TestTheSampleLibraryStandsIn(t *testing.T) {
	for _, env := range [][]string{{"TERM=xterm"}, {"TERM=dumb", "ACCESSIBLE=1"}} {
		doors, opened := exploring(t)
		doors.decide = func(where target.Request) (target.Choice, error) {
			if !where.Terminal {
				return target.Choice{}, errNotConfigured
			}
			return target.Choice{Kind: target.KindSample}, nil
		}
		got := run(t, doors, terminal{tty: true, env: env}).check(t, ExitSuccess)
		if len(*opened) != 1 || (*opened)[0].Target.Kind != target.KindSample || got.err != "" {
			t.Errorf("%v: %+v, stderr %q", env, *opened, got.err)
		}
	}
}

func TestTheExplorerIsLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	doors, _ := exploring(t)
	restored := false
	doors.Explore = func(ctx context.Context, _ Exploration) error {
		cancel()
		<-ctx.Done()
		restored = true
		return nil
	}
	runContext(t, ctx, doors, terminal{tty: true}).check(t, ExitInterrupted)
	if !restored {
		t.Error("the terminal was not waited for")
	}
}

func TestTimeoutOfTheExplorer(t *testing.T) {
	doors, _ := exploring(t)
	doors.Explore = func(ctx context.Context, _ Exploration) error {
		if _, bounded := ctx.Deadline(); bounded {
			t.Error("the session is bounded, not each search")
		}
		return nil
	}
	run(t, doors, terminal{tty: true}, "--timeout", "1s").check(t, ExitSuccess)
}

// FuzzExplorationQuery holds that whatever becomes filters is read as just those filters.
func FuzzExplorationQuery(f *testing.F) {
	f.Add("deploy", "slack", "on call", "team", "infra")
	f.Add(`a "b`, "x,y", `"`, "a=b", " ")
	f.Add(`0 "0`, "0", "0", "0=", ",") // the tag's quotation mark must not close that of the words
	f.Fuzz(func(t *testing.T, words, source, set, key, value string) {
		doors, opened := exploring(t)
		code := run(t, doors, terminal{tty: true}, "--source="+source, "--document-set="+set, "--tag="+key+"="+value, "--", words).code
		if code != ExitSuccess {
			return
		}
		read := client.ParseQuery((*opened)[0].Query, today())
		alone := client.ParseQuery(words, today())
		if len(read.DocumentSets) != len(alone.DocumentSets)+1 || len(read.Tags) != len(alone.Tags)+1 || read.Words != alone.Words {
			t.Errorf("%q %q %q %q=%q: %q", words, source, set, key, value, (*opened)[0].Query)
		}
	})
}
