package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

// relaying is a listener whose agents send the body of a search.
func relaying(w *world, options PublicOptions) http.Handler {
	options.MCP = func(out http.ResponseWriter, r *http.Request, caller http.Handler) error {
		inner := httptest.NewRequestWithContext(r.Context(), http.MethodPost, "/search", r.Body)
		caller.ServeHTTP(out, inner)
		return nil
	}
	return w.server.Gate(options).Listener(true)
}

func TestAgentsHaveTheRightsOfTheirToken(t *testing.T) {
	w := newWorld(t)
	handler := relaying(w, PublicOptions{})
	for who, want := range map[string]string{"jo": "file:/jo/notes.md", "kim": "file:/legal/contract.md", "scoped": "file:/jo/notes.md"} {
		for _, path := range []string{"/mcp", "/api/mcp", "/mcp/connector"} {
			found := ids(decoded[wire.SearchResponse](w, w.call(handler, who, http.MethodPost, path, `{"query":"zanzibar zeppelin"}`)))
			if len(found) != 1 || found[0] != want {
				t.Errorf("%s finds %v at %s", who, found, path)
			}
		}
	}
	log := w.log.String()
	for _, wanted := range []string{"msg=search", "user=jo@acme.example", "user=kim@acme.example", "path=/mcp", "path=/search"} {
		if !strings.Contains(log, wanted) {
			t.Errorf("the log has no %s:\n%s", wanted, log)
		}
	}
	if strings.Contains(log, w.tokens["jo"]) {
		t.Error("the log has a token")
	}
}

func TestWhoIsNoAgent(t *testing.T) {
	w := newWorld(t)
	handler := relaying(w, PublicOptions{})
	w.tokens["nobody"] = "onyx_pat_" + strings.Repeat("x", 256)
	for _, test := range []struct {
		who, method, body string
		status            int
		challenge         bool
	}{
		{"", http.MethodPost, "{}", http.StatusUnauthorized, true},
		{"nobody", http.MethodPost, "{}", http.StatusUnauthorized, true},
		{"chat", http.MethodPost, "{}", http.StatusForbidden, false},
		{"jo", http.MethodGet, "", http.StatusMethodNotAllowed, false},
		{"jo", http.MethodDelete, "", http.StatusMethodNotAllowed, false},
		{"", http.MethodGet, "", http.StatusMethodNotAllowed, false},
		{"jo", http.MethodPost, strings.Repeat(" ", megabyte+1), http.StatusRequestEntityTooLarge, false},
	} {
		got := w.call(handler, test.who, test.method, "/mcp", test.body)
		if got.Code != test.status || (got.Header().Get("WWW-Authenticate") == mcpRealm) != test.challenge {
			t.Errorf("%s of %q: HTTP %d %v %s", test.method, test.who, got.Code, got.Header(), got.Body)
		}
		if test.status == http.StatusMethodNotAllowed && got.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s: Allow %q", test.method, got.Header().Get("Allow"))
		}
	}
	for _, headers := range []map[string]string{{"Origin": "https://evil.example"}, {"Host": "evil.example"}} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader("{}"))
		r.Host = "localhost:8080"
		r.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
		want := http.StatusForbidden
		for name, value := range headers {
			r.Header.Set(name, value)
			if name == "Host" {
				r.Host, want = value, http.StatusMisdirectedRequest
			}
		}
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, r); answer.Code != want {
			t.Errorf("%v: HTTP %d", headers, answer.Code)
		}
	}
	if got := w.call(w.public, "jo", http.MethodPost, "/mcp", "{}"); got.Code != http.StatusNotFound {
		t.Errorf("where there are no agents: HTTP %d", got.Code)
	}
}

// The searches of agents count as searches of the token, whichever way they come.
func TestAgentsAreLimited(t *testing.T) {
	w := newWorld(t)
	w.server.Now = (&clock{today}).read
	handler := relaying(w, PublicOptions{Rate: Rate{2, time.Hour}})
	for i, test := range []struct {
		path string
		want int
	}{{"/mcp", 200}, {"/search", 200}, {"/mcp", 429}, {"/search", 429}} {
		if got := w.call(handler, "jo", http.MethodPost, test.path, `{"query":"deploy"}`); got.Code != test.want {
			t.Errorf("request %d: HTTP %d %s", i, got.Code, got.Body)
		}
	}
}

// With every worker busy with agents, their own searches still get one.
func TestAgentsDoNotWaitForThemselves(t *testing.T) {
	w := newWorld(t)
	handler := relaying(w, PublicOptions{Concurrency: 1})
	if got := w.call(handler, "jo", http.MethodPost, "/mcp", `{"query":"deploy"}`); got.Code != http.StatusOK {
		t.Errorf("HTTP %d %s", got.Code, got.Body)
	}
}
