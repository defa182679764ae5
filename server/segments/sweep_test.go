package segments

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"quarry/server/sqldb"
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

// TestUnlistedSegmentsAreClosed: a segment that a repair looks into is closed when its documents cannot be stored.
func TestUnlistedSegmentsAreClosed(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir()})
	put(t, x, document("a", "walrus"))
	x.worker.loop.Wait()
	used := func() (n int) {
		for _, file := range x.states.pool.open {
			n += file.users
		}
		return n
	}
	before := used()
	err := x.Change(t.Context(), func(tx *sqldb.Tx) {
		tx.Exec("DELETE FROM segments")
		tx.Exec("ALTER TABLE documents RENAME TO others")
		x.nameUnlisted(tx)
	})
	if after := used(); err == nil || after != before {
		t.Errorf("%d uses of segments, %d before: %v", after, before, err)
	}
}
