package ui

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheScreensLogIsAFileThatIsMadeLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quarry", "explorer.log")
	file := newLateFile(path)
	log := slog.New(slog.NewTextHandler(file, nil))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("before the first line: %v", err)
	}
	log.Warn("the reader shows text unrendered", "document", "a")
	log.Warn("again")
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 2 || !strings.Contains(string(text), "document=a") {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Truncate(path, largestScreenLog+1); err != nil {
		t.Fatal(err)
	}
	slog.New(slog.NewTextHandler(newLateFile(path), nil)).Warn("a new run")
	if info, err := os.Stat(path); err != nil || info.Size() > 1<<10 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}
