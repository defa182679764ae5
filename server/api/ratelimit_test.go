package api

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"quarry/server/directory"
)

// clock is a clock that the test moves.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func TestLimiterTable(t *testing.T) {
	c := &clock{today}
	l := newLimiter("", Rate{3, time.Minute}, c.read, nil)
	for i, step := range []struct {
		after time.Duration
		key   string
		wait  time.Duration // 0: admitted
	}{
		{0, "a", 0}, {0, "a", 0}, {0, "a", 0}, {0, "a", 20 * time.Second},
		{0, "b", 0}, // others are not touched
		{5 * time.Second, "a", 15 * time.Second},
		{15 * time.Second, "a", 0}, // after exactly the wait that was told
		{0, "a", 20 * time.Second},
		{-time.Hour, "a", 20 * time.Second},                                           // a clock that is set back gives nothing
		{2 * time.Hour, "a", 0}, {0, "a", 0}, {0, "a", 0}, {0, "a", 20 * time.Second}, // no more than the count is saved up
	} {
		c.now = c.now.Add(step.after)
		wait, ok := l.allow(step.key)
		if ok != (step.wait == 0) || (wait-step.wait).Abs() > time.Microsecond {
			t.Errorf("step %d: %v after %v, want %v", i, ok, wait, step.wait)
		}
	}
	for _, none := range []Rate{{}, {0, time.Second}, {1, 0}, {-1, time.Hour}} {
		if l := newLimiter("", none, c.read, nil); l != nil {
			t.Errorf("%v limits", none)
		}
	}
	if _, ok := (*limiter)(nil).allow("x"); !ok {
		t.Error("no limiter refuses")
	}
}

// TestLimiterNeverAdmitsMore than the count and what the time between has refilled, in any stretch of time; and a wait
// that it tells is enough.
func TestLimiterNeverAdmitsMore(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rate := Rate{1 + random.IntN(9), time.Duration(1+random.IntN(100)) * time.Second}
		c := &clock{today}
		l := newLimiter("", rate, c.read, nil)
		var admitted []time.Time
		for range 300 {
			wait, ok := l.allow("x")
			if !ok {
				c.now = c.now.Add(wait)
				if _, ok = l.allow("x"); !ok {
					t.Fatalf("%v: refused after the wait of %v", rate, wait)
				}
			}
			admitted = append(admitted, c.now)
			c.now = c.now.Add(time.Duration(random.ExpFloat64() * float64(rate.Per) / float64(rate.Count)))
		}
		for i := range admitted {
			for j := i; j < len(admitted); j++ {
				refilled := admitted[j].Sub(admitted[i]).Seconds() * float64(rate.Count) / rate.Per.Seconds()
				if float64(j-i+1) > float64(rate.Count)+refilled+1e-3 {
					t.Fatalf("%v: %d requests within %v", rate, j-i+1, admitted[j].Sub(admitted[i]))
				}
			}
		}
	}
}

func TestLimiterIsBounded(t *testing.T) {
	c := &clock{today}
	l := newLimiter("", Rate{1, time.Hour}, c.read, nil)
	l.allow("first")
	for i := range maxBuckets - 1 {
		l.allow(strconv.Itoa(i))
	}
	if _, ok := l.allow("first"); ok { // refused, and thereby in use again
		t.Fatal("forgotten before the table is full")
	}
	for i := range maxBuckets - 1 {
		l.allow("more" + strconv.Itoa(i))
	}
	if n := l.buckets.Len(); n != maxBuckets {
		t.Errorf("%d keys", n)
	}
	if _, ok := l.allow("first"); ok {
		t.Error("what was used lately is forgotten")
	}
}

// limited is a listener with a limit, and its clock.
func limited(w *world, rate Rate) (http.Handler, *clock) {
	c := &clock{today}
	w.server.Now = c.read
	return w.server.Gate(PublicOptions{Rate: rate}).Listener(true), c
}

func TestSearchesAreLimitedPerToken(t *testing.T) {
	w := newWorld(t)
	handler, c := limited(w, Rate{2, time.Hour})
	ask := func(who, body string) *httptest.ResponseRecorder {
		return w.call(handler, who, "POST", "/api/search", body)
	}
	for i, want := range []int{200, 422, 429, 429} { // a request that is wrong counts, one that is refused does not
		body := `{"query":"deploy"}`
		if want == 422 {
			body = `{}`
		}
		if got := ask("jo", body); got.Code != want {
			t.Fatalf("search %d: HTTP %d %s", i, got.Code, got.Body)
		}
	}
	refused := ask("jo", `{"query":"deploy"}`)
	want := `{"error_code":"RATE_LIMITED","detail":"This token has used up its 2 searches and questions per hour. Try again in 30m0s."}`
	if got := strings.TrimSpace(refused.Body.String()); got != want || refused.Header().Get("Retry-After") != "1800" {
		t.Errorf("%s, Retry-After %q", got, refused.Header().Get("Retry-After"))
	}
	if got := ask("kim", `{"query":"deploy"}`).Code; got != 200 {
		t.Errorf("somebody else: HTTP %d", got)
	}
	if got := ask("", `{"query":"deploy"}`).Code; got != 403 {
		t.Errorf("nobody: HTTP %d", got)
	}
	for _, target := range []string{"/me", "/persona", "/search/suggest?prefix=d", "/search/facets"} {
		if got := w.call(handler, "jo", "GET", target, "").Code; got != 200 {
			t.Errorf("%s: HTTP %d", target, got)
		}
	}
	c.now = c.now.Add(1800 * time.Second)
	if got := ask("jo", `{"query":"deploy"}`).Code; got != 200 {
		t.Errorf("after Retry-After: HTTP %d", got)
	}
	if strings.Contains(w.log.String(), "onyx_pat") {
		t.Error("a token in the log")
	}
}

// TestSessionsAreLimited whatever token is used: Jo has two that may chat.
func TestSessionsAreLimited(t *testing.T) {
	w := newWorld(t)
	handler, _ := limited(w, Rate{2, time.Hour})
	ask := func(who, session string) int {
		body := fmt.Sprintf(`{"message":"hello","chat_session_id":%q}`, session)
		return w.call(handler, who, "POST", "/chat/send-chat-message", body).Code
	}
	for i, step := range []struct {
		who, session string
		refused      bool
	}{
		{"jo", "s1", false}, {"chat", "s1", false}, {"chat", "s1", true}, // two of the session, although not of the token
		{"jo", "", false}, {"jo", "s2", true}, // the token's own limit
		{"kim", "s1", false}, // a session of the same name that is not Jo's
	} {
		if got := ask(step.who, step.session); (got == 429) != step.refused {
			t.Errorf("step %d: HTTP %d", i, got)
		}
	}
}

func TestSessionOfABody(t *testing.T) {
	for _, test := range []struct{ path, body, session string }{
		{"/chat/send-chat-message", `{"message":"x","chat_session_id":"s"}`, "s"},
		{"/chat/send-chat-message", `{"message":"x","chat_session_id":null}`, ""},
		{"/chat/send-chat-message", `{"chat_session_id":"s","CHAT_SESSION_ID":"other"}`, "s"},
		{"/chat/send-chat-message", `{"chat_session_id":"` + strings.Repeat("s", 201) + `"}`, ""},
		{"/chat/send-chat-message", `{"chat_session_id":7}`, ""},
		{"/chat/send-chat-message", `{`, ""},
		{"/chat/send-chat-message", ``, ""},
		{"/search", `{"chat_session_id":"s"}`, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", test.path, nil)
		if got := sessionOf(r, []byte(test.body)); got != test.session {
			t.Errorf("%.60s: session %q", test.body, got)
		}
	}
}

// TestChangesAreLimitedPerPerson whatever tokens they use; administrators' are not.
func TestChangesAreLimitedPerPerson(t *testing.T) {
	w := newWorld(t)
	handler, c := limited(w, Rate{})
	change := func(who string, i int) *httptest.ResponseRecorder {
		w.t.Helper()
		route := []string{"POST /chat/create-chat-session", "DELETE /persona/987", "DELETE /user/pats/987"}[i%3]
		if who == "chat" {
			route = "POST /chat/create-chat-session"
		}
		method, target, _ := strings.Cut(route, " ")
		return w.call(handler, who, method, target, "{}")
	}
	rate := changeRate()
	for i := range rate.Count {
		if got := change("jo", i); got.Code == http.StatusTooManyRequests {
			t.Fatalf("change %d: HTTP %d %s", i, got.Code, got.Body)
		}
	}
	for _, who := range []string{"jo", "chat"} {
		refused := change(who, 0)
		want := `{"error_code":"RATE_LIMITED","detail":"You have used up your 120 changes and questions per minute. Try again in 1s."}`
		if got := strings.TrimSpace(refused.Body.String()); got != want || refused.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: %s, Retry-After %q", who, got, refused.Header().Get("Retry-After"))
		}
	}
	if got := w.call(handler, "jo", "POST", "/search", `{"query":"deploy"}`).Code; got != http.StatusOK {
		t.Errorf("a search: HTTP %d", got)
	}
	if got := change("kim", 0).Code; got == http.StatusTooManyRequests {
		t.Error("somebody else is limited, too")
	}
	for i := range 2 * rate.Count {
		if got := change("owner", i).Code; got == http.StatusTooManyRequests {
			t.Fatalf("an administrator's change %d: HTTP %d", i, got)
		}
	}
	c.now = c.now.Add(time.Second)
	if got := change("jo", 0).Code; got == http.StatusTooManyRequests {
		t.Error("after Retry-After")
	}
}

// TestWhatChangesIsLimited: every route by which others than administrators change something.
func TestWhatChangesIsLimited(t *testing.T) {
	for _, r := range routes() {
		method, _, _ := strings.Cut(r.pattern, " ")
		forAdmins := r.needs == directory.PermissionAdmin || r.needs == directory.PermissionManageConnectors
		if reads := method == "GET" || strings.HasSuffix(r.pattern, "/search"); r.changes == (reads || forAdmins) {
			t.Errorf("%s: limited: %t", r.pattern, r.changes)
		}
	}
}
