package ui

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/config"
	"quarry/ui/cli"
	"quarry/ui/explorer/setup"
	"quarry/ui/target"
)

// newSettings are the settings of a person with a home of their own.
func newSettings(t *testing.T, env ...string) (person, *settings) {
	t.Helper()
	p := newPerson(t, env...)
	return p, &settings{run: newRun(Process{Env: p.env, Version: "1.2.3"})}
}

// onyx is a server that knows one token and answers under a prefix.
func onyx(t *testing.T, prefix string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(status int, value any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(value)
		}
		known := r.Header.Get("Authorization") == "Bearer onyx_pat_good"
		switch path, inside := strings.CutPrefix(r.URL.Path, prefix); {
		case !inside:
			answer(http.StatusNotFound, map[string]string{"detail": "Not Found"})
		case path == "/me" && known:
			answer(http.StatusOK, wire.Me{Email: "jo@acme.com"})
		case path == "/me":
			answer(http.StatusUnauthorized, map[string]string{"error_code": "UNAUTHENTICATED", "detail": "Invalid token"})
		case path == "/search":
			answer(http.StatusUnprocessableEntity, map[string]any{"detail": []any{}})
		default:
			answer(http.StatusNotFound, map[string]string{"detail": "Not Found"})
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestConnectionsAreTested(t *testing.T) {
	address := onyx(t, "/api")
	bare := strings.TrimPrefix(address, "http://")
	prefixless := onyx(t, "")
	for name, test := range map[string]struct {
		typed   setup.Connection
		marks   []setup.Mark
		found   setup.Connection
		problem string
	}{
		"works": {setup.Connection{URL: " " + bare + " ", Token: "onyx_pat_good"}, []setup.Mark{setup.Passed, setup.Passed, setup.Passed},
			setup.Connection{URL: address, Prefix: "/api", Token: "onyx_pat_good"}, ""},
		"without a prefix": {setup.Connection{URL: prefixless, Token: "onyx_pat_good"}, []setup.Mark{setup.Passed, setup.Passed, setup.Passed},
			setup.Connection{URL: prefixless, Prefix: "", Token: "onyx_pat_good"}, ""},
		"wrong token": {setup.Connection{URL: address, Token: "onyx_pat_bad"}, []setup.Mark{setup.Passed, setup.Failed, setup.Skipped},
			setup.Connection{URL: address, Prefix: "/api", Token: "onyx_pat_bad"}, "Invalid token"},
		"nobody there": {setup.Connection{URL: "127.0.0.1:1", Token: "onyx_pat_good"}, []setup.Mark{setup.Failed, setup.Skipped, setup.Skipped},
			setup.Connection{URL: "http://127.0.0.1:1", Prefix: "/api", Token: "onyx_pat_good"}, "127.0.0.1:1"},
		"no address": {setup.Connection{URL: "ftp://x", Token: "onyx_pat_good"}, []setup.Mark{setup.Failed, setup.Skipped, setup.Skipped},
			setup.Connection{URL: "ftp://x", Prefix: "/api", Token: "onyx_pat_good"}, "http"},
	} {
		_, s := newSettings(t)
		found, err := s.backend().Test(t.Context(), test.typed)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, step := range found.Steps {
			if step.Mark != test.marks[i] {
				t.Errorf("%s: %+v", name, found.Steps)
				break
			}
		}
		if found.Connection != test.found || found.OK() != (test.problem == "") || !strings.Contains(found.Problem, test.problem) ||
			!found.OK() && found.Remedy == "" {
			t.Errorf("%s: %+v", name, found)
		}
		if strings.Contains(found.Problem+found.Remedy, "onyx_pat_") {
			t.Errorf("%s tells the token: %+v", name, found)
		}
	}
}

// What goes wrong is told in the words of the form, with the server's own reason.
func TestFailedConnectionsAreToldInWordsOfTheForm(t *testing.T) {
	serve := func(handler http.HandlerFunc) string {
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		return s.URL
	}
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	page := serve(says(http.StatusOK, "<html>Welcome"))
	absent := strings.Repeat("onyx", 16) + "-too-long-for-a-name.invalid" // nobody needs to be asked
	const server, token = 0, 1
	for name, test := range map[string]struct {
		address, token  string
		blamed          int // step
		problem, remedy string
	}{
		"no such host":    {absent, "good", server, "the address cannot be found: unknown host " + absent, "Check the address and your network"},
		"nobody there":    {"127.0.0.1:1", "good", server, "the address cannot be reached: 127.0.0.1:1 refused the connection", "port of the address"},
		"no encryption":   {strings.Replace(page, "http:", "https:", 1), "good", server, "does not speak HTTPS", "Set the address to http://"},
		"elsewhere":       {serve(http.RedirectHandler("https://sso.example.com/", http.StatusFound).ServeHTTP), "good", server, "redirects to https://sso.example.com/", "set the address to https://sso.example.com"},
		"a web page":      {page, "good", server, "no Onyx answers at " + page[len("http://"):] + ": the server sent a web page", "Check the address"},
		"nothing there":   {serve(http.NotFound), "good", server, "no Onyx answers at", "Use the address"},
		"a firewall":      {serve(says(http.StatusForbidden, "Forbidden by policy")), "good", server, "refuses all requests: Forbidden by policy", "firewall"},
		"a broken server": {serve(says(http.StatusBadGateway, `{"detail":"upstream down"}`)), "good", token, "HTTP 502: upstream down", "Try again"},
		"many requests":   {serve(says(http.StatusTooManyRequests, `{"detail":"slow down"}`)), "good", token, "slow down", "Try again later"},
		"a wrong token":   {onyx(t, "/api"), "onyx_pat_bad", token, "the server refuses the token: Invalid token", "Check that the token is complete"},
		"a visitor":       {serve(says(http.StatusOK, `{"email":"anonymous@onyx.app","is_anonymous_user":true}`)), "good", token, "does not accept the token", "paste it here"},
		"two words":       {page, "good token", token, "the token is not valid", "Paste only the token"},
		"a whole file":    {page, strings.Repeat("x", 10_000), token, "the token is not valid", "Paste only the token"},
	} {
		_, s := newSettings(t)
		found, err := s.test(t.Context(), setup.Connection{URL: test.address, Token: test.token})
		if err != nil || !strings.Contains(found.Problem, test.problem) || !strings.Contains(found.Remedy, test.remedy) {
			t.Errorf("%s: %q, %q, %v", name, found.Problem, found.Remedy, err)
		}
		for i, step := range found.Steps {
			if failed := step.Mark == setup.Failed; failed != (i == test.blamed) {
				t.Errorf("%s: %+v", name, found.Steps)
			}
		}
		for _, foreign := range []string{"GET ", "server_url", "api_prefix", "profile", "quarry ", "ONYX_PAT", "--"} {
			if strings.Contains(found.Problem+found.Remedy, foreign) {
				t.Errorf("%s names %q: %q, %q", name, foreign, found.Problem, found.Remedy)
			}
		}
	}
}

func TestASlowServerIsNamed(t *testing.T) {
	_, told := explainInForm(context.DeadlineExceeded, "https://onyx.acme.com/x")
	if failure := cli.Explain(told, time.Now()); failure.What != "onyx.acme.com did not answer in time" || !strings.Contains(failure.Do, "network") {
		t.Errorf("%+v", failure)
	}
}

func TestACancelledTestIsNotTold(t *testing.T) {
	_, s := newSettings(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.test(ctx, setup.Connection{URL: onyx(t, "/api"), Token: "x"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAConnectionIsSavedAndUsed(t *testing.T) {
	p, s := newSettings(t)
	address := onyx(t, "/api")
	if _, err := s.save(t.Context(), setup.Connection{URL: address, Prefix: "/api", Token: "onyx_pat_good"}); err == nil {
		t.Error("an untested connection was saved")
	}
	if s.last.Load() != nil {
		t.Error("nothing was set up")
	}
	found, err := s.test(t.Context(), setup.Connection{URL: address, Token: "onyx_pat_good"})
	if err != nil || !found.OK() {
		t.Fatalf("%+v, %v", found, err)
	}
	told, err := s.save(t.Context(), found.Connection)
	if err != nil || !strings.Contains(told, "profile default") || strings.Contains(told, "still use") {
		t.Errorf("%q, %v", told, err)
	}
	to := s.last.Load()
	if to == nil || to.Kind != target.KindRemote || to.ServerURL != address || to.Profile != "default" {
		t.Fatalf("%+v", to)
	}
	host, err := s.run.host()
	if err != nil {
		t.Fatal(err)
	}
	session, err := host.Open(t.Context(), *to)
	if err != nil {
		t.Fatal(err)
	}
	if me, err := session.Client.Me(t.Context()); err != nil || me.Email != "jo@acme.com" {
		t.Errorf("%+v, %v", me, err)
	}
	if out, _ := p.run(0, "status", "--json"); !strings.Contains(out, address) {
		t.Errorf("status %s", out)
	}
}

func TestTheNextStartMayGoElsewhere(t *testing.T) {
	_, s := newSettings(t, "ONYX_SERVER_URL=https://other.example.com", "ONYX_PAT=x")
	found, err := s.test(t.Context(), setup.Connection{URL: onyx(t, "/api"), Token: "onyx_pat_good"})
	if err != nil || !found.OK() {
		t.Fatalf("%+v, %v", found, err)
	}
	if told, err := s.save(t.Context(), found.Connection); err != nil || !strings.Contains(told, "still use") {
		t.Errorf("%q, %v", told, err)
	}
}

func TestProfileNames(t *testing.T) {
	read := &config.Config{Profiles: map[string]config.Profile{}}
	expect := func(address, want string) {
		t.Helper()
		if got := profileName(read, address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	expect("https://a.example.com", "default")
	read.Profiles["default"] = config.Profile{ServerURL: "https://a.example.com"}
	expect("https://a.example.com", "default")
	expect("https://B.example.com:8080", "b-example-com")
	read.Profiles["b-example-com"] = config.Profile{ServerURL: "https://b.example.com"}
	expect("https://B.example.com:8080", "b-example-com-2")
	expect("https://local", "local-2")
	expect("", "server")
}

func TestAFolderIsReadAndSearched(t *testing.T) {
	p, s := newSettings(t)
	folder := filepath.Dir(p.write("my notes/lantern.md", "# Lanterns\n\nThe brass lantern hangs in the boathouse."))
	p.write("my notes/broken.pdf", "not a pdf")
	path, err := s.path(`~/my\ notes/`)
	if err != nil || path != folder {
		t.Fatalf("%s, %v", path, err)
	}
	var events []string
	done, told, err := s.addFolder(t.Context(), path, func(event wire.LibraryEvent) {
		events = append(events, event.Type)
		if s.last.Load() == nil {
			t.Error("it cannot be searched meanwhile")
		}
	})
	if err != nil || done.Added != 1 || len(events) == 0 || told != "Searches now use this library." {
		t.Fatalf("%+v, %q, %v", done, told, err)
	}
	to := *s.last.Load()
	if to.Kind != target.KindLibrary || targetLabel(to, " · ") != "the library on this machine" {
		t.Fatalf("%+v", to)
	}
	host, err := s.run.host()
	if err != nil {
		t.Fatal(err)
	}
	session, err := host.Open(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	found, err := session.Client.Search(t.Context(), wire.SearchRequest{Query: "brass lantern"})
	if err != nil || len(found.Results) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestNothingIsSetUpWhereNothingMayChange(t *testing.T) {
	p, s := newSettings(t, "QUARRY_READONLY=1")
	doors := s.backend()
	if !strings.Contains(doors.ReadOnly, "QUARRY_READONLY") {
		t.Errorf("%+v", doors)
	}
	if _, _, err := doors.AddFolder(t.Context(), p.home, nil); err == nil {
		t.Error("a folder was added all the same")
	}
}

func TestPaths(t *testing.T) {
	p, s := newSettings(t)
	note := p.write("notes/deep/a.md", "x")
	p.write("notes/deeper/b.md", "x")
	p.write(".hidden/c.md", "x")
	for typed, want := range map[string]string{
		"~": p.home, "~/notes": filepath.Join(p.home, "notes"), " '" + note + "' ": note, `"` + note + `"`: note, note: note,
	} {
		if got, err := s.path(typed); err != nil || got != want {
			t.Errorf("%q: %s, %v", typed, got, err)
		}
	}
	for _, typed := range []string{"", "  ", "~/absent", "~jo/notes"} {
		if got, err := s.path(typed); err == nil {
			t.Errorf("%q: %s", typed, got)
		}
	}
	slash := string(os.PathSeparator)
	for typed, want := range map[string]string{
		"~/no":            filepath.Join(p.home, "notes") + slash,
		"~/notes/d":       filepath.Join(p.home, "notes", "deep"),
		"~/notes/deepe":   filepath.Join(p.home, "notes", "deeper") + slash,
		"~/notes/deep/":   note,
		"~/notes/deep/a.": note,
		"~/.h":            filepath.Join(p.home, ".hidden") + slash,
		"~/x":             "~/x",
		"~/absent/x":      "~/absent/x",
	} {
		if got := s.complete(typed); got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
}
