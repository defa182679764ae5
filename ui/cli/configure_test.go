package cli

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"quarry/config"
)

// typing runs configure for somebody who types lines and tokens on a coloured terminal.
func typing(t *testing.T, doors testMachine, in string, tokens []string, arguments ...string) (result, []config.NewProfile) {
	t.Helper()
	var saved []config.NewProfile
	doors.save = func(_ context.Context, profile config.NewProfile) (config.Saved, error) {
		saved = append(saved, profile)
		return config.Saved{}, nil
	}
	var out, errs strings.Builder
	code := Run(t.Context(), IO{In: strings.NewReader(in), Out: &out, Err: &errs, InTTY: true, OutTTY: true, ErrTTY: true,
		Env: []string{"TERM=xterm-256color"}, Now: today, ReadSecret: func() (string, error) {
			if len(tokens) == 0 {
				return "", io.EOF
			}
			token := tokens[0]
			tokens = tokens[1:]
			return token, nil
		}}, append([]string{"configure"}, arguments...), doors.Program)
	return result{code, out.String(), errs.String()}, saved
}

func TestConfigureAsksOnlyForTheTokenAgain(t *testing.T) {
	s := newOnyx(t)
	first := true
	s.on("/me", func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			body(http.StatusForbidden, fixture(t, "error-403-me.json"))(w, r)
			return
		}
		body(http.StatusOK, fixture(t, "me.json"))(w, r)
	})
	got, saved := typing(t, testDoors(s.URL), "1\nonyx.acme.com\n", []string{"", "wrong", "right"})
	got.check(t, ExitSuccess)
	if len(saved) != 1 || saved[0].Typed.Reveal() != "right" || saved[0].Profile.ServerURL != "https://onyx.acme.com" {
		t.Errorf("saved %+v", saved)
	}
	if strings.Count(got.err, "Server address") != 1 || !strings.Contains(got.err, "the token is empty") ||
		strings.Contains(got.err, "�") || !strings.Contains(got.err, "Connection failed:") {
		t.Errorf("stderr %q", got.err)
	}
}

func TestConfigureTakesProfileAndServer(t *testing.T) {
	s := newOnyx(t)
	got, saved := typing(t, testDoors(s.URL), "", []string{"token"}, "--profile", "work", "--server", "https://onyx.acme.com")
	got.check(t, ExitSuccess)
	if len(saved) != 1 || saved[0].Profile.Name != "work" || saved[0].Profile.ServerURL != "https://onyx.acme.com" {
		t.Errorf("saved %+v", saved)
	}
	typing(t, testDoors(s.URL), "", nil, "--profile", "work", "--library", "/srv")
	run(t, testDoors(s.URL), terminal{}, "search", "x", "--profile", "work", "--server", "https://onyx.acme.com").
		check(t, ExitUsage).twoLines(t, "--server and --profile exclude each other")
}

func TestConfigureEndsTheLineOfAQuestion(t *testing.T) {
	got, _ := typing(t, testDoors("http://127.0.0.1:1"), "", nil)
	got.check(t, ExitUsage)
	if strings.Contains(got.err, "]: \x1b") || !strings.Contains(got.err, "]: \n") {
		t.Errorf("stderr %q", got.err)
	}
}

func TestAddressWithoutScheme(t *testing.T) {
	for typed, want := range map[string]string{
		"onyx.acme.com": "https://onyx.acme.com", "localhost:8080": "http://localhost:8080", "127.0.0.1:3000": "http://127.0.0.1:3000",
		"[::1]:80": "http://[::1]:80", "http://onyx": "http://onyx", "10.0.0.1": "https://10.0.0.1", "https://localhost": "https://localhost",
	} {
		if got := withScheme(typed); got != want {
			t.Errorf("withScheme(%q) = %q, want %q", typed, got, want)
		}
	}
}
