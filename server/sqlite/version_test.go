package sqlite

import (
	"database/sql/driver"
	"path/filepath"
	"testing"

	"quarry/server/sqldb"
)

func TestVersionTellsOfEveryCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	one := open(t, Options{Path: path, Migrations: migrations()})
	two := open(t, Options{Path: path, Migrations: migrations()})
	version := func(db *DB) sqldb.Version {
		t.Helper()
		v, ok := db.Version(t.Context())
		if !ok {
			t.Fatal("no version")
		}
		return v
	}
	seen := map[sqldb.Version]bool{version(one): true}
	for i, writer := range []*DB{one, two, two, one} {
		countNotes(t, one.Reader)
		if again := version(one); !seen[again] {
			t.Error("it changed, and nothing else did")
		}
		if err := addNote(writer, "x"); err != nil {
			t.Fatal(err)
		}
		if after := version(one); seen[after] {
			t.Errorf("commit %d is not told", i)
		} else {
			seen = map[sqldb.Version]bool{after: true}
		}
	}
}

// TestVersionAfterAFailure: another connection counts from a number of its own, which may be one that was told before.
func TestVersionAfterAFailure(t *testing.T) {
	db := open(t, Options{Path: filepath.Join(t.TempDir(), "a.db"), Migrations: migrations()})
	before, ok := db.Version(t.Context())
	if !ok {
		t.Fatal("no version")
	}
	_ = db.watch.conn.Raw(func(any) error { return driver.ErrBadConn })
	if v, ok := db.Version(t.Context()); ok {
		t.Errorf("a lost connection tells %v", v)
	}
	if after, ok := db.Version(t.Context()); !ok || after == before {
		t.Errorf("%v and %v", before, after)
	}
}

func TestNoVersion(t *testing.T) {
	if _, ok := open(t, Options{Migrations: migrations()}).Version(t.Context()); ok {
		t.Error("a database in memory has a version")
	}
	db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "a.db"), Migrations: migrations()})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := db.Version(t.Context()); ok {
		t.Error("a closed database has a version")
	}
}
