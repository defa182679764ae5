package target

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/slacktest"
)

var inSlack = slacktest.Message{Channel: "C1", ChannelName: "boats", User: "U1", Username: "jo.ortiz",
	Text: "Who took the *brass lantern*? <@U1>", TS: "1508284197.000015",
	Permalink: "https://acme.slack.com/archives/C1/p1508284197000015"}

// withSlack is a machine with a library, a profile of Slack, and one of a server.
func withSlack(t *testing.T, answer slacktest.Answer) (*Host, *slacktest.Server) {
	t.Helper()
	s := slacktest.New(t, func(string) slacktest.Answer { return answer })
	acme, _ := newServer(t, "acme-token", finds("Of acme"))
	h := configured(t, fmt.Sprintf(`active: local
profiles:
  team: {kind: slack, server_url: %q, token: %s}
  stranger: {kind: slack, server_url: %q, token: xoxp-wrong}
  acme: {server_url: %q, token: acme-token, search_also: [team]}
  local: {search_also: [team]}
`, s.URL, s.Token, s.URL, acme))
	addNote(t, h, "The brass lantern hangs in the boathouse.")
	return h, s
}

func TestSlackInOneGo(t *testing.T) {
	h, s := withSlack(t, slacktest.Answer{Found: []slacktest.Message{inSlack}})
	for _, c := range []struct {
		name, want, beside string
		request            Request
	}{
		{"beside the library", "Lanterns@local; #boats · jo.ortiz@team", "[team]", Request{}},
		{"alone", "#boats · jo.ortiz@team", "[team]", Request{Profile: "team"}},
		{"as the target, with the library", "Lanterns@local; #boats · jo.ortiz@team", "[team]", Request{Profile: "team", Also: []string{"local"}}},
		{"beside a server", "Of acme@acme; #boats · jo.ortiz@team", "[acme team]", Request{Profile: "acme"}},
		{"with another's token", "Of acme@acme; source_failed: stranger could not be searched (Slack refuses the token (invalid_auth): " +
			"create a user token (xoxp-…) with the scope search:read and set token or token_command): its results are missing; " +
			"#boats · jo.ortiz@team", "[acme stranger team]", Request{Profile: "acme", Also: []string{"stranger"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			opened, choice := openedTogether(t, h, c.request)
			response := search(t, opened, "brass lantern")
			got := told(response)
			for part := range strings.SplitSeq(c.want, "; ") {
				if !strings.Contains(got, part) {
					t.Errorf("got %s\nwithout %s", got, part)
				}
			}
			if beside := fmt.Sprint(choice.Beside()); beside != c.beside {
				t.Errorf("beside %s", beside)
			}
			if elsewhere := !strings.Contains(c.want, "@local"); choice.Elsewhere() != elsewhere {
				t.Errorf("elsewhere: %v", !elsewhere)
			}
			for _, r := range response.Results {
				if r.Origin == "team" && (r.SourceType != "slack" || r.Link == nil || *r.Link != inSlack.Permalink ||
					r.Content != "Who took the **brass lantern**? @jo.ortiz" || len(r.Highlights) == 0 && choice.Kind == KindLibrary) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
	asked := len(s.Queries())
	opened, _ := openedTogether(t, h, Request{})
	if response, err := opened.Client.Search(context.Background(), wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Sources: []string{"file"}}}); err != nil ||
		strings.Contains(told(response), "team") || len(s.Queries()) != asked {
		t.Errorf("%v: %s; asked %q", err, told(response), s.Queries()[asked:])
	}
	tagged := wire.SearchRequest{Query: "lantern", Explain: true, Filters: wire.Filters{Tags: []wire.Tag{{Key: "team", Value: "x"}}}}
	response, err := opened.Client.Search(context.Background(), tagged)
	if err != nil || len(s.Queries()) != asked {
		t.Errorf("%v: %s; asked %q", err, told(response), s.Queries()[asked:])
	}
	if detail := fmt.Sprint(response.Stages); !strings.Contains(detail, "team: not in scope") {
		t.Errorf("stages %s", detail)
	}
}

func TestSlackIsCheckedByItself(t *testing.T) {
	h, _ := withSlack(t, slacktest.Answer{})
	check := func(h *Host, profile string) (string, error) {
		choice, err := h.Decide(Request{Profile: profile})
		if err != nil {
			t.Fatal(err)
		}
		if choice.Kind != KindSlack {
			t.Fatalf("%+v", choice)
		}
		return h.CheckSlack(context.Background(), choice)
	}
	if who, err := check(h, "team"); err != nil || who != "jo in Acme" {
		t.Errorf("%q, %v", who, err)
	}
	_, err := check(h, "stranger")
	wantExit(t, err, 4, "invalid_auth", "search:read")
	bot, _ := withSlack(t, slacktest.Answer{Error: "not_allowed_token_type"})
	who, err := check(bot, "team")
	wantExit(t, err, 4, "only user tokens", "xoxp-")
	if who != "jo in Acme" {
		t.Errorf("who: %q", who)
	}
	limited, _ := withSlack(t, slacktest.Answer{Status: 429, Header: map[string]string{"Retry-After": "5"}})
	_, err = check(limited, "team")
	wantExit(t, err, 6, "5s")
}

func TestSlackWithoutAToken(t *testing.T) {
	h := configured(t, "profiles:\n  team: {kind: slack}\n")
	h.Keyring = nil
	_, err := h.Decide(Request{Profile: "team"})
	wantExit(t, err, 3, "no token for https://slack.com/api", "xoxp-")
	// An address on the command line is that of a server, whose token Slack's is not.
	h = configured(t, "profiles:\n  team: {kind: slack, token: xoxp-1}\n")
	_, err = h.Decide(Request{Server: "https://slack.com"})
	wantExit(t, err, 3, "no token for https://slack.com")
}

// Slack answers as the owner of the token: nobody else may ask it through a server of ours.
func TestSlackIsNotServed(t *testing.T) {
	h := configured(t, "profiles:\n  team: {kind: slack, token: xoxp-1}\n")
	for _, options := range []ServeOptions{{}, {Request: Request{Profile: "team"}}, {Request: Request{Profile: "team"}, HTTP: "127.0.0.1:0"}} {
		_, err := h.OpenServed(context.Background(), options)
		wantExit(t, err, 2, "team", "serve a library")
	}
}

// trusting makes the certificate of a server one that this machine trusts.
func trusting(t *testing.T, server *httptest.Server) {
	t.Helper()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("QUARRY_CA_BUNDLE", bundle)
}

func TestSlackBehindOnesOwnCertificate(t *testing.T) {
	plain := slacktest.New(t, func(string) slacktest.Answer { return slacktest.Answer{Found: []slacktest.Message{inSlack}} })
	encrypted := httptest.NewTLSServer(plain)
	t.Cleanup(encrypted.Close)
	h := configured(t, fmt.Sprintf("profiles:\n  team: {kind: slack, server_url: %q, token: %s}\n", encrypted.URL+"/api", plain.Token))
	addNote(t, h, "The brass lantern hangs in the boathouse.")
	request := Request{Profile: "team"}
	if got := told(lanterns(t, h, request)); !strings.Contains(got, "QUARRY_CA_BUNDLE") {
		t.Errorf("without it: %s", got)
	}
	trusting(t, encrypted)
	if got := told(lanterns(t, h, request)); got != "#boats · jo.ortiz@team" {
		t.Errorf("with it: %s", got)
	}
}

func lanterns(t *testing.T, h *Host, request Request) *wire.SearchResponse {
	t.Helper()
	opened, _ := openedTogether(t, h, request)
	return search(t, opened, "lantern")
}
