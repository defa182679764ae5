package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/api"
	"quarry/server/directory"
)

// visit asks as a visitor.
func visit(t *testing.T, handler http.Handler, method, target, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// postDocument stores a document for some people, over the API.
func postDocument(t *testing.T, handler http.Handler, id string, emails ...string) {
	t.Helper()
	access := map[string]any{"external_user_emails": emails, "external_user_group_ids": []string{}, "is_public": len(emails) == 0}
	body, err := json.Marshal(map[string]any{"document": map[string]any{"id": id, "source": "web", "semantic_identifier": id,
		"sections": []map[string]string{{"text": "The plan of " + id + "."}}, "metadata": map[string]any{},
		"from_ingestion_api": true, "external_access": access}})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := visit(t, handler, "POST", "/onyx-api/ingestion", string(body)); status != http.StatusOK {
		t.Fatalf("HTTP %d %s", status, answer)
	}
}

func TestVisitors(t *testing.T) {
	ctx := t.Context()
	s := open(t, Options{Home: t.TempDir()})
	people, err := s.directory(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, email := range []string{"jo@acme.com", "gone@acme.com"} {
		if _, err := people.In(ctx, directory.DefaultTenant).AddUser(email, directory.RoleAdmin); err != nil {
			t.Fatal(err)
		}
	}
	if err := people.In(ctx, directory.DefaultTenant).SetActive("gone@acme.com", false); err != nil {
		t.Fatal(err)
	}
	token := addToken(t, s, directory.TokenRequest{Tenant: directory.DefaultTenant, Name: "laptop", Email: "jo@acme.com"})
	owner := s.InProcess(directory.Owner(directory.DefaultTenant))
	postDocument(t, owner, "everybody")
	postDocument(t, owner, "jo", "jo@acme.com")
	postDocument(t, owner, "gone", "gone@acme.com")

	admission := s.Admit(api.PublicOptions{})
	tests := map[string]struct {
		handler http.Handler
		status  int
		found   []string
	}{
		"anybody":              {admission.Anybody("192.0.2.7:4000"), 200, []string{"everybody"}},
		"a person":             {admission.Person("Jo@Acme.com", "192.0.2.7:4000"), 200, []string{"everybody", "jo"}},
		"a token":              {admission.Token(token, "192.0.2.7:4000"), 200, []string{"everybody", "jo"}},
		"the owner":            {admission.Person(directory.OwnerEmail, "192.0.2.7:4000"), 200, []string{"everybody"}},
		"who is not active":    {admission.Person("gone@acme.com", "192.0.2.7:4000"), 403, nil},
		"who is not known":     {admission.Person("stranger@acme.com", "192.0.2.7:4000"), 403, nil},
		"a token of nobody":    {admission.Token("onyx_pat_x", "192.0.2.7:4000"), 403, nil},
		"somebody without one": {admission.Token("", "192.0.2.7:4000"), 403, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, body := visit(t, test.handler, "POST", "/search", `{"query":"plan","num_results":50}`)
			var answer wire.SearchResponse
			if err := json.Unmarshal([]byte(body), &answer); status != test.status || err != nil {
				t.Fatalf("HTTP %d %s (%v)", status, body, err)
			}
			var found []string
			for _, result := range answer.Results {
				found = append(found, result.DocumentID)
			}
			if slices.Sort(found); !slices.Equal(found, test.found) {
				t.Errorf("found %v, want %v", found, test.found)
			}
			for _, way := range []string{"POST /library/add", "POST /library/remove", "POST /library/sync", "GET /library/status", "GET /library/file?document_id=x",
				"GET /admin/users", "POST /admin/sandbox-tokens", "DELETE /admin/tenants",
				"GET /metrics", "POST /manage/admin/user-group", "POST /onyx-api/ingestion", "POST /user/pats"} {
				method, target, _ := strings.Cut(way, " ")
				if status, body := visit(t, test.handler, method, target, `{}`); status != 404 && status != 403 && !strings.HasPrefix(name, "a token") {
					t.Errorf("%s: HTTP %d %s", way, status, body)
				}
			}
		})
	}

	t.Run("what is taken away is gone at once", func(t *testing.T) {
		handler := admission.Person("jo@acme.com", "192.0.2.7:4000")
		if err := people.In(ctx, directory.DefaultTenant).SetActive("jo@acme.com", false); err != nil {
			t.Fatal(err)
		}
		if status, body := visit(t, handler, "GET", "/me", ""); status != http.StatusForbidden {
			t.Errorf("HTTP %d %s", status, body)
		}
	})
}

// A visitor has the limits of a caller with a token: each person their own, and nobody in particular one by address.
func TestVisitorsAreLimited(t *testing.T) {
	s := open(t, Options{Home: t.TempDir()})
	admission := s.Admit(api.PublicOptions{Rate: api.Rate{Count: 1, Per: time.Hour}})
	for _, step := range []struct {
		remote string
		status int
	}{{"192.0.2.1:1", 200}, {"192.0.2.1:2", 429}, {"192.0.2.2:1", 200}} {
		handler := admission.Anybody(step.remote)
		if status, body := visit(t, handler, "POST", "/search", `{"query":"plan"}`); status != step.status {
			t.Errorf("%s: HTTP %d %s", step.remote, status, body)
		}
	}
}
