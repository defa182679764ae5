package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWatchTellsOfChanges(t *testing.T) {
	root := t.TempDir()
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "deep", "er", "old.md"))
	write(filepath.Join(root, ".Sent", "cur", "1"))
	single := filepath.Join(t.TempDir(), "single.md")
	write(single)
	w, err := watchFolders([]string{root, single, filepath.Join(root, "gone")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	changes := map[string]func(){
		"a file deep below": func() { write(filepath.Join(root, "deep", "er", "new.md")) },
		"a single file":     func() { write(single) },
		"a hidden mailbox":  func() { write(filepath.Join(root, ".Sent", "cur", "2")) },
		"a removed file": func() {
			if err := os.Remove(filepath.Join(root, "deep", "er", "old.md")); err != nil {
				t.Fatal(err)
			}
		},
		"a new folder": func() { write(filepath.Join(root, "another", "one.md")) },
	}
	for name, change := range changes {
		change()
		if err := w.wait(t.Context(), time.Millisecond); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	write(filepath.Join(root, "another", "two.md"))
	if err := w.wait(t.Context(), time.Millisecond); err != nil {
		t.Fatalf("inside of a new folder: %v", err)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	w, err := watchFolders([]string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.watcher.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.wait(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
