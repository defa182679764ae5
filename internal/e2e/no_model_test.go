package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"quarry/internal/testkit/llmtest"
)

// Skipping both stages that need a model calls none, and skipping one does not.
func TestSearchesWithoutAModel(t *testing.T) {
	h, model := newHome(t), llmtest.New()
	defer model.Close()
	model.On(llmtest.Any(), llmtest.Text("roll back"))
	folder := filepath.Join(h.dir, "config", "quarry")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	config := "llm:\n  default: test\n  providers:\n    test:\n      base_url: " + model.BaseURL() + "\n      models: [small]\n"
	if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, flags := range [][]string{{"--no-query-expansion", "--no-document-selection"}, {"--no-query-expansion"}, {"--no-document-selection"}, {}} {
		before := len(model.Requests())
		h.must(append([]string{"search", "how do we roll back a release", "--sample"}, flags...)...)
		if calls := len(model.Requests()) - before; (calls == 0) != (i == 0) {
			t.Errorf("%q: %d calls of the model", flags, calls)
		}
	}
}
