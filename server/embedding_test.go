package server

import (
	"net/http"
	"testing"

	"quarry/internal/testkit/llmtest"
	"quarry/server/directory"
	"quarry/server/llm"
)

// TestPostedDocumentsAreEmbedded: in the background, without holding up the request; Close ends it, and the vectors stay.
func TestPostedDocumentsAreEmbedded(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	release := make(chan struct{})
	model.OnVectors(llmtest.Held(release, llmtest.Vectors(llmtest.DefaultDimensions)))
	models, err := llm.New(llm.Config{Embedding: llm.Embedding{BaseURL: model.BaseURL(), Model: "nomic"},
		Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Home: t.TempDir(), Models: models})
	for _, text := range []string{"The lantern is lit at dusk.", "Ships come in with the tide."} {
		status, body := ask(t, s, "POST", "/onyx-api/ingestion", `{"document":{"sections":[{"text":"`+text+
			`"}],"source":"ingestion_api","semantic_identifier":"`+text+`","metadata":{}}}`)
		if status != http.StatusOK {
			t.Fatalf("HTTP %d %s", status, body)
		}
	}
	close(release)
	s.vectors.loops[directory.DefaultTenant].Wait()
	documents, err := s.index(t.Context(), directory.DefaultTenant, false)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := documents.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	stats, err := snapshot.Stats(t.Context())
	if err != nil || stats.Vectors != 2 || stats.VectorModel != "nomic" {
		t.Errorf("%+v, %v", stats, err)
	}
}

// TestEmbeddingEndsWithTheServer, also while the model keeps it waiting.
func TestEmbeddingEndsWithTheServer(t *testing.T) {
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.OnVectors(llmtest.Hang())
	models, err := llm.New(llm.Config{Embedding: llm.Embedding{BaseURL: model.BaseURL(), Model: "nomic"},
		Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{Home: t.TempDir(), Models: models})
	if err != nil {
		t.Fatal(err)
	}
	if status, body := ask(t, s, "POST", "/onyx-api/ingestion",
		`{"document":{"sections":[{"text":"a lantern"}],"source":"ingestion_api","semantic_identifier":"x","metadata":{}}}`,
	); status != http.StatusOK {
		t.Fatalf("HTTP %d %s", status, body)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
