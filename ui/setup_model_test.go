package ui

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/ui/explorer/setup"
)

func TestModelsAreTested(t *testing.T) {
	t.Parallel()
	server := llmtest.New().Listing("small", "large").
		On(llmtest.Model("small"), llmtest.Text("yes")).
		On(llmtest.Model("locked"), llmtest.Status(http.StatusUnauthorized, "no such key")).
		On(llmtest.Model("gone"), llmtest.Status(http.StatusNotFound, "no model gone")).
		On(llmtest.Model("busy"), llmtest.Busy("3600")).
		On(llmtest.Model("broken"), llmtest.Garbage())
	t.Cleanup(server.Close)
	for name, test := range map[string]struct{ address, problem, remedy, kind string }{
		"small":  {server.BaseURL(), "", "", ""},
		"":       {server.BaseURL(), "no model is chosen", "small, large", wire.ModelUnknown},
		"locked": {server.BaseURL(), "no such key", "Paste a key", wire.ModelKey},
		"gone":   {server.BaseURL(), "no model gone", "/v1", wire.ModelUnknown},
		"busy":   {server.BaseURL(), "rate limit", "Wait", wire.ModelBusy},
		"broken": {server.BaseURL(), "unusable", "OpenAI-compatible", wire.ModelUnusable},
		"nobody": {"http://127.0.0.1:1/v1", "connection refused", "Check the address", wire.ModelUnreachable},
		"typo":   {"localhost:11434", "http://", "such as http://", ""},
	} {
		_, s := newSettings(t)
		found, err := s.backend().TestModel(t.Context(), setup.Model{BaseURL: test.address, Name: name, Key: "sk-1"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(found.Problem, test.problem) || !strings.Contains(found.Remedy, test.remedy) || found.ModelProblem != test.kind ||
			found.OK() != (test.problem == "") {
			t.Errorf("%q: %+v, want %+v", name, found, test)
		}
		if found.OK() && !strings.Contains(found.Steps[0].Detail, "token") {
			t.Errorf("%q: %+v", name, found.Steps)
		}
	}
	alone := llmtest.New().Listing("only")
	t.Cleanup(alone.Close)
	_, s := newSettings(t)
	found, err := s.backend().TestModel(t.Context(), setup.Model{BaseURL: alone.BaseURL()})
	if err != nil || found.Model.Name != "only" || found.OK() {
		t.Errorf("the only model is not filled in: %+v, %v", found, err)
	}
	if asked := server.Requests()[0]; asked.Authorization != "Bearer sk-1" {
		t.Errorf("the key is %q", asked.Authorization)
	}
}

func TestModelsAreSaved(t *testing.T) {
	t.Parallel()
	server := llmtest.New().On(llmtest.Any(), llmtest.Text("yes"))
	t.Cleanup(server.Close)
	p, s := newSettings(t)
	host, err := s.run.host()
	if err != nil {
		t.Fatal(err)
	}
	file := host.Paths.ConfigFile
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("# my own\ntheme: dark # at night\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	backend := s.backend()
	typed := setup.Model{BaseURL: server.BaseURL(), Name: "small", Key: "sk-1"}
	if _, err := backend.SaveModel(t.Context(), typed); err == nil {
		t.Error("a model that was not tested is saved")
	}
	found, err := backend.TestModel(t.Context(), typed)
	if err != nil || !found.OK() {
		t.Fatalf("%+v, %v", found, err)
	}
	if said, err := backend.SaveModel(t.Context(), found.Model); err != nil || !strings.Contains(said, "local/small in "+file) {
		t.Errorf("%q, %v", said, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# my own", "theme: dark # at night", "default: local/small", "base_url: " + server.BaseURL(), "key: sk-1"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if now := backend.Model(); now != (setup.Model{BaseURL: server.BaseURL(), Name: "small", HasKey: true}) {
		t.Errorf("the configured model is %+v", now)
	}
	// A model of the same address has the configured key.
	if found, err = backend.TestModel(t.Context(), setup.Model{BaseURL: server.BaseURL(), Name: "large"}); err != nil || !found.OK() {
		t.Fatalf("%+v, %v", found, err)
	}
	asked := server.Requests()
	if last := asked[len(asked)-1]; last.Authorization != "Bearer sk-1" || last.Model != "large" {
		t.Errorf("asked %+v", last)
	}
	_ = p
}
