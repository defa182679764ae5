package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"quarry/internal/testkit/llmtest"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/llm"
)

// TestMeaningIsMadeByOneProcess: a second server of the same folder makes no vectors meanwhile, and shows how far the
// first is; afterwards it finds them complete. The library's version stays.
func TestMeaningIsMadeByOneProcess(t *testing.T) {
	t.Parallel()
	model := llmtest.New()
	t.Cleanup(model.Close)
	asked, release := make(chan struct{}, 1), make(chan struct{})
	held := llmtest.Held(release, llmtest.Vectors(llmtest.DefaultDimensions))
	model.OnVectors(func(w http.ResponseWriter, r *http.Request, request llmtest.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		held(w, r, request)
	})
	home := t.TempDir()
	serverOf := func() *Server {
		models, err := llm.New(llm.Config{Embedding: llm.Embedding{BaseURL: model.BaseURL(), Model: "nomic"}, Transport: &http.Transport{}})
		if err != nil {
			t.Fatal(err)
		}
		return open(t, Options{Home: home, Settings: api.Settings{Models: models}})
	}
	status := func(s *Server) string {
		_, body := ask(t, s, "GET", "/library/status", "")
		return body
	}
	one, two := serverOf(), serverOf()
	if code, body := ask(t, one, "POST", "/onyx-api/ingestion",
		`{"document":{"sections":[{"text":"a lantern"}],"source":"ingestion_api","semantic_identifier":"x","metadata":{}}}`,
	); code != http.StatusOK {
		t.Fatalf("HTTP %d %s", code, body)
	}
	<-asked
	if err := two.vectors.embed(t.Context(), directory.DefaultTenant); !errors.Is(err, fault.ErrBusy) {
		t.Errorf("a second process: %v", err)
	}
	before, err := two.index(t.Context(), directory.DefaultTenant, false)
	if err != nil {
		t.Fatal(err)
	}
	version, err := before.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if body := status(two); !strings.Contains(body, `"state":"running"`) {
		t.Errorf("status meanwhile: %s", body)
	}
	close(release)
	one.vectors.loops[directory.DefaultTenant].Wait()
	if err := two.vectors.embed(t.Context(), directory.DefaultTenant); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if body := status(two); !strings.Contains(body, `"meaning":{"state":"complete","model":"nomic","done":1,"total":1,`) {
		t.Errorf("status afterwards: %s", body)
	}
	if after, err := before.Version(t.Context()); err != nil || after != version {
		t.Errorf("version %s, was %s, %v", after, version, err)
	}
}
