package ui

import (
	"fmt"
	"strings"
	"testing"

	"quarry/internal/testkit/slacktest"
)

// TestSlackFromTheCommandLine goes the whole way: what a person types, and what they see.
func TestSlackFromTheCommandLine(t *testing.T) {
	answer := slacktest.Answer{Found: []slacktest.Message{{Channel: "C1", ChannelName: "boats", User: "U1", Username: "jo.ortiz",
		Text: "Who took the *brass lantern*?", TS: "1508284197.000015", Permalink: "https://acme.slack.com/archives/C1/p1508284197000015"}}}
	s := slacktest.New(t, func(string) slacktest.Answer { return answer })
	p := newPerson(t)
	p.write("config/quarry/config.yaml", fmt.Sprintf("profiles:\n  team: {kind: slack, server_url: %q, token: %s}\n  bad: {kind: slack, server_url: %q, token: xoxb-1}\n",
		s.URL, s.Token, s.URL))
	p.run(0, "add", p.write("note.md", "# Lanterns\n\nThe brass lantern hangs in the boathouse.\n"))

	out, errs := p.run(0, "search", "--also", "team", "--json", "brass lantern")
	for _, want := range []string{`"title":"Lanterns"`, `"title":"#boats · jo.ortiz"`, `"origin":"team"`, `"source_type":"slack"`,
		`"url":"https://acme.slack.com/archives/C1/p1508284197000015"`, `"document_id":"slack:C1:1508284197.000015"`} {
		if !strings.Contains(out, want) {
			t.Errorf("search does not print %s: %s %s", want, out, errs)
		}
	}
	if out, errs = p.run(0, "search", "--profile", "team", "brass lantern"); !strings.Contains(out, "#boats · jo.ortiz") {
		t.Errorf("%s %s", out, errs)
	}
	out, errs = p.run(0, "search", "--also", "bad", "brass lantern")
	if all := out + errs; !strings.Contains(all, "Lanterns") || !strings.Contains(all, "invalid_auth") || strings.Contains(all, "xoxb-1") {
		t.Errorf("with a token that is not accepted: %s %s", out, errs)
	}
	if _, errs = p.run(9, "read", "slack:C1:1508284197.000015", "--profile", "team"); !strings.Contains(errs, "Open the link") {
		t.Errorf("read: %s", errs)
	}
	out, _ = p.run(0, "status", "--profile", "team")
	if !strings.Contains(out, `"kind":"slack"`) || !strings.Contains(out, s.URL) || strings.Contains(out, s.Token) {
		t.Errorf("status: %s", out)
	}
	if out, _ = p.run(0, "validate-config", "--profile", "team"); !strings.Contains(out, "jo in Acme") {
		t.Errorf("validate-config: %s", out)
	}
	_, errs = p.run(4, "validate-config", "--profile", "bad")
	if !strings.Contains(errs, "invalid_auth") || !strings.Contains(errs, "search:read") || strings.Contains(errs, "xoxb-1") {
		t.Errorf("validate-config: %s", errs)
	}
}
