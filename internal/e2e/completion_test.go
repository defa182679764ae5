//go:build unix

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completes returns what the program offers a shell for the last argument, without descriptions, and the last line, which
// tells the shell what else to do: 0 offers files, 4 nothing, 16 folders.
func (h home) completes(arguments ...string) (values []string, directive string) {
	h.t.Helper()
	got := h.run("", append([]string{"__completeNoDesc"}, arguments...)...)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if got.code != 0 || strings.Contains(got.stderr, "note:") || strings.Contains(got.stderr, "error:") {
		h.t.Errorf("%q: %+v", arguments, got)
	}
	return lines[:len(lines)-1], lines[len(lines)-1]
}

// hostileNotes have tags that a shell would run, and one that it would not.
const hostileNotes = `{"document":{"id":"a","semantic_identifier":"A","source":"notion","sections":[{"text":"one"}],"metadata":{"team":["infra","R and D","$(touch pwned)x","$(touch pwned)y","` + "`touch pwned`" + `","a;touch pwned","a\u001b[31mb","a\nb","_activeHelp_ run this"]}}}
`

func TestCompletion(t *testing.T) {
	h := newHome(t)
	h.write("notes.jsonl", hostileNotes)
	h.write("guide.md", "# Guide\n\nDeploy on Tuesdays.\n")
	h.write("config/quarry/config.yaml", "profiles:\n  work:\n    server_url: https://onyx.acme.example\n    token: onyx_pat_x\n"+
		"llm:\n  providers:\n    near:\n      base_url: http://127.0.0.1:9/v1\n")
	h.must("add", filepath.Join(h.dir, "notes.jsonl"), "--library", h.library())
	h.must("add", filepath.Join(h.dir, "guide.md"), "--set", "Handbook of Jo", "--library", h.library())
	h.must("admin", "token", "add", "--name", "Jo's laptop", "--user", "jo@acme.example", "--json")
	h.must("admin", "agent", "add", "Helper")
	h.must("admin", "group", "add", "Engineering", "--user", "kim@acme.example")
	silent, stop := newSilent()
	defer stop()
	local := []string{"--library", h.library()}
	for _, test := range []struct {
		line  []string // the last one is what is typed
		want  string   // among the values; empty: nothing is offered
		other string   // what else the shell offers
	}{
		{[]string{"sear"}, "search", ":4"}, {[]string{"search", ""}, "", ":4"}, {[]string{"ask", "g"}, "", ":4"}, {[]string{"add", ""}, "", ":0"},
		{[]string{"search", "--history", ""}, "", ":0"}, {[]string{"search", "--library", ""}, "", ":16"},
		{[]string{"search", "--profile", ""}, "local work", ":4"}, {[]string{"search", "--also", "w"}, "local work", ":4"},
		{[]string{"search", "--format", ""}, "agent json md ndjson text tsv", ":4"}, {[]string{"collection", "--format", ""}, "csv json md", ":4"},
		{append(local, "search", "--source", ""), "file notion", ":4"}, {append(local, "search", "--source", "file,n"), "file,file file,notion", ":4"},
		{append(local, "search", "--document-set", ""), "Handbook of Jo", ":4"}, {append(local, "search", "--agent", ""), "Helper", ":4"},
		{append(local, "search", "--tag", "team="), "team=R and D team=_activeHelp_ run this team=a b team=ab team=infra", ":4"},
		{[]string{"schema", "adm"}, "admin-token-list", ":4"}, {[]string{"schema", "search", ""}, "", ":4"},
		{[]string{"config", "get", ""}, "profiles.work.server_url", ":4"}, {[]string{"config", "set", ""}, "llm.providers.near.key", ":4"},
		{[]string{"config", "set", "theme", ""}, "", ":4"}, {[]string{"admin", "token", "remove", ""}, "Jo's laptop", ":4"},
		{[]string{"admin", "user", "remove", ""}, "jo@acme.example", ":4"}, {[]string{"admin", "group", "remove", ""}, "Engineering", ":4"},
		{[]string{"admin", "agent", "remove", ""}, "Helper", ":4"}, {[]string{"admin", "token", "add", "--user", ""}, "kim@acme.example", ":4"},
		{[]string{"admin", "user", "add", "--role", ""}, "admin basic", ":4"}, {[]string{"admin", "user", "list", "--tenant", ""}, "default", ":4"},
		{[]string{"admin", "tenant", "remove", ""}, "", ":4"},
		{[]string{"install-skill", "--agent", ""}, "claude-code", ":4"}, {[]string{"help", ""}, "exit-codes", ":4"},
		{[]string{"help", "admin", "token", ""}, "list", ":4"}, {[]string{"completion", ""}, "bash fish powershell zsh", ":4"},
		// Whatever fails, nothing is offered.
		{[]string{"--library", "/nowhere", "search", "--source", ""}, "", ":4"}, {[]string{"--profile", "nobody", "search", "--source", ""}, "", ":4"},
		{[]string{"--server", refusing(), "search", "--source", ""}, "", ":4"}, {[]string{"--server", silent, "search", "--agent", ""}, "", ":4"},
	} {
		values, other := h.completes(test.line...)
		slices.Sort(values)
		switch {
		case other != test.other, test.want == "" && len(values) > 0:
			t.Errorf("%q: %q %s", test.line, values, other)
		case strings.Join(values, " ") != test.want && !slices.Contains(values, test.want) && test.want != "":
			t.Errorf("%q: %q lacks %s", test.line, values, test.want)
		}
	}
}

// TestCompletionHasRights offers two people what their tokens can see.
func TestCompletionHasRights(t *testing.T) {
	h := newHome(t)
	h.write("notes.jsonl", strings.ReplaceAll(privateNotes, `"metadata":{}`, `"metadata":{"owner":"of it"}`))
	h.must("add", filepath.Join(h.dir, "notes.jsonl"))
	tokens := map[string]string{}
	for _, name := range []string{"jo", "kim", "nobody"} {
		var made struct{ Token string }
		decode(t, h.must("admin", "token", "add", "--name", name, "--user", name+"@acme.example", "--scope", "read:search", "--json"), &made)
		tokens[name] = made.Token
	}
	h.must("admin", "agent", "add", "Private helper", "--user", "jo@acme.example")
	address := serveHTTP(t, h)
	for name, want := range map[string][2]string{"jo": {"owner=of it", "Private helper"}, "kim": {"owner=of it", ""}, "nobody": {"", ""}} {
		far := newHome(t)
		far.write("config/quarry/config.yaml", fmt.Sprintf("profiles:\n  far:\n    server_url: %s\n    token: %s\n", address, tokens[name]))
		tags, _ := far.completes("search", "--tag", "owner")
		agents, _ := far.completes("search", "--agent", "")
		if got := strings.Join(tags, " "); got != want[0] {
			t.Errorf("%s is offered the tags %q", name, got)
		}
		if got := slices.Contains(agents, "Private helper"); got != (want[1] != "") {
			t.Errorf("%s is offered the agents %q", name, agents)
		}
	}
}
