package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/internal/testkit/memnet"
	"quarry/server/directory"
	"quarry/server/llm"
)

// askedFor picks the calls of one purpose by what stands in its prompt alone.
func askedFor(purpose string) llmtest.Match {
	return llmtest.Containing(map[string]string{
		"rephrase": "Turn this question into one query", "keywords": "Write one to three keyword queries",
		"sources": "Which of these sources", "time": "updated (START, END)", "select": "section_id of the passages",
		"classify": "Answer with one digit",
	}[purpose])
}

// withModel gives a world a scripted model, which answers well what no other answer is given for.
func withModel(w *world, answers map[string]llmtest.Answer) *llmtest.Server {
	w.t.Helper()
	listener := memnet.Listen()
	scripted := llmtest.NewOn(listener)
	w.t.Cleanup(scripted.Close)
	for purpose, reply := range map[string]string{
		"rephrase": "how to roll back a deploy", "keywords": "rollback", "sources": "[]", "time": "updated (None, None)",
		"select": "[0, 1, 2]", "classify": "1",
	} {
		answer := llmtest.Text(reply)
		if other, ok := answers[purpose]; ok {
			answer = other
		}
		scripted.On(askedFor(purpose), answer)
	}
	models, err := llm.New(llm.Config{Default: "local/small", Providers: map[string]llm.Provider{
		"local": {BaseURL: scripted.BaseURL(), Models: []string{"small", "large"}}}, Transport: listener.Transport()})
	w.check(err)
	w.server.Models = models
	return scripted
}

func TestSearchAsksTheModel(t *testing.T) {
	w := newWorld(t)
	scripted := withModel(w, map[string]llmtest.Answer{
		"sources": llmtest.Text("[confluence, google_drive]"), "time": llmtest.Text("updated (2026-01-01, None)"),
	})
	response := post[wire.SearchResponse](w, "jo", "/search", `{"query":"deploy","explain":true}`)
	found := ids(response)
	slices.Sort(found)
	if !slices.Equal(found, []string{"file:/handbook/rollback.md", "file:/jo/notes.md"}) {
		t.Errorf("found %v", found)
	}
	for _, s := range response.Stages {
		if s.Outcome != wire.OutcomeOK {
			t.Errorf("stage %+v", s)
		}
	}
	want := "[{sources confluence model false} {sources google_drive model false} {time_cutoff 2026-01-01T00:00:00Z model false}]"
	if got := fmt.Sprint(response.AppliedFilters); got != want {
		t.Errorf("filters %s", got)
	}
	if len(response.Queries) != 3 || len(response.Notes) != 0 {
		t.Errorf("queries %v, notes %v", response.Queries, response.Notes)
	}
	for _, r := range scripted.Requests() {
		if r.Model != "small" {
			t.Errorf("%s was asked", r.Model)
		}
	}
}

// TestTheModelSeesWhatTheCallerSees: no text, title or source of what somebody may not see goes to a model for them.
func TestTheModelSeesWhatTheCallerSees(t *testing.T) {
	w := newWorld(t)
	scripted := withModel(w, nil)
	for who, hidden := range map[string][]string{
		"jo": {"zeppelin", "zebra", "sharepoint", "Sharepoint"}, "kim": {"Zanzibar", "Notes of Jo", "google_drive", "Google Drive"},
	} {
		before := len(scripted.Requests())
		post[wire.SearchResponse](w, who, "/search", `{"query":"deploy","num_results":50}`)
		requests := scripted.Requests()[before:]
		if len(requests) < 6 {
			t.Fatalf("%d calls", len(requests))
		}
		for _, r := range requests {
			for _, word := range hidden {
				if strings.Contains(r.Text(), word) {
					t.Errorf("the model is told %s for %s: %s", word, who, r.Text())
				}
			}
		}
	}
}

func TestTheModelCanBeChosen(t *testing.T) {
	w := newWorld(t)
	scripted := withModel(w, nil)
	post[wire.SearchResponse](w, "jo", "/search", `{"query":"deploy","provider":"local","model":"large"}`)
	for _, r := range scripted.Requests() {
		if r.Model != "large" {
			t.Errorf("%s was asked", r.Model)
		}
	}
	asked := len(scripted.Requests())
	for body, want := range map[string]struct {
		status int
		body   string
	}{
		`{"query":"x","provider":"other","model":"large"}`: {404, `{"error_code":"NOT_FOUND","detail":"LLM provider 'other' not found"}`},
		`{"query":"x","provider":"local","model":"huge"}`:  {404, `{"error_code":"NOT_FOUND","detail":"LLM provider 'local' not found"}`},
		`{"query":"x","provider":"local"}`:                 {422, "provider and model must be given together"},
		`{"query":"x","model":"large"}`:                    {422, "provider and model must be given together"},
		`{"query":"x","message_history":[{"message":"a","message_type":"assistant"}]}`: {400,
			`{"message":"No user message found in message history"}`},
		`{"query":"x","message_history":[{"message":"a","message_type":"robot"}]}`: {422, "message_type"},
	} {
		answer := w.call(w.public, "jo", http.MethodPost, "/search", body)
		if answer.Code != want.status || !strings.Contains(answer.Body.String(), want.body) {
			t.Errorf("%s: HTTP %d %s", body, answer.Code, answer.Body)
		}
	}
	if len(scripted.Requests()) != asked {
		t.Error("a refused request asked the model")
	}
}

// TestAnAgentHasAModelOfItsOwn, which a request's own goes before, and which may have left the configuration.
func TestAnAgentHasAModelOfItsOwn(t *testing.T) {
	w := newWorld(t)
	scripted := withModel(w, nil)
	for name, want := range map[string]string{"large": "large", "gone": "small", "": "small"} {
		agent := directory.Agent{Name: "Agent " + name, Public: true, Model: name}
		if name != "" {
			agent.Provider = "local"
		}
		agent, err := w.people.In(t.Context(), directory.DefaultTenant).AddAgent(agent)
		w.check(err)
		for body, want := range map[string]string{"": want, `,"provider":"local","model":"small"`: "small"} {
			before := len(scripted.Requests())
			post[wire.SearchResponse](w, "jo", "/search", fmt.Sprintf(`{"query":"deploy","persona_id":%d%s}`, agent.ID, body))
			asked := scripted.Requests()[before:]
			if len(asked) < 5 || asked[0].Model != want {
				t.Errorf("an agent with the model %q%s: %d calls of %+v", name, body, len(asked), asked)
			}
		}
	}
}

// TestAFaultyServerOfModels: each stage goes on without its answer, and strangers are not told what the server said.
func TestAFaultyServerOfModels(t *testing.T) {
	for name, fault := range map[string]llmtest.Answer{
		"garbage": llmtest.Garbage(), "half": llmtest.Half("[0"), "refused": llmtest.Status(401, "wrong key hunter2"),
		"broken": llmtest.Status(500, "stack trace"), "empty": llmtest.Text(""), "nonsense": llmtest.Text("?!"),
		"large": llmtest.Large(1 << 20),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			literal := ids(post[wire.SearchResponse](w, "jo", "/search", `{"query":"deploy"}`))
			withModel(w, map[string]llmtest.Answer{"rephrase": fault, "keywords": fault, "sources": fault, "time": fault,
				"select": fault, "classify": fault})
			response := post[wire.SearchResponse](w, "jo", "/search", `{"query":"deploy"}`)
			if got := ids(response); !slices.Equal(got, literal) {
				t.Errorf("found %v, without a model %v", got, literal)
			}
			if len(response.Notes) == 0 || response.Notes[0].Code != wire.NoteStageFailed {
				t.Errorf("notes %v", response.Notes)
			}
			for _, n := range response.Notes {
				if strings.Contains(n.Text, "hunter2") || strings.Contains(n.Text, "trace") {
					t.Errorf("the caller is told %s", n.Text)
				}
			}
		})
	}
}

// TestAFirstAnswerComesBeforeTheModels: the model answers only after the caller has read what the question found.
func TestAFirstAnswerComesBeforeTheModels(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	withModel(w, map[string]llmtest.Answer{"rephrase": llmtest.Held(release, llmtest.Text("how to roll back"))})
	server := httptest.NewServer(w.public)
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/search",
		strings.NewReader(`{"query":"deploy","stream":true}`))
	w.check(err)
	request.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
	response, err := server.Client().Do(request)
	w.check(err)
	defer func() { w.check(response.Body.Close()) }()
	var early, last wire.SearchEvent
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		last = wire.SearchEvent{}
		w.check(json.Unmarshal(lines.Bytes(), &last))
		if last.Type == wire.EventProvisional && early.Response == nil {
			early = last
			close(release)
		}
	}
	if early.Response == nil || len(early.Response.Results) != 3 || len(early.Response.Queries) != 1 {
		t.Errorf("early %+v", early.Response)
	}
	if last.Type != wire.EventFinal || len(last.Response.Queries) != 3 || len(last.Response.Notes) != 0 {
		t.Errorf("last %+v", last.Response)
	}
}
