package target

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/testkit/modeltest"
)

// TestStaticEmbeddings: a model in a folder finds other words for the same, is named by status and validate-config, and
// replaces all vectors when its files change.
func TestStaticEmbeddings(t *testing.T) {
	home := t.TempDir()
	configure(t, home, "embeddings: {path: ~/tiny}\n")
	folder, notes := filepath.Join(home, "tiny"), filepath.Join(home, "notes")
	store := func(bread float32) {
		modeltest.Store(t, folder, modeltest.Tokenizer("[UNK]", "car", "automobile", "bread", "dawn"),
			modeltest.Tensors(map[string]modeltest.Tensor{"embeddings": modeltest.Floats([]int{5, 2}, 0, 0, 1, 0, 1, .1, 0, bread, 0, 1)}))
	}
	store(1)
	if err := os.MkdirAll(notes, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.md": "An automobile needs care.", "b.md": "Bread is baked at dawn.", "c.md": "Nothing else."} {
		if err := os.WriteFile(filepath.Join(notes, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	with := func(use func(h *Host, c *client.Client)) {
		t.Helper()
		h := newHost(t, home)
		opened, err := h.OpenLibrary(ctx, "", true)
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, opened)
		use(h, opened.Client)
	}
	var first string
	with(func(h *Host, c *client.Client) {
		if _, err := c.ChangeLibrary(ctx, wire.AddRequest{Paths: []string{notes}}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ChangeLibrary(ctx, wire.SyncRequest{Meaning: true}, nil); err != nil { // however long it takes
			t.Fatal(err)
		}
		status, err := c.LibraryStatus(ctx)
		if first = status.VectorModel; err != nil || status.Vectors != 2 || !strings.HasPrefix(first, "tiny@") {
			t.Errorf("status %+v, %v", status, err)
		}
		if name, err := h.CheckEmbeddings(); err != nil || name != "static model "+first {
			t.Errorf("%q, %v", name, err)
		}
		response, err := c.Search(ctx, wire.SearchRequest{Query: "car", Explain: true})
		if err != nil || len(response.Results) == 0 || response.Results[0].Ranks["car (vectors)"] != 1 ||
			!strings.Contains(response.Results[0].Content, "automobile") {
			t.Errorf("found %+v, %v", response, err)
		}
	})
	store(2)
	with(func(_ *Host, c *client.Client) {
		if _, err := c.ChangeLibrary(ctx, wire.SyncRequest{Meaning: true}, nil); err != nil {
			t.Fatal(err)
		}
		if status, err := c.LibraryStatus(ctx); err != nil || status.VectorModel == first || status.Vectors != 2 {
			t.Errorf("with another model: %+v, %v", status, err)
		}
	})
	if err := os.WriteFile(filepath.Join(folder, "model.safetensors"), []byte("no tensors"), 0o600); err != nil {
		t.Fatal(err)
	}
	with(func(h *Host, c *client.Client) {
		_, err := h.CheckEmbeddings()
		if err == nil || !strings.Contains(err.Error(), "embeddings.path") || !strings.Contains(err.Error(), "model.safetensors") {
			t.Errorf("a damaged model: %v", err)
		}
		response, err := c.Search(ctx, wire.SearchRequest{Query: "bread"})
		if err != nil || len(response.Results) != 1 {
			t.Errorf("with a damaged model: %+v, %v", response, err)
		}
	})
}
