package sqlite

import (
	"database/sql"
	"errors"
	"slices"
	"testing"

	"quarry/server/index"
)

func TestSelect(t *testing.T) {
	db := open(t, Options{Migrations: migrations()})
	for _, note := range []string{"one", "two", "three"} {
		if err := addNote(db, note); err != nil {
			t.Fatal(err)
		}
	}
	scan := func(row *sql.Rows) (note string, err error) { return note, row.Scan(&note) }
	notes, err := Select(t.Context(), db.Reader, scan, "SELECT text FROM notes WHERE id > ? ORDER BY id", 1)
	if err != nil || !slices.Equal(notes, []string{"two", "three"}) {
		t.Errorf("Select = %q, %v", notes, err)
	}
	if _, err := Select(t.Context(), db.Reader, scan, "SELECT text FROM missing"); !errors.Is(err, index.ErrDamaged) {
		t.Errorf("Select from a missing table: %v", err)
	}
	if _, err := Select(t.Context(), db.Reader, scan, "SELECT id, text FROM notes"); err == nil {
		t.Error("Select with a scan that does not fit: no error")
	}
}

func TestEachStopsAtAnError(t *testing.T) {
	db := open(t, Options{Migrations: migrations()})
	for range 3 {
		if err := addNote(db, "note"); err != nil {
			t.Fatal(err)
		}
	}
	enough, seen := errors.New("enough"), 0
	err := Each(t.Context(), db.Reader, func(*sql.Rows) error {
		if seen++; seen == 2 {
			return enough
		}
		return nil
	}, "SELECT id FROM notes")
	if !errors.Is(err, enough) || seen != 2 {
		t.Errorf("Each = %v after %d rows", err, seen)
	}
}
