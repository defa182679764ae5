package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/slacktest"
	"quarry/server/pipeline"
)

var _ pipeline.Federated = (*Source)(nil)

func newSource(s *slacktest.Server) *Source {
	return New(Options{Name: "team", BaseURL: s.URL, UserAgent: "quarry", Transport: http.DefaultTransport,
		Token: func(context.Context) (string, error) { return s.Token, nil }})
}

func always(answer slacktest.Answer) func(string) slacktest.Answer {
	return func(string) slacktest.Answer { return answer }
}

var lantern = slacktest.Message{Channel: "C12345678", ChannelName: "boathouse", User: "U2U85N1RV", Username: "jo.ortiz",
	Text: "The *brass lantern* hangs in the boathouse &amp; stays there, says <@U7>; see <https://wiki.acme.com/l|the wiki>",
	TS:   "1508284197.000015", Permalink: "https://acme.slack.com/archives/C12345678/p1508284197000015"}

func TestMessagesAreFound(t *testing.T) {
	reply := lantern
	reply.User, reply.Username, reply.TS, reply.Text = "U7", "kim", "1508284198.000100", "agreed"
	direct := lantern
	direct.Channel, direct.ChannelName, direct.TS = "D1", "U7", "1508284199.000100"
	s := slacktest.New(t, always(slacktest.Answer{Found: []slacktest.Message{lantern, reply, direct}}))
	response, err := newSource(s).Search(context.Background(), wire.SearchRequest{Query: "Where is the brass lantern?"})
	if err != nil || len(response.Results) != 3 {
		t.Fatalf("%v, %+v", err, response)
	}
	got, err := json.Marshal(response.Results[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"citation_id":null,"title":"#boathouse · jo.ortiz","content":"The **brass lantern** hangs in the boathouse \u0026 stays there, says @kim; see [the wiki](https://wiki.acme.com/l)","link":"https://acme.slack.com/archives/C12345678/p1508284197000015","source_type":"slack","updated_at":"2017-10-17T23:49:57Z","document_id":"slack:C12345678:1508284197.000015","ref":"","short_ref":"","citation":"","chunk_ind":0,"chunk_start":0,"chunk_end":0,"chunk_count":1,"score":0,"blurb":"","highlights":[],"best_passage":[0,0],"heading_path":[],"metadata":{"Channel":"boathouse"},"authors":["jo.ortiz"],"document_type":"thread","place":"slack/#boathouse","language":"","selected":false,"origin":"","lines":[],"bytes":[],"also_in":[],"also_in_count":0,"matches":false,"missing":[],"found_by":"","newer":null}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if title := response.Results[2].Title; title != "Direct message · jo.ortiz" {
		t.Errorf("title %q", title)
	}
	if got := s.Queries(); !slices.Equal(got, []string{"brass lantern"}) || s.Counts()[0] != wanted {
		t.Errorf("asked %q, %v", got, s.Counts())
	}
}

func TestQueriesInSlacksWords(t *testing.T) {
	at := func(text string) *wire.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return &wire.Time{Time: when}
	}
	long := strings.Repeat("x", 200)
	cases := []struct {
		name    string
		request wire.SearchRequest
		want    string // "" for what is not in scope
		broader string
	}{
		{"words", wire.SearchRequest{Query: "deploy rollback"}, "deploy rollback", ""},
		{"a question", wire.SearchRequest{Query: "How do we roll back a deploy?"}, "roll back deploy", ""},
		{"a long question", wire.SearchRequest{Query: "who changed the certificates of staging last November?"},
			"changed certificates staging last November", "changed certificates November"},
		{"stop words alone", wire.SearchRequest{Query: "who is it"}, "who is it", ""},
		{"phrases and exclusions", wire.SearchRequest{Query: `rollback "blue green" -canary -"dry run"`,
			Phrases: []string{"blue green"}, Exclude: []string{"canary", "dry run"}}, `rollback "blue green" -canary -"dry run"`, ""},
		{"a phrase alone", wire.SearchRequest{Query: `"to be or not"`, Phrases: []string{"to be or not"}}, `"to be or not"`, ""},
		{"filters of Slack are words", wire.SearchRequest{Query: "error in:#secret from:@boss -has:link *wild <!here>"},
			"error secret boss link wild", "error secret boss"},
		{"times", wire.SearchRequest{Query: "lantern", TimeCutoff: at("2026-03-01T00:00:00Z"), TimeUntil: at("2026-03-31T23:59:59Z")},
			"lantern after:2026-02-27 before:2026-04-02", ""},
		{"an author", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Authors: []string{"jo.ortiz"}}}, "lantern from:@jo.ortiz", ""},
		{"two authors", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Authors: []string{"jo", "kim"}}}, "lantern", ""},
		{"an author that would be a filter", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Authors: []string{"jo in:#secret"}}}, "lantern", ""},
		{"a channel", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Tags: []wire.Tag{{Key: "channel", Value: "#boats"}}}}, "lantern in:#boats", ""},
		{"a channel as a place", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Places: []string{"#boats"}}}, "lantern in:#boats", ""},
		{"a channel in Slack", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Places: []string{"slack/#boats"}}}, "lantern", ""},
		{"a place elsewhere", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Places: []string{"handbook/people"}}}, "", ""},
		{"another tag", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Tags: []wire.Tag{{Key: "team", Value: "x"}}}}, "", ""},
		{"a set", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{DocumentSets: []string{"handbook"}}}, "", ""},
		{"another source", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Sources: []string{"github"}}}, "", ""},
		{"its source", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{Sources: []string{"github", "slack"}}}, "lantern", ""},
		{"another type", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{DocumentTypes: []string{"pdf"}}}, "", ""},
		{"its type", wire.SearchRequest{Query: "lantern", Filters: wire.Filters{DocumentTypes: []string{"pdf", "Thread"}}}, "lantern", ""},
		{"its source is excluded", wire.SearchRequest{Query: "lantern", ExcludeFilters: wire.Filters{Sources: []string{"slack"}}}, "", ""},
		{"its type is excluded", wire.SearchRequest{Query: "lantern", ExcludeFilters: wire.Filters{DocumentTypes: []string{"thread"}}}, "", ""},
		{"another tag is excluded", wire.SearchRequest{Query: "lantern",
			ExcludeFilters: wire.Filters{Tags: []wire.Tag{{Key: "team", Value: "x"}}}}, "lantern", ""},
		{"nothing to look for", wire.SearchRequest{Query: "?! -x", Exclude: []string{"x"}}, "", ""},
		{"other scripts", wire.SearchRequest{Query: "ランタン фонарь हिन्दी"}, "ランタン фонарь हिन्दी", ""},
		{"a long word", wire.SearchRequest{Query: long}, long[:100], ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q, inScope := queryOf(c.request)
			if !inScope {
				q = query{}
			}
			if q.text != c.want || inScope != (c.want != "") || inScope && q.broader != c.broader {
				t.Errorf("%q, %q, %v", q.text, q.broader, inScope)
			}
		})
	}
	many, _ := queryOf(wire.SearchRequest{Query: strings.Repeat("abc ", 5000)})
	if n := len(strings.Fields(many.text)); n != mostWords {
		t.Errorf("%d words", n)
	}
}

func TestFewerWordsWhereNoMessageHasAll(t *testing.T) {
	s := slacktest.New(t, func(query string) slacktest.Answer {
		if strings.Contains(query, "staging") {
			return slacktest.Answer{}
		}
		return slacktest.Answer{Found: []slacktest.Message{lantern}}
	})
	response, err := newSource(s).Search(context.Background(), wire.SearchRequest{Query: "who changed the certificates of staging in November"})
	if err != nil || len(response.Results) != 1 || len(s.Queries()) != 2 {
		t.Errorf("%v, %+v, asked %q", err, response, s.Queries())
	}
}

func TestFiltersThatSlackIsNotTold(t *testing.T) {
	at := func(day int) slacktest.Message {
		m := lantern
		m.TS = fmt.Sprintf("%d.000100", time.Date(2026, 3, day, 12, 0, 0, 0, time.UTC).Unix())
		m.Username = fmt.Sprintf("person.%d", day)
		m.ChannelName = fmt.Sprintf("room-%d", day)
		return m
	}
	s := slacktest.New(t, always(slacktest.Answer{Found: []slacktest.Message{at(1), at(2), at(3), at(4)}}))
	since := &wire.Time{Time: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
	until := &wire.Time{Time: time.Date(2026, 3, 3, 12, 0, 1, 0, time.UTC)}
	for _, c := range []struct {
		name, want string
		request    wire.SearchRequest
	}{
		{"times to the second", "person.2 person.3", wire.SearchRequest{TimeCutoff: since, TimeUntil: until}},
		{"authors", "person.1 person.4", wire.SearchRequest{Filters: wire.Filters{Authors: []string{"Person 1", "PERSON.4@acme.com"}}}},
		{"a word of the name", "person.1 person.2 person.3 person.4", wire.SearchRequest{Filters: wire.Filters{Authors: []string{"person", "x"}}}},
		{"nobody", "", wire.SearchRequest{Filters: wire.Filters{Authors: []string{"per", "x"}}}},
		{"channels", "person.2 person.3", wire.SearchRequest{Filters: wire.Filters{Tags: []wire.Tag{{Key: "Channel", Value: "room-2"}, {Key: "Channel", Value: "#room-3"}}}}},
		{"places", "person.2 person.3", wire.SearchRequest{Filters: wire.Filters{Places: []string{"slack/#room-2", "#room-3", "handbook"}}}},
		{"an excluded place", "person.1 person.3 person.4", wire.SearchRequest{ExcludeFilters: wire.Filters{Places: []string{"#room-2"}}}},
		{"excluded", "person.2 person.3", wire.SearchRequest{ExcludeFilters: wire.Filters{Authors: []string{"Person 1"},
			Tags: []wire.Tag{{Key: "channel", Value: "#room-4"}}}}},
	} {
		c.request.Query = "lantern"
		response, err := newSource(s).Search(context.Background(), c.request)
		if err != nil {
			t.Fatal(err)
		}
		var who []string
		for _, r := range response.Results {
			who = append(who, r.Authors...)
		}
		if got := strings.Join(who, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if n := s.Counts()[0]; n != wantedFiltered {
		t.Errorf("asked for %d", n)
	}
}

func TestWhatSlackRefuses(t *testing.T) {
	cases := []struct {
		name   string
		answer slacktest.Answer
		kind   Kind
		words  []string
	}{
		{"a bot", slacktest.Answer{Error: "not_allowed_token_type"}, Auth, []string{"only user tokens", "xoxp-", "search:read"}},
		{"a scope", slacktest.Answer{Error: "missing_scope"}, Auth, []string{"missing_scope", "add the user scope search:read"}},
		{"a revoked token", slacktest.Answer{Error: "token_revoked"}, Auth, []string{"token_revoked", "token_command"}},
		{"an administrator", slacktest.Answer{Error: "enterprise_is_restricted"}, Auth, []string{"administrator"}},
		{"an outage", slacktest.Answer{Error: "internal_error"}, Unusable, []string{"try again"}},
		{"a limit in words", slacktest.Answer{Error: "ratelimited"}, RateLimited, []string{"again in 30s"}},
		{"a limit", slacktest.Answer{Status: 429, Header: map[string]string{"Retry-After": "17"}}, RateLimited, []string{"again in 17s"}},
		{"a limit without a time", slacktest.Answer{Status: 429}, RateLimited, []string{"again in 30s"}},
		{"a limit of nonsense", slacktest.Answer{Status: 429, Header: map[string]string{"Retry-After": "soon"}}, RateLimited, []string{"again in 30s"}},
		{"a limit of ages", slacktest.Answer{Status: 429, Header: map[string]string{"Retry-After": "99999999999999999999"}}, RateLimited, []string{"again in 1h"}},
		{"something unknown", slacktest.Answer{Error: "\x1b[2J weird_Thing\n"}, Refused, []string{"(2weird_hing)"}},
		{"503", slacktest.Answer{Status: 503, Raw: "<html>"}, Unusable, []string{"503", "status.slack.com"}},
		{"404", slacktest.Answer{Status: 404, Raw: "<html>"}, Unusable, []string{"404", "server_url"}},
		{"HTML", slacktest.Answer{Raw: "<html>Sign in</html>"}, Unusable, []string{"does not speak"}},
		{"half of it", slacktest.Answer{Raw: `{"ok":true,"messages":{"matches":[{"te`}, Unusable, []string{"does not speak"}},
		{"nothing", slacktest.Answer{Raw: `{}`}, Unusable, []string{"does not speak"}},
		{"wrong types", slacktest.Answer{Raw: `{"ok":true,"messages":{"matches":[{"ts":7}]}}`}, Unusable, []string{"does not speak"}},
		{"500 MB", slacktest.Answer{Raw: `{"ok":true,"messages":{"matches":[{"text":"` + strings.Repeat("x", 9<<20) + `"}]}}`}, Unusable, []string{"does not speak"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := slacktest.New(t, always(c.answer))
			_, err := newSource(s).Search(context.Background(), wire.SearchRequest{Query: "lantern"})
			var known *Error
			if !errors.As(err, &known) || known.Kind != c.kind {
				t.Fatalf("%v (%T)", err, err)
			}
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
			if text := err.Error(); strings.ContainsAny(text, "\n\x1b") || strings.Contains(text, s.Token) || len(text) > 400 {
				t.Errorf("%q", text)
			}
			if len(s.Queries()) != 1 {
				t.Errorf("asked %q", s.Queries())
			}
		})
	}
}

func TestSlackIsLeftAloneWhenItAsks(t *testing.T) {
	s := slacktest.New(t, always(slacktest.Answer{Status: 429, Header: map[string]string{"Retry-After": "17"}}))
	source := newSource(s)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	source.options.Now = func() time.Time { return now }
	asked := func(after time.Duration) int {
		now = now.Add(after)
		if _, err := source.Search(context.Background(), wire.SearchRequest{Query: "lantern"}); err == nil || !strings.Contains(err.Error(), "rate limit") {
			t.Errorf("%v", err)
		}
		return len(s.Queries())
	}
	if first, at16, at18 := asked(0), asked(16*time.Second), asked(2*time.Second); first != 1 || at16 != 1 || at18 != 2 {
		t.Errorf("%d, %d and %d requests", first, at16, at18)
	}
}

func TestTheTokenStaysWithItsServer(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 307, 308} {
		s := slacktest.New(t, always(slacktest.Answer{Status: status, Header: map[string]string{"Location": other.URL + "/api/search.messages"}}))
		_, err := newSource(s).Search(context.Background(), wire.SearchRequest{Query: "lantern"})
		if err == nil || !strings.Contains(err.Error(), "not followed") || elsewhere.Load() != 0 {
			t.Errorf("%d: %v, %d requests", status, err, elsewhere.Load())
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	source := New(Options{BaseURL: gone.URL, Transport: http.DefaultTransport,
		Token: func(context.Context) (string, error) { return "xoxp-secret", nil }})
	if _, err := source.Search(context.Background(), wire.SearchRequest{Query: "lantern"}); err == nil ||
		!strings.Contains(err.Error(), "cannot be reached") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

func TestCheckTellsWhoseTokenItIs(t *testing.T) {
	s := slacktest.New(t, always(slacktest.Answer{}))
	who, err := newSource(s).Check(context.Background())
	if err != nil || who != (Identity{User: "jo", Team: "Acme"}) {
		t.Errorf("%+v, %v", who, err)
	}
	s.Token += "4"
	stranger := New(Options{BaseURL: s.URL, Transport: http.DefaultTransport,
		Token: func(context.Context) (string, error) { return "xoxp-other", nil }})
	if _, err := stranger.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "invalid_auth") {
		t.Errorf("%v", err)
	}
	bot := slacktest.New(t, always(slacktest.Answer{Error: "not_allowed_token_type"}))
	if _, err := newSource(bot).Check(context.Background()); err == nil || !strings.Contains(err.Error(), "only user tokens") {
		t.Errorf("%v", err)
	}
}

func TestHostileMessages(t *testing.T) {
	message := func(change func(*slacktest.Message)) slacktest.Message {
		m := lantern
		change(&m)
		return m
	}
	for _, c := range []struct {
		name string
		m    slacktest.Message
		want string // title and content, "" for what is left out
	}{
		{"no time", message(func(m *slacktest.Message) { m.TS = "yesterday" }), ""},
		{"a huge time", message(func(m *slacktest.Message) { m.TS = strings.Repeat("9", 40) + ".1" }), ""},
		{"a number that is none", message(func(m *slacktest.Message) { m.Channel = "../../x" }), ""},
		{"no text", message(func(m *slacktest.Message) { m.Text = "" }), ""},
		{"controls", message(func(m *slacktest.Message) { m.Text, m.Username = "a\x1b[2Jb\ue000c\ue001", "x\x07\ny" }), "#boathouse · x y|a[2Jbc"},
		{"no name", message(func(m *slacktest.Message) { m.Text, m.Username = "a", "" }), "#boathouse · U2U85N1RV|a"},
		{"an app", message(func(m *slacktest.Message) {
			m.Text, m.Attachments = "", []any{map[string]any{"title": "Build *5*", "title_link": "https://ci.acme.com/5|x", "text": "it *failed*"},
				map[string]any{"fallback": "plain"}}
		}), "#boathouse · jo.ortiz|[Build *5*](https://ci.acme.com/5x)\n\nit **failed**\n\nplain"},
		{"blocks", message(func(m *slacktest.Message) {
			m.Text, m.Blocks = "", []any{map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": "*all* well"}},
				map[string]any{"type": "from the future", "text": 7}}
		}), "#boathouse · jo.ortiz|**all** well"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := slacktest.New(t, always(slacktest.Answer{Found: []slacktest.Message{c.m}}))
			response, err := newSource(s).Search(context.Background(), wire.SearchRequest{Query: "lantern"})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, r := range response.Results {
				got = r.Title + "|" + r.Content
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	for _, link := range []string{"javascript:alert(1)", "file:///etc/passwd", "https://u:p@x/", "https:", "\x00", "https://x/" + strings.Repeat("y", 3000)} {
		if linkOf(link) != nil {
			t.Errorf("a link to %q", link)
		}
	}
}
