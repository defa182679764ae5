package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
)

// The token of a sandbox searches for its user and does nothing else, and the user's list of tokens does not have it.
func TestSandboxTokensAreHidden(t *testing.T) {
	w := newWorld(t)
	const email = "kim@acme.example"
	request := directory.SandboxRequest{Email: email, Key: strings.Repeat("k", 32)}
	token, secret, _, err := w.people.EnsureSandboxToken(t.Context(), request)
	w.check(err)
	w.tokens["sandbox"] = secret
	_, own, err := w.people.AddToken(t.Context(), directory.TokenRequest{Name: "own", Email: email})
	w.check(err)
	w.tokens["own"] = own
	if listed := w.call(w.public, "own", "GET", "/user/pats", ""); strings.Contains(listed.Body.String(), token.Display) ||
		!strings.Contains(listed.Body.String(), `"own"`) {
		t.Errorf("the user's tokens: %s", listed.Body)
	}
	for method, paths := range map[string][]string{"GET": {"/user/pats", "/user/pats/scopes"},
		"DELETE": {"/user/pats/" + strconv.Itoa(token.ID)}, "POST": {"/user/pats", "/onyx-api/ingestion", "/chat/send-chat-message"}} {
		for _, path := range paths {
			if answer := w.call(w.public, "sandbox", method, path, `{"name":"x"}`); answer.Code != http.StatusForbidden {
				t.Errorf("%s %s of a sandbox: HTTP %d", method, path, answer.Code)
			}
		}
	}
	if answer := w.call(w.public, "own", "DELETE", "/user/pats/"+strconv.Itoa(token.ID), ""); answer.Code != http.StatusNotFound {
		t.Errorf("deleting it: HTTP %d", answer.Code)
	}
	for _, path := range []string{"/me", "/manage/connector-status", "/persona", "/query/valid-tags"} {
		if answer := w.call(w.public, "sandbox", "GET", path, ""); answer.Code != http.StatusOK {
			t.Errorf("%s: HTTP %d", path, answer.Code)
		}
	}
	theirs, ours := post[wire.SearchResponse](w, "own", "/search", `{"query":"deploy"}`), post[wire.SearchResponse](w, "sandbox", "/search", `{"query":"deploy"}`)
	if len(ours.Results) == 0 || len(ours.Results) != len(theirs.Results) {
		t.Errorf("%d results, the user has %d", len(ours.Results), len(theirs.Results))
	}
}

// TestSandboxSearch: the route of the first design answers tokens of sandboxes, with its own fields and errors.
func TestSandboxSearch(t *testing.T) {
	w := newWorld(t)
	_, secret, _, err := w.people.EnsureSandboxToken(t.Context(),
		directory.SandboxRequest{Email: "kim@acme.example", Key: strings.Repeat("k", 32)})
	w.check(err)
	w.tokens["sandbox"] = secret
	const path = "/build/sandbox/search"
	for _, test := range []struct {
		who, body string
		status    int
		answer    string
	}{
		{"", `{"query":"deploy"}`, http.StatusUnauthorized, `"error_code":"UNAUTHENTICATED"`},
		{"kim", `{"query":"deploy"}`, http.StatusForbidden, `needs the token of a sandbox`},
		{"sandbox", `{}`, http.StatusBadRequest, `"error_code":"INVALID_REQUEST"`},
		{"sandbox", `{"query":"` + strings.Repeat("x", 1025) + `"}`, http.StatusBadRequest, `"error_code":"INVALID_REQUEST"`},
		{"sandbox", `{"query":"x","limit":26}`, http.StatusBadRequest, `"error_code":"INVALID_REQUEST"`},
		{"sandbox", `{"query":"x","source_filters":["slak"]}`, http.StatusBadRequest, `INVALID_REQUEST`},
		{"sandbox", `{"query":"x","time_cutoff_days":0}`, http.StatusBadRequest, `INVALID_REQUEST`},
		{"sandbox", `{"query":"qqqqqqqq"}`, http.StatusOK, `{"results":[],"llm_facing_text":"","citation_mapping":{}}`},
		{"sandbox", `{"query":"deploy","time_cutoff_days":36500,"limit":2}`, http.StatusOK, `"llm_facing_text":"[1] `},
	} {
		if got := w.call(w.public, test.who, "POST", path, test.body); got.Code != test.status || !strings.Contains(got.Body.String(), test.answer) {
			t.Errorf("%s %.60s: HTTP %d %s", test.who, test.body, got.Code, got.Body)
		}
	}
	theirs := post[wire.SearchResponse](w, "kim", "/search", `{"query":"deploy"}`)
	ours := post[struct {
		wire.SandboxResponse
		Results []wire.SearchResult `json:"results"`
	}](w, "sandbox", path, `{"query":"deploy"}`)
	for i, r := range ours.Results {
		if want := theirs.Results[i]; r.DocumentID != want.DocumentID || r.Blurb == "" || *want.CitationID != *r.CitationID ||
			!strings.Contains(ours.LLMFacingText, want.Content) || ours.CitationMapping[strconv.Itoa(*r.CitationID)] != r.DocumentID {
			t.Errorf("result %d: %+v of %+v", i, r, want)
		}
	}
	refused := 0
	for range sandboxRate().Count {
		if w.call(w.public, "sandbox", "POST", path, `{"query":"deploy"}`).Code == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 || w.call(w.public, "sandbox", "POST", "/search", `{"query":"deploy"}`).Code != http.StatusOK {
		t.Errorf("%d searches were refused; the other route is not limited", refused)
	}
}
