package ui

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The environment of a sandbox is printed for a shell and as JSON, always with the same token while it is valid.
func TestSandboxEnvironment(t *testing.T) {
	const key = "QUARRY_SECRET_KEY=0123456789abcdef0123456789abcdef"
	p := newPerson(t, key)
	ensure := func(p person, code int, more ...string) (string, string) {
		t.Helper()
		return p.run(code, append([]string{"admin", "token", "ensure"}, more...)...)
	}
	out, errs := ensure(p, 0, "--sandbox", "--user", "jo@acme.example", "--url", "https://search.acme.example")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || lines[0] != "export QUARRY_SERVER_URL=https://search.acme.example" || lines[2] != "export QUARRY_READONLY=1" ||
		!strings.HasPrefix(lines[1], "export QUARRY_PAT=onyx_pat_") || !strings.Contains(errs, "Created the sandbox token of jo@acme.example") {
		t.Fatalf("stdout %s\nstderr %s", out, errs)
	}
	secret := strings.TrimPrefix(lines[1], "export QUARRY_PAT=")
	var answer struct {
		Environment map[string]string `json:"environment"`
		IsNew       bool              `json:"is_new"`
		Scopes      []string          `json:"scopes"`
		ExpiresAt   string            `json:"expires_at"`
	}
	out, errs = ensure(p, 0, "--sandbox", "--user", "jo@acme.example", "--json")
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.IsNew || answer.Environment["QUARRY_PAT"] != secret ||
		answer.Environment["QUARRY_READONLY"] != "1" || len(answer.Scopes) != 1 || answer.ExpiresAt == "" || !strings.Contains(errs, "QUARRY_SERVER_URL") {
		t.Errorf("%v: %s\n%s", err, out, errs)
	}
	if out, _ = p.run(0, "admin", "token", "list"); out != "[]\n" {
		t.Errorf("the list of tokens: %s", out)
	}
	p.run(9, "admin", "token", "remove", "1")

	for _, test := range []struct{ env, hint string }{{"QUARRY_SECRET_KEY=", "openssl rand"}, {"QUARRY_SECRET_KEY=short", "openssl rand"},
		{"QUARRY_SECRET_KEY=" + strings.Repeat("x", 32), "--renew"}} {
		other := p
		other.env = append(append([]string{}, p.env...), test.env)
		if _, errs := ensure(other, 3, "--sandbox", "--user", "jo@acme.example"); strings.Count(errs, "\n") != 2 || !strings.Contains(errs, test.hint) {
			t.Errorf("with %q: %s", test.env, errs)
		}
	}
	if out, _ = ensure(p, 0, "--sandbox", "--user", "jo@acme.example"); !strings.Contains(out, secret) {
		t.Error("a wrong key lost the token")
	}
	ensure(p, 2, "--user", "jo@acme.example")
	ensure(p, 2, "--sandbox")
	ensure(p, 2, "--sandbox", "--user", "jo")
	ensure(p, 2, "--sandbox", "--user", "jo@acme.example", "--url", "ftp://x")
	readOnly := p
	readOnly.env = append(append([]string{}, p.env...), "QUARRY_READONLY=1")
	ensure(readOnly, 9, "--sandbox", "--user", "jo@acme.example")
	if content, err := os.ReadFile(p.home + "/library/directory.db"); err != nil || strings.Contains(string(content), secret[20:60]) {
		t.Errorf("the token is stored in plain text, or %v", err)
	}
}
