package api

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/directory"
)

// A token that may make tokens gives no more than it has: in scope, in time, in requests, and not after it was revoked.
func TestATokenGivesAtMostWhatItHas(t *testing.T) {
	w := newWorld(t)
	w.public = w.server.Gate(PublicOptions{Rate: Rate{2, time.Hour}}).Listener(true)
	days := 1
	parent, secret, err := w.people.AddToken(t.Context(), directory.TokenRequest{Name: "ci", Days: &days,
		Scopes: []string{"create:user_api_keys", "read:search", "basic"}})
	w.check(err)
	w.tokens["parent"] = secret
	for name, body := range map[string]string{
		"without end":     `{"name":"x","expiration_days":null,"scopes":["read:search"]}`,
		"for a long time": `{"name":"x","expiration_days":36500,"scopes":["read:search"]}`,
	} {
		made := post[wire.NewAccessToken](w, "parent", "/user/pats", body)
		if want := directory.Timestamp(parent.ExpiresAt); made.ExpiresAt == nil || *made.ExpiresAt != want {
			t.Errorf("%s: expires %v, want %s", name, made.ExpiresAt, want)
		}
		w.tokens[name] = made.Token
	}
	if refused := w.call(w.public, "parent", "POST", "/user/pats", `{"name":"x"}`); refused.Code != http.StatusForbidden {
		t.Errorf("a token of all scopes: HTTP %d %s", refused.Code, refused.Body)
	}

	const search = `{"query":"deploy"}`
	for i, who := range []string{"parent", "without end", "for a long time"} {
		want := http.StatusOK
		if i == 2 {
			want = http.StatusTooManyRequests // two an hour, for the family
		}
		if answer := w.call(w.public, who, "POST", "/search", search); answer.Code != want {
			t.Errorf("%s: HTTP %d, want %d", who, answer.Code, want)
		}
	}

	deleted := w.call(w.public, "owner", http.MethodDelete, "/user/pats/"+strconv.Itoa(parent.ID), "")
	if deleted.Code != http.StatusOK {
		t.Fatalf("HTTP %d %s", deleted.Code, deleted.Body)
	}
	for _, who := range []string{"parent", "without end", "for a long time"} {
		if answer := w.call(w.public, who, "GET", "/me", ""); answer.Code != http.StatusForbidden {
			t.Errorf("%s after the end of its parent: HTTP %d", who, answer.Code)
		}
	}
}
