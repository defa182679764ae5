package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestSyncWatchFollowsTheFileSystem starts `quarry sync --watch` and changes files under it.
func TestSyncWatchFollowsTheFileSystem(t *testing.T) {
	h := newHome(t)
	folder := filepath.Join(h.dir, "notes")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one.md", "# One\n\nfirst zebra\n")
	h.must("add", folder)
	c := h.command(t.Context(), "sync", "--watch", "--json")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	lines := bufio.NewScanner(out)
	type done struct {
		Type                    string
		Added, Updated, Removed int
	}
	next := func() (d done) {
		t.Helper()
		for lines.Scan() {
			if json.Unmarshal(lines.Bytes(), &d) == nil && d.Type == "done" {
				return d
			}
		}
		t.Fatal("sync --watch ended")
		return d
	}
	change := func() done { // a slow machine may begin to read between the folder and the file in it
		t.Helper()
		for {
			if d := next(); d.Added+d.Updated+d.Removed != 0 {
				return d
			}
		}
	}
	if first := next(); first.Added+first.Updated+first.Removed != 0 {
		t.Errorf("nothing had changed: %+v", first)
	}
	write("deeper/two.md", "# Two\n\nsecond zebra\n")
	if d := change(); d.Added != 1 {
		t.Errorf("a new file in a new folder: %+v", d)
	}
	if err := os.Remove(filepath.Join(folder, "one.md")); err != nil {
		t.Fatal(err)
	}
	if d := change(); d.Removed != 1 {
		t.Errorf("a removed file: %+v", d)
	}
	if found := matches(t, h, "zebra"); found != 1 {
		t.Errorf("%d documents are found, want 1", found)
	}
}
