package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/ui/target"
)

// guestDoors lead to a server, and to nothing else: any other door that is opened ends the run with a panic.
func guestDoors(t *testing.T, address string) testMachine {
	t.Helper()
	all := testDoors(address)
	host := &fakeHost{open: all.open, decide: func(request target.Request) (target.Choice, error) {
		if request.Explicit() || len(request.Also) > 0 {
			t.Errorf("a guest names a target: %+v", request)
		}
		return all.decide(request)
	}}
	return testMachine{fakeHost: host, Program: Program{Version: all.Version, Guest: true, Explore: all.Explore,
		Host: func() (Host, error) { return host, nil }}}
}

func TestGuestsMayOnlySearch(t *testing.T) {
	s := newOnyx(t)
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`[{"message":"hidden","message_type":"user"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{
		"add is not": {"add", "/etc"}, "remove is not": {"remove", "--source", "file"}, "sync is not": {"sync"}, "status is not": {"status"},
		"serve is not": {"serve", "--http", ":1"}, "admin is not": {"admin", "token", "add", "--name", "x"}, "configure is not": {"configure"},
		"validate-config is not": {"validate-config"}, "completion is not": {"completion", "bash"},
		"__complete is not": {"__complete", "search", ""}, "--server is not": {"search", "x", "--server", "http://127.0.0.1:1"},
		"--library is not": {"search", "x", "--library", "/"}, "--profile is not": {"sources", "--profile", "other"},
		"--sample is not": {"search", "x", "--sample"}, "--also is not": {"search", "x", "--also", "local"},
		"--history is not": {"search", "x", "--history", secret}, "--from is not": {"read", "1", "--from", secret},
		`unknown command or topic "add x"`: {"help", "add", "x"}, "add is  not": {"add", "--help"},
	}
	for want, arguments := range tests {
		got := run(t, guestDoors(t, s.URL), terminal{}, arguments...).check(t, ExitUsage)
		got.twoLines(t, strings.ReplaceAll(want, "  ", " "))
		if strings.Contains(got.err, "hidden") {
			t.Errorf("%v: %s", arguments, got.err)
		}
	}
	if len(s.searches) > 0 {
		t.Errorf("%d searches came", len(s.searches))
	}
}

// Every command there is, now and later, is either searched with or refused.
func TestEveryCommandIsDecidedAboutForGuests(t *testing.T) {
	s := newOnyx(t)
	a := &app{program: testDoors(s.URL).Program, out: &gate{}, err: &gate{}}
	for _, command := range a.root().Commands() {
		got := run(t, guestDoors(t, s.URL), terminal{}, command.Name())
		allowed := a.traits[command].guests
		if refused := strings.Contains(got.err, notForGuests); refused == allowed {
			t.Errorf("%s: refused %v, allowed %v: %s", command.Name(), refused, allowed, got.err)
		}
	}
}

func TestGuestsSearch(t *testing.T) {
	s := newOnyx(t)
	saved := run(t, guestDoors(t, s.URL), terminal{}, "search", "deploy").check(t, ExitSuccess).out
	for _, arguments := range [][]string{{"rollback"}, {"how", "do", "we", "--source", "slack"}, {"sources"}, {"agents"}, {"document-sets"}, {"tags"},
		{"schema"}, {"schema", "search"}, {"version"}, {"--version"}, {"help"}, {"help", "search"}, {"search", "--help"}} {
		if got := run(t, guestDoors(t, s.URL), terminal{in: saved}, arguments...).check(t, ExitSuccess); got.out == "" {
			t.Errorf("%v printed nothing", arguments)
		}
	}
	help := run(t, guestDoors(t, s.URL), terminal{}).check(t, ExitSuccess).out
	for _, hidden := range []string{"--server", "--library", "--profile", "configure", "admin", "serve"} {
		if strings.Contains(help, "  "+hidden+" ") {
			t.Errorf("the help of a guest offers %s:\n%s", hidden, help)
		}
	}
}

// Nothing is cut for a guest, because no copy can be kept.
func TestGuestsGetAllOfIt(t *testing.T) {
	s := newOnyx(t)
	long := strings.Repeat("a long passage ", 10_000)
	s.on("/search", body(http.StatusOK, []byte(`{"results":[{"citation_id":1,"title":"t","content":"`+long+`","link":null,"source_type":"slack","updated_at":null}]}`)))
	dir := t.TempDir()
	if got := run(t, guestDoors(t, s.URL), terminal{dir: dir}, "rollback").check(t, ExitSuccess); len(got.out) < len(long) {
		t.Errorf("%d bytes of %d", len(got.out), len(long))
	}
	if got := run(t, guestDoors(t, s.URL), terminal{}, "rollback", "--max-output", "2000").check(t, ExitSuccess); len(got.out) > 2000 {
		t.Errorf("%d bytes", len(got.out))
	}
}

// What a guest is told to do is something that they can do.
func TestAdviceForGuests(t *testing.T) {
	s := newOnyx(t)
	s.on("/search", body(http.StatusForbidden, []byte(`{"detail":"Access denied. User is not authenticated."}`)))
	got := run(t, guestDoors(t, s.URL), terminal{}, "search", "deploy").check(t, ExitAuth)
	if strings.Contains(got.err, "configure") || strings.Contains(got.err, "validate-config") {
		t.Error(got.err)
	}
}

// ssh takes the quotes off, so that words are one question.
func TestAGuestsWordsAreOneQuestion(t *testing.T) {
	s := newOnyx(t)
	for want, arguments := range map[string][]string{
		"roll back a deploy": {"search", "roll", "back", "a", "deploy", "--source", "slack"}, "one": {"search", "one"},
	} {
		s.searches = nil
		run(t, guestDoors(t, s.URL), terminal{}, arguments...).check(t, ExitSuccess)
		if got := s.asked(t)["query"]; got != want {
			t.Errorf("%v searched for %q", arguments, got)
		}
	}
	s.searches = nil
	if run(t, guestDoors(t, s.URL), terminal{}, "search", "roll back", "deploy").check(t, ExitSuccess); len(s.searches) != 2 {
		t.Errorf("%d searches", len(s.searches))
	}
}
