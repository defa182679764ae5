package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/server/directory"
	"quarry/server/llm"
)

// asOwner posts to a route of the owner, and reads the answer.
func asOwner[T any](t *testing.T, s *Server, method, path, body string) T {
	t.Helper()
	recorder := httptest.NewRecorder()
	s.Handler(directory.Owner(directory.DefaultTenant)).ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
	var answer T
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || recorder.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", recorder.Code, recorder.Body, err)
	}
	return answer
}

// modelsOf are models of a scripted server; without a default, its provider can only be listed.
func modelsOf(t *testing.T, server *llmtest.Server, model string, budget int) *llm.Providers {
	t.Helper()
	config := llm.Config{Budget: budget, Providers: map[string]llm.Provider{"local": {BaseURL: server.BaseURL()}}}
	if model != "" {
		config.Default = "local/" + model
	}
	models, err := llm.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return models
}

func TestTheModelIsTestedAndCounted(t *testing.T) {
	t.Parallel()
	server := llmtest.New().Listing("small", "large\x1b[31m", "").On(llmtest.Model("small"), llmtest.Text("yes")).
		On(llmtest.Model("locked"), llmtest.Status(http.StatusForbidden, "not yours"))
	t.Cleanup(server.Close)
	open := func(model string, budget int) *Server {
		models := modelsOf(t, server, model, budget)
		return New(Options{Budget: llm.NewBudget(models.DailyTokens(), new(llmtest.Ledger), time.Now, func(error) {}), Settings: Settings{Models: models}})
	}
	s := open("small", 10)
	test := asOwner[wire.ModelTest](t, s, http.MethodPost, "/library/model", `{"provider": "local"}`)
	if test.Model != "local/small" || test.Problem != "" || test.Tokens == 0 || test.MS <= 0 {
		t.Errorf("%+v", test)
	}
	status := asOwner[wire.ModelStatus](t, s, http.MethodGet, "/library/model", "")
	if want := (wire.ModelStatus{Model: "local/small", TokensToday: test.Tokens, Budget: 10}); status != want {
		t.Errorf("%+v, want %+v", status, want)
	}
	for range 2 { // until the budget is used up
		test = asOwner[wire.ModelTest](t, s, http.MethodPost, "/library/model", `{}`)
	}
	if test.Problem != wire.ModelBudget || test.Model != "" {
		t.Errorf("beyond the budget: %+v", test)
	}
	test = asOwner[wire.ModelTest](t, open("", 0), http.MethodPost, "/library/model", `{"provider": "local"}`)
	if test.Problem != "" || len(test.Models) != 2 || test.Models[0] != "small" || strings.Contains(test.Models[1], "\x1b") {
		t.Errorf("the list is %+v", test)
	}
	test = asOwner[wire.ModelTest](t, open("locked", 0), http.MethodPost, "/library/model", `{}`)
	if test.Problem != wire.ModelKey || !strings.Contains(test.Detail, "not yours") {
		t.Errorf("without rights: %+v", test)
	}
}

// Only the owner's process has the routes of the model.
func TestNobodyElseTestsTheModel(t *testing.T) {
	t.Parallel()
	for _, r := range routes() {
		if strings.Contains(r.pattern, "/library/model") {
			t.Errorf("%s is for everybody", r.pattern)
		}
	}
	if !slices.ContainsFunc(ownerRoutes(), func(r route) bool { return r.pattern == "POST /library/model" }) {
		t.Error("the owner has no such route")
	}
}
