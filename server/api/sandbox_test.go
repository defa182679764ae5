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
