package sqlite

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSecondOpeningKeepsLocks opens a database twice in one process. The lock with which SQLite keeps other processes from
// removing the write-ahead log must outlive the second opening.
func TestSecondOpeningKeepsLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "library.db")
	open := func() *DB {
		db, err := Open(t.Context(), Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Reader.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Writer.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS a (b)"); err != nil {
			t.Fatal(err)
		}
		return db
	}
	// An open file's own lock conflicts with those of its process, too. The file stays open until the locks were looked at.
	var file int
	isLocked := func() bool {
		lock := unix.Flock_t{Type: unix.F_WRLCK}
		if err := unix.FcntlFlock(uintptr(file), unix.F_OFD_GETLK, &lock); err != nil {
			t.Fatal(err)
		}
		return lock.Type != unix.F_UNLCK
	}
	open()
	file, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(file) })
	if !isLocked() {
		t.Skip("this system's SQLite locks in another way")
	}
	if err := prepareFile(path); err != nil {
		t.Fatal(err)
	}
	if !isLocked() {
		t.Error("the second opening dropped the first one's lock")
	}
}
