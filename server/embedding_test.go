package server

import (
	"context"
	"net/http"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
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
	s := open(t, Options{Home: t.TempDir(), Settings: api.Settings{Models: models}})
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
	s, err := Open(t.Context(), Options{Home: t.TempDir(), Settings: api.Settings{Models: models}})
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

// TestVectorsOfOneDatabase: documents that another server has stored and embedded get their vectors here, without the model.
func TestVectorsOfOneDatabase(t *testing.T) {
	t.Parallel()
	place := machines(t)
	var servers [2]*Server
	for i, reply := range []llmtest.Answer{llmtest.Vectors(llmtest.DefaultDimensions), llmtest.Status(http.StatusInternalServerError, "asked")} {
		model := llmtest.New()
		t.Cleanup(model.Close)
		model.OnVectors(reply)
		options := place()
		options.DocumentsInDatabase = true
		var err error
		if options.Models, err = llm.New(llm.Config{Embedding: llm.Embedding{BaseURL: model.BaseURL(), Model: "nomic"}, Transport: &http.Transport{}}); err != nil {
			t.Fatal(err)
		}
		servers[i] = openServer(t, options)
	}
	here, there := servers[0], servers[1]
	vectors := func(ctx context.Context, s *Server) (int, error) {
		x, err := s.index(ctx, directory.DefaultTenant, false)
		if err != nil {
			return 0, err
		}
		shown, err := x.Snapshot(ctx)
		if err != nil {
			return 0, err
		}
		defer shown.Close()
		stats, err := shown.Stats(ctx)
		return stats.Vectors, err
	}
	if err := there.Admit(api.PublicOptions{}).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	there.vectors.loops[directory.DefaultTenant].Wait() // from now on, it makes vectors of what it notices itself
	embedded, found, embed := make(chan struct{}), make(chan error, 1), there.vectors.embed
	there.vectors.embed = func(ctx context.Context, tenant string) error {
		<-embedded
		err := embed(ctx, tenant)
		if n, failed := vectors(ctx, there); n > 0 || err != nil || failed != nil {
			select {
			case found <- err:
			default:
			}
		}
		return err
	}
	if status, body := ask(t, here, "POST", "/onyx-api/ingestion",
		`{"document":{"sections":[{"text":"a lantern"}],"source":"ingestion_api","semantic_identifier":"x","metadata":{}}}`); status != http.StatusOK {
		t.Fatalf("HTTP %d %s", status, body)
	}
	here.vectors.loops[directory.DefaultTenant].Wait()
	if n, err := vectors(t.Context(), here); n != 1 || err != nil {
		t.Fatalf("%d vectors, %v", n, err)
	}
	close(embedded)
	if err := <-found; err != nil {
		t.Error(err)
	}
}

// TestHashesAreCompletedInTheBackground: those of a library that an earlier version stored, also without an embedding
// model.
func TestHashesAreCompletedInTheBackground(t *testing.T) {
	s := open(t, Options{Home: t.TempDir()})
	documents, err := s.index(t.Context(), directory.DefaultTenant, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := documents.Write(t.Context(), index.Batch{Upsert: []index.Document{{ID: "old"}}}); err != nil {
		t.Fatal(err)
	}
	s.vectors.changed(directory.DefaultTenant)
	s.vectors.loops[directory.DefaultTenant].Wait()
	hash := wire.HashID("old")
	if found, err := new(ingest.Names).Hashes(t.Context(), documents, hash[:wire.ShortestID]); err != nil || found["old"] != hash {
		t.Errorf("%v, %v", found, err)
	}
}
