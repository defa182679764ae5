package llm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/internal/testkit/modeltest"
	"quarry/server/encoder"
)

// TestAModelInAFolderHasItsPrompts before texts, unless the configuration has others.
func TestAModelInAFolderHasItsPrompts(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "small")
	modeltest.StoreEncoder(t, folder, modeltest.Encoder{Hidden: 32, Inner: 32, Heads: 2, Layers: 1, Positions: 20},
		"[UNK]", "[CLS]", "[SEP]", "find", "text", "mine", ":", "roll", "back")
	model, err := encoder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		config Embedding
		want   [2]string // before documents and queries
		name   string
	}{
		{Embedding{Path: folder}, [2]string{ForDocuments: "text: ", ForQueries: "find: "}, model.Name()},
		{Embedding{Path: folder, QueryPrefix: "mine: "}, [2]string{ForDocuments: "text: ", ForQueries: "mine: "}, model.Name()},
		{Embedding{Path: folder, DocumentPrefix: "mine: "}, [2]string{ForDocuments: "mine: ", ForQueries: "find: "},
			model.Name() + ` with "mine: "`},
	} {
		providers, err := New(Config{Embedding: test.config})
		if err != nil {
			t.Fatal(err)
		}
		embedder, _ := providers.Embedder()
		if embedder.Name() != test.name {
			t.Errorf("the name is %q, want %q", embedder.Name(), test.name)
		}
		for use, prefix := range test.want {
			vectors, _, err := embedder.Embed(t.Context(), Use(use), []string{"roll back", ""})
			if err != nil || len(vectors) != 2 || !slices.Equal(vectors[0], model.Vector(prefix+"roll back")) {
				t.Errorf("%+v: the vector is not that of %q: %v", test.config, prefix, err)
			}
		}
	}
	tensors := filepath.Join(folder, "model.safetensors")
	if err := os.Truncate(tensors, 1000); err != nil {
		t.Fatal(err)
	}
	providers, err := New(Config{Embedding: Embedding{Path: folder}})
	if err != nil {
		t.Fatal(err)
	}
	embedder, _ := providers.Embedder()
	_, _, err = embedder.Embed(t.Context(), ForQueries, []string{"roll back"})
	if err == nil || !strings.Contains(err.Error(), tensors) || strings.Contains(err.Error(), "server") {
		t.Errorf("a damaged model: %v", err)
	}
	if _, err := New(Config{Embedding: Embedding{Path: t.TempDir()}}); err == nil || !strings.Contains(err.Error(), "embeddings.path") {
		t.Errorf("an empty folder: %v", err)
	}
}
