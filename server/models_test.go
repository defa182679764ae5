package server

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/internal/testkit/llmtest"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/llm"
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
	options := Options{Home: t.TempDir(), Settings: api.Settings{Models: modelsAt(t, model, 1), Now: func() time.Time { return now }}}
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
	s.InProcess(directory.Owner(directory.DefaultTenant)).ServeHTTP(answer, r)
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

// TestALedgerThatCannotBeRead: a search goes without the model and says so, and a question is answered by 503; neither is
// taken for a budget that is used up. Once the ledger works again the model is asked.
func TestALedgerThatCannotBeRead(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Any(), llmtest.Text("lantern"))
	options := Options{Home: t.TempDir(), Settings: api.Settings{Models: modelsAt(t, model, 1_000_000)}}
	s := open(t, options)
	if _, err := s.directory(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	rename := func(from, to string) {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(options.Home, directoryFile))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
			t.Fatal(err)
		}
	}
	rename("model_tokens", "gone")
	status, body := ask(t, s, "POST", "/search", `{"query":"lantern"}`)
	if status != http.StatusOK || !strings.Contains(body, `"code":"stage_failed","text":"the language model was not called`) {
		t.Errorf("search: HTTP %d %s", status, body)
	}
	for _, streamed := range []string{"true", "false"} {
		status, body := ask(t, s, "POST", "/chat/send-chat-message", `{"message":"lantern","stream":`+streamed+`}`)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "SERVICE_UNAVAILABLE") {
			t.Errorf("chat: HTTP %d %s", status, body)
		}
	}
	if n := len(model.Requests()); n > 0 {
		t.Errorf("%d calls that could not be counted", n)
	}
	rename("gone", "model_tokens")
	if status, body := ask(t, s, "POST", "/search", `{"query":"lantern"}`); status != http.StatusOK || len(model.Requests()) == 0 {
		t.Errorf("HTTP %d, %d calls: %s", status, len(model.Requests()), body)
	}
}

// TestPostponedTokensAreCountedOnce, by whichever process comes first, and kept while that fails.
func TestPostponedTokensAreCountedOnce(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home [1]*")
	const day = "2026-08-01"
	first, second := &ledger{server: open(t, Options{Home: home}), unstored: map[[2]string]int{}}, &ledger{server: open(t, Options{Home: home}), unstored: map[[2]string]int{}}
	add := func(l *ledger, tokens int) int {
		t.Helper()
		sum, err := l.AddTokens(t.Context(), directory.DefaultTenant, day, tokens)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	add(first, 1)
	for _, tokens := range []int{10, 100} {
		if err := first.Postpone(directory.DefaultTenant, day, tokens); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.AddTokens(ended, directory.DefaultTenant, day, 1000); err == nil {
		t.Fatal("added after the end")
	}
	var both sync.WaitGroup
	for _, l := range []*ledger{first, second} {
		both.Go(func() { add(l, 0) })
	}
	both.Wait()
	if sums := [2]int{add(first, 0), add(second, 0)}; sums != [2]int{111, 111} {
		t.Errorf("sums %v", sums)
	}
	left, err := filepath.Glob(filepath.Join(strings.NewReplacer("[", `\[`, "*", `\*`).Replace(home), "model-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestALibraryThatCannotBeWrittenCounts what others used, and in memory what this process uses.
func TestALibraryThatCannotBeWrittenCounts(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Any(), llmtest.Text("lantern"))
	home := t.TempDir()
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	writer := open(t, Options{Home: home, Settings: api.Settings{Models: modelsAt(t, model, 1), Now: clock}})
	if status, body := ask(t, writer, "POST", "/search", `{"query":"lantern"}`); status != http.StatusOK {
		t.Fatalf("HTTP %d %s", status, body)
	}
	reader := open(t, Options{Home: home, ReadOnly: true, Settings: api.Settings{Models: modelsAt(t, model, 1), Now: clock}})
	if status, body := ask(t, reader, "POST", "/search", `{"query":"lantern"}`); status != http.StatusTooManyRequests {
		t.Errorf("HTTP %d %s", status, body)
	}
	sums, l, today := []int{}, &ledger{server: reader, unstored: map[[2]string]int{}}, now.Format(time.DateOnly)
	for _, tokens := range []int{0, 7, 0} {
		sum, err := l.AddTokens(t.Context(), directory.DefaultTenant, today, tokens)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	if sums[0] == 0 || sums[1] != sums[0]+7 || sums[2] != sums[1] {
		t.Errorf("sums %v", sums)
	}
}

// TestTheSampleLibraryAsksTheModel: Enter runs the whole pipeline there, too, and nothing is stored for its budget.
func TestTheSampleLibraryAsksTheModel(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Any(), llmtest.Text("deploy"))
	s := open(t, Options{Sample: true, Settings: api.Settings{Models: modelsAt(t, model, 1)}})
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
	s := open(t, Options{Home: t.TempDir(), Settings: api.Settings{Models: modelsAt(t, model, 0), OmitQueries: true,
		Log: slog.New(slog.NewTextHandler(&lines, nil))}})
	who := directory.Principal{Tenant: directory.DefaultTenant, Email: "ann@example.com", Permissions: []string{directory.PermissionReadSearch}}
	r := httptest.NewRequestWithContext(context.Background(), "POST", "/search", strings.NewReader(`{"query":"lighthouse"}`))
	s.InProcess(who).ServeHTTP(httptest.NewRecorder(), r)
	text := lines.String()
	if !strings.Contains(text, "model_calls=") || !strings.Contains(text, "model_tokens_by.rephrase=") ||
		strings.Contains(text, "lighthouse") {
		t.Errorf("the log says %s", text)
	}
}
