package sqlite

import (
	"database/sql"
	"errors"
	"reflect"
	"testing"
	"time"

	"quarry/server/fault"
	"quarry/server/sqldb"
)

type note struct {
	text string
	at   time.Time
	tags []string
}

func columnsOfNote(n *note) []any {
	return []any{&n.text, (*sqldb.Micros)(&n.at), sqldb.JSON{V: &n.tags}}
}

func TestQueries(t *testing.T) {
	db, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx, at := t.Context(), time.Date(2026, 8, 1, 9, 30, 0, 123_000, time.UTC)
	notes := []note{{"a", at, []string{"x", "y"}}, {"b", time.Time{}, nil}, {"c", at, []string{}}}
	absent := errors.New("absent")
	err = sqldb.UpdateWhole(ctx, db, func(tx *sqldb.Tx) {
		tx.Exec("CREATE TABLE notes (book INTEGER, text TEXT, at INTEGER, tags TEXT)")
		for i, n := range notes {
			if n := tx.Exec("INSERT INTO notes VALUES (?, ?, ?, ?)", i/2, n.text, sqldb.Micros(n.at),
				sqldb.JSON{V: n.tags}); n != 1 {
				t.Errorf("%d rows changed by one that was inserted", n)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	err = sqldb.UpdateWhole(ctx, db, func(tx *sqldb.Tx) {
		tx.Change(absent, "DELETE FROM notes WHERE text = 'a'")
		tx.Change(absent, "DELETE FROM notes WHERE text = 'd'")
		tx.Exec("DELETE FROM notes")
	})
	if err != absent { //nolint:errorlint // the very one
		t.Errorf("a statement that changes nothing: %v", err)
	}
	got, err := sqldb.Select(ctx, db.Reader, columnsOfNote, "SELECT text, at, tags FROM notes ORDER BY text")
	if err != nil || !reflect.DeepEqual(got, notes) {
		t.Errorf("rows %v, %v", got, err)
	}
	books, err := sqldb.ListByID(ctx, sqldb.Opened(db), "list notes", columnsOfNote, "SELECT book, text, at, tags FROM notes ORDER BY text")
	if err != nil || !reflect.DeepEqual(books, map[int][]note{0: notes[:2], 1: notes[2:]}) {
		t.Errorf("groups %v, %v", books, err)
	}
	count := 0
	if err := sqldb.Scan(db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM notes WHERE at IS NULL"), absent, &count); err != nil || count != 1 {
		t.Errorf("%d without a time, %v", count, err)
	}
	for _, otherwise := range []error{absent, nil} {
		if err := sqldb.Scan(db.Reader.QueryRowContext(ctx, "SELECT 1 FROM notes WHERE text = 'd'"), otherwise, &count); err != otherwise {
			t.Errorf("no row: %v, want %v", err, otherwise)
		}
	}
	for _, query := range []string{"SELECT nothing FROM notes", "SELECT text FROM notes", "SELECT text, text, tags FROM notes",
		"SELECT text, at, '{' FROM notes"} {
		if got, err := sqldb.Select(ctx, db.Reader, columnsOfNote, query); err == nil || got != nil {
			t.Errorf("%s: %v, %v", query, got, err)
		}
	}
	if _, err := sqldb.Select(ctx, db.Reader, sqldb.Column[string], "SELECT text FROM missing"); !errors.Is(err, fault.ErrDamaged) {
		t.Errorf("Select from a missing table: %v", err)
	}
}

func TestEachStopsAtAnError(t *testing.T) {
	db, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	enough, seen := errors.New("enough"), 0
	err = sqldb.Each(t.Context(), db.Reader, func(*sql.Rows) error {
		if seen++; seen == 2 {
			return enough
		}
		return nil
	}, "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")
	if !errors.Is(err, enough) || seen != 2 {
		t.Errorf("Each = %v after %d rows", err, seen)
	}
}
