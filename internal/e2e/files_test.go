package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func below(folder, path string) string {
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return path
	}
	return name
}

func writeIn(t *testing.T, folder, name string, data []byte) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Error(err)
	}
}

// checkNoTemporaryFiles checks that the only files of a library are its database, its lock and named segments, and that
// nothing is left in the folder for temporary files.
func checkNoTemporaryFiles(t *testing.T, h home) {
	t.Helper()
	var left []string
	_ = filepath.WalkDir(h.dir, func(path string, entry os.DirEntry, err error) error {
		name := below(h.dir, path)
		switch {
		case err != nil || entry.IsDir() || strings.HasPrefix(name, "documents"+string(filepath.Separator)):
		case strings.HasPrefix(name, "cache"), strings.HasPrefix(name, "state"):
		case strings.HasPrefix(name, "library") && (strings.Contains(name, "library.db") || strings.HasSuffix(name, ".seg")):
		default:
			left = append(left, name)
		}
		return nil
	})
	if len(left) > 0 {
		t.Errorf("files are left: %q", left)
	}
}
