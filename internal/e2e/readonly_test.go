//go:build unix

package e2e

import (
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/ui/cli"
)

// filesBelow returns the digests of the files below a folder, without those that hold a lock of an open database.
func filesBelow(t *testing.T, folder string) map[string][32]byte {
	t.Helper()
	found := map[string][32]byte{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, "-wal") {
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestReadOnlyCommands runs every command with QUARRY_READONLY, as the matrix runs it, on a library with a document:
// one that changes something is refused, and no other changes a file.
func TestReadOnlyCommands(t *testing.T) {
	h, w := newHome(t), newWorld(t)
	h.must("add", w.note)
	h.must("admin", "token", "add", "laptop")
	before, work := filesBelow(t, h.dir), t.TempDir()
	for _, command := range cli.Commands() {
		for _, r := range rows()[command.Path] {
			if slices.Contains(r.args, "{server}") {
				continue
			}
			process := w.command(h, command.Path, unset, r.args...)
			process.Env = append(process.Env, "QUARRY_READONLY=1")
			process.Dir = work // where skills are written
			got := runInside(t.Context(), process, "")
			refused := got.code == 9 && got.stdout == "" && strings.Contains(got.stderr, "is disabled by QUARRY_READONLY")
			if refused != command.Changes {
				t.Errorf("%s %q: %+v", command.Path, r.args, got)
			}
			if after := filesBelow(t, h.dir); !maps.Equal(before, after) {
				t.Fatalf("%s changed files: before %v, after %v", command.Path, slices.Sorted(maps.Keys(before)),
					slices.Sorted(maps.Keys(after)))
			}
		}
	}
}
