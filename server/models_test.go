package server

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quarry/server/directory"
	"quarry/server/llm"
	"quarry/server/llm/llmtest"
)

// modelsAt are those of a scripted server, with a budget of tokens a day.
func modelsAt(t *testing.T, server *llmtest.Server, budget int) *llm.Providers {
	t.Helper()
	models, err := llm.New(llm.Config{Default: "local/small", Budget: budget, Providers: map[string]llm.Provider{
		"local": {BaseURL: server.BaseURL(), Models: []string{"small"}}}, Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// TestTheBudgetOutlivesTheServer uses a day's tokens up in one server and asks the next one over the same files.
func TestTheBudgetOutlivesTheServer(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Any(), llmtest.Text("lantern"))
	now := time.Date(2026, 8, 1, 22, 30, 0, 0, time.UTC)
	options := Options{Home: t.TempDir(), Models: modelsAt(t, model, 1), Now: func() time.Time { return now }}
	first, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := ask(t, first, "POST", "/search", `{"query":"lantern"}`); status != http.StatusOK {
		t.Fatalf("HTTP %d %s", status, body)
	}
	if len(model.Requests()) == 0 {
		t.Fatal("the model was not asked")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	s := open(t, options)
	asked := len(model.Requests())
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/search", strings.NewReader(`{"query":"lantern"}`))
	answer := httptest.NewRecorder()
	s.InProcess(s.Owner()).ServeHTTP(answer, r)
	if answer.Code != http.StatusTooManyRequests || answer.Header().Get("Retry-After") != "5400" ||
		!strings.Contains(answer.Body.String(), `"error_code":"RATE_LIMITED"`) {
		t.Errorf("HTTP %d, again after %s: %s", answer.Code, answer.Header().Get("Retry-After"), answer.Body)
	}
	for _, body := range []string{
		`{"query":"lantern","instant":true}`,
		`{"query":"lantern","skip_query_expansion":true,"skip_document_selection":true}`,
	} {
		if status, answer := ask(t, s, "POST", "/search", body); status != http.StatusOK {
			t.Errorf("%s: HTTP %d %s", body, status, answer)
		}
	}
	if len(model.Requests()) != asked {
		t.Error("the model was asked beyond the budget")
	}
	now = now.Add(2 * time.Hour)
	if status, body := ask(t, s, "POST", "/search", `{"query":"lantern"}`); status != http.StatusOK {
		t.Errorf("the next day: HTTP %d %s", status, body)
	}
}

// TestTheSampleLibraryAsksTheModel: Enter runs the whole pipeline there, too, and nothing is stored for its budget.
func TestTheSampleLibraryAsksTheModel(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Any(), llmtest.Text("deploy"))
	s := open(t, Options{Sample: true, Models: modelsAt(t, model, 1)})
	if status, body := ask(t, s, "POST", "/search", `{"query":"deploy","instant":true}`); status != http.StatusOK {
		t.Fatalf("HTTP %d %s", status, body)
	}
	if n := len(model.Requests()); n != 0 {
		t.Errorf("%d calls while typing", n)
	}
	if status, body := ask(t, s, "POST", "/search", `{"query":"deploy"}`); status != http.StatusOK || len(model.Requests()) == 0 {
		t.Errorf("HTTP %d, %d calls: %s", status, len(model.Requests()), body)
	}
	if status, _ := ask(t, s, "POST", "/search", `{"query":"deploy"}`); status != http.StatusTooManyRequests {
		t.Errorf("beyond the budget: HTTP %d", status)
	}
}

// TestTheAuditTellsWhatModelsCost, and never what they were asked where queries are kept out.
func TestTheAuditTellsWhatModelsCost(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Any(), llmtest.Text("lantern"))
	var lines bytes.Buffer
	s := open(t, Options{Home: t.TempDir(), Models: modelsAt(t, model, 0), OmitQueries: true,
		Log: slog.New(slog.NewTextHandler(&lines, nil))})
	who := directory.Principal{Tenant: directory.DefaultTenant, Email: "ann@example.com", Permissions: []string{directory.PermissionReadSearch}}
	r := httptest.NewRequestWithContext(context.Background(), "POST", "/search", strings.NewReader(`{"query":"lighthouse"}`))
	s.InProcess(who).ServeHTTP(httptest.NewRecorder(), r)
	text := lines.String()
	if !strings.Contains(text, "model_calls=") || !strings.Contains(text, "model_tokens_by.rephrase=") ||
		strings.Contains(text, "lighthouse") {
		t.Errorf("the log says %s", text)
	}
}
