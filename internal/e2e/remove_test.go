package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveTakesPathsAndIDs: a file that is gone, a file's id, and an id that a document came with.
func TestRemoveTakesPathsAndIDs(t *testing.T) {
	h := newHome(t)
	folder := filepath.Join(h.dir, "notes")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a.md": "# A\n\nzebra\n", "b.md": "# B\n\nzebra\n",
		"c.jsonl": `{"id":"x1","source":"slack","semantic_identifier":"X","sections":[{"text":"zebra"}]}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.must("add", folder)
	gone := filepath.Join(folder, "a.md")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{gone, "x1", "file:" + filepath.ToSlash(filepath.Join(folder, "b.md"))} {
		h.must("remove", ref)
	}
	if documents := libraryStatus(t, h).Documents; documents != 0 {
		t.Errorf("%d documents are left", documents)
	}
	if o := h.run("", "remove", "x1"); o.code != 9 {
		t.Errorf("an unknown id: exit %d\n%s", o.code, o.stderr)
	}
}
