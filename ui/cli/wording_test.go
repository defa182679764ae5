package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"quarry/client"
	"quarry/ui/target"
)

func TestFlagErrorsSayWhatIsExpected(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	for _, test := range []struct {
		arguments []string
		parts     []string
	}{
		{[]string{"search", "x", "--days", "abc"}, []string{`--days "abc" is not a whole number`}},
		{[]string{"search", "x", "--limit", "1e3"}, []string{`--limit "1e3" is not a whole number`}},
		{[]string{"search", "x", "--timeout", "5"}, []string{`--timeout "5"`, "30s"}},
		{[]string{"search", "x", "--json=maybe"}, []string{"true or false"}},
		{[]string{"search", "x", "--limt", "3"}, []string{"unknown flag --limt", "Did you mean --limit?"}},
		{[]string{"search", "x", "--zzzzzzzz"}, []string{"unknown flag --zzzzzzzz", "search --help"}},
		{[]string{"search", `""`}, []string{"no words"}},
		{[]string{"search", "deploy", ""}, []string{"empty"}},
	} {
		got := run(t, doors, terminal{}, test.arguments...).check(t, ExitUsage)
		got.twoLines(t, test.parts...)
		if strings.Contains(got.err, "strconv") || strings.Contains(got.err, "ParseInt") {
			t.Errorf("%v: %s", test.arguments, got.err)
		}
	}
}

func TestImpossibleFiltersAreTold(t *testing.T) {
	s := newOnyx(t)
	got := run(t, testDoors(s.URL), terminal{}, "search", "deploy since:2026-02-30 within:99999999999d ratio:3").check(t, ExitSuccess)
	for _, filter := range []string{"since:2026-02-30", "within:99999999999d"} {
		if !strings.Contains(got.err, "`"+filter+"` is not a valid filter") {
			t.Errorf("stderr %s", got.err)
		}
	}
	if strings.Contains(got.err, "ratio") {
		t.Errorf("stderr %s", got.err)
	}
}

func TestReadOnRepeatsTheTarget(t *testing.T) {
	s := newOnyx(t)
	s.on("/search", body(http.StatusOK, fixture(t, "../quarry-search.json")))
	got := run(t, testDoors(s.URL), terminal{tty: true, width: 30}, "search", "roll back", "--library", "/srv/my library").check(t, ExitSuccess)
	if !strings.Contains(got.out, "--around 2 --library '/srv/my library'") {
		t.Errorf("stdout %s", got.out)
	}
}

func TestServersWithoutAProfileAreNamed(t *testing.T) {
	target := target.Choice{Kind: target.KindRemote, Profile: "environment", ServerURL: "https://onyx.example"}
	if got := searchedNames([]string{"environment", "local"}, target); got[0] != "https://onyx.example" || got[1] != "local" {
		t.Errorf("%v", got)
	}
}

func TestStatusAlwaysPrints(t *testing.T) {
	s := newOnyx(t)
	doors := testDoors(s.URL)
	doors.decide = failing(errNotConfigured).decide
	doors.openLibrary = func(context.Context, string, bool) (*client.Session, error) { return nil, target.ErrNoLibrary }
	got := run(t, doors, terminal{}, "status").check(t, ExitSuccess)
	if !strings.Contains(got.out, `"target_error":"no server is configured"`) {
		t.Errorf("stdout %s", got.out)
	}
	got = run(t, doors, terminal{}, "status", "--profile", "work").check(t, ExitNotConfigured)
	if !strings.Contains(got.out, `"target":null`) {
		t.Errorf("stdout %s", got.out)
	}
	doors.openLibrary = func(context.Context, string, bool) (*client.Session, error) {
		return nil, &Failure{Code: ExitGeneral, What: "cannot read the library", Do: "Ask.", Err: errors.New("no")}
	}
	got = run(t, doors, terminal{}, "status").check(t, ExitGeneral)
	if !strings.Contains(got.out, `"error":"cannot read the library"`) || !strings.Contains(got.err, "cannot read the library") {
		t.Errorf("stdout %s, stderr %s", got.out, got.err)
	}
}

func TestNotesNameTheirQuery(t *testing.T) {
	s := newOnyx(t)
	s.on("/search", func(w http.ResponseWriter, r *http.Request) {
		body(http.StatusOK, []byte(`{"results":[],"notes":[{"code":"x","text":"note of `+r.Header.Get(queryHeader)+`"}]}`))(w, r)
	})
	got := run(t, testDoors(s.URL), terminal{}, "search", "one thing", "another thing", "--format", "text").check(t, ExitSuccess)
	if !strings.Contains(got.err, `"one thing": note of one thing`) || !strings.Contains(got.err, `"another thing": note of another thing`) {
		t.Errorf("stderr %s", got.err)
	}
	got = run(t, testDoors(s.URL), terminal{in: "piped question\n"}, "search", "deploy", "-").check(t, ExitSuccess)
	if strings.Contains(got.err, `"deploy -"`) {
		t.Errorf("stderr %s", got.err)
	}
}
