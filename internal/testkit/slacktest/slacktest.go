// Package slacktest is a server that answers as Slack's API does, for tests.
package slacktest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// Message is a message that is found.
type Message struct {
	Channel, ChannelName string
	User, Username       string
	Text, TS             string
	Permalink            string
	Attachments, Blocks  []any
}

// Answer is what the server says to one search.
type Answer struct {
	Found  []Message
	Error  string // code of Slack; with "ok": false
	Status int    // 0: 200
	Header map[string]string
	Raw    string // in place of everything else
}

// Server is a workspace of Slack. A token other than its own is refused.
type Server struct {
	URL   string // of the API
	Token string

	mutex   sync.Mutex
	answer  func(query string) Answer
	queries []string
	counts  []int
}

// New serves until the test ends.
func New(t *testing.T, answer func(query string) Answer) *Server {
	t.Helper()
	s := &Server{Token: "xoxp-1-2-3", answer: answer}
	served := httptest.NewServer(s)
	t.Cleanup(served.Close)
	s.URL = served.URL + "/api"
	return s
}

// Queries are those that were asked so far.
func (s *Server) Queries() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string(nil), s.queries...)
}

// Counts are how many messages each of them wanted.
func (s *Server) Counts() []int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]int(nil), s.counts...)
}

// ServeHTTP answers auth.test and search.messages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	token := r.PostFormValue("token")
	switch {
	case r.Method != http.MethodPost || r.URL.RawQuery != "":
		http.Error(w, "a token does not belong into an address", http.StatusMethodNotAllowed)
	case token == "":
		say(w, map[string]any{"ok": false, "error": "not_authed"})
	case token != s.Token:
		say(w, map[string]any{"ok": false, "error": "invalid_auth"})
	case r.URL.Path == "/api/auth.test":
		say(w, map[string]any{"ok": true, "url": "https://acme.slack.com/", "team": "Acme", "user": "jo",
			"team_id": "T1", "user_id": "U1", "is_enterprise_install": false})
	case r.URL.Path == "/api/search.messages":
		s.search(w, r)
	default:
		say(w, map[string]any{"ok": false, "error": "unknown_method", "req_method": r.URL.Path})
	}
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	query := r.PostFormValue("query")
	count := 20
	if n, err := strconv.Atoi(r.PostFormValue("count")); err == nil {
		count = n
	}
	s.mutex.Lock()
	s.queries, s.counts = append(s.queries, query), append(s.counts, count)
	s.mutex.Unlock()
	answer := s.answer(query)
	for key, value := range answer.Header {
		w.Header().Set(key, value)
	}
	if answer.Status != 0 {
		w.WriteHeader(answer.Status)
	}
	switch {
	case answer.Raw != "":
		_, _ = w.Write([]byte(answer.Raw))
	case answer.Error != "":
		say(w, map[string]any{"ok": false, "error": answer.Error, "needed": "search:read", "provided": "identify,chat:write"})
	default:
		say(w, found(query, answer.Found, count))
	}
}

func say(w http.ResponseWriter, body any) { _ = json.NewEncoder(w).Encode(body) }

// found has the shape of search.messages.
func found(query string, messages []Message, count int) map[string]any {
	matches := []any{}
	for i, m := range messages {
		matches = append(matches, map[string]any{
			"iid": "cb64bdaa-c1e8-4631-8a91-0f78080113e" + strconv.Itoa(i%10), "team": "T1", "score": 0.97, "type": "message",
			"channel": map[string]any{"id": m.Channel, "name": m.ChannelName, "is_channel": true, "is_group": false,
				"is_im": false, "is_mpim": false, "is_private": false, "is_shared": false, "is_org_shared": false,
				"is_ext_shared": false, "is_pending_ext_shared": false, "pending_shared": []any{}},
			"user": m.User, "username": m.Username, "ts": m.TS, "text": m.Text, "permalink": m.Permalink,
			"attachments": m.Attachments, "blocks": m.Blocks, "no_reactions": true,
		})
	}
	pages := max(1, (len(messages)+count-1)/count)
	return map[string]any{"ok": true, "query": query, "messages": map[string]any{
		"total": len(messages), "matches": matches,
		"pagination": map[string]any{"total_count": len(messages), "page": 1, "per_page": count, "page_count": pages,
			"first": 1, "last": len(messages)},
		"paging": map[string]any{"count": count, "total": len(messages), "page": 1, "pages": pages},
	}}
}
