package segments

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	x := open(t, Options{Dir: dir, Now: func() time.Time { return now }})
	put(t, x, document("a", "walrus"))
	x.worker.loop.Wait()
	orphan, err := x.files.Create([]byte("what a crash left behind"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, segmentsFolder, "notes.txt")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	orphanPath := filepath.Join(dir, segmentsFolder, orphan+segmentSuffix)
	if err := x.sweep(t.Context()); err != nil || !exists(orphanPath) {
		t.Errorf("a young file was removed (%v)", err)
	}
	now = now.Add(2 * sweepAge)
	if err := x.sweep(t.Context()); err != nil || exists(orphanPath) {
		t.Errorf("an old file was not removed (%v)", err)
	}
	if !exists(foreign) {
		t.Error("a file that is not ours was removed")
	}
	if got := find(t, snapshotOf(t, x), "walrus"); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}
