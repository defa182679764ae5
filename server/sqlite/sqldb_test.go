package sqlite

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"quarry/internal/guard"
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
	count, from := 0, sqldb.Source{Context: ctx, Querier: db.Reader}
	if !from.Get([]any{&count}, "SELECT count(*) FROM notes WHERE at IS NULL") || count != 1 {
		t.Errorf("%d without a time", count)
	}
	for _, otherwise := range []error{absent, nil} {
		if err := guard.Ended(func() { from.Row(otherwise, []any{&count}, "SELECT 1 FROM notes WHERE text = 'd'") }); err != otherwise {
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

// TestEachEnds: rows are closed when the loop over them ends early, is aborted, or the context ends.
func TestEachEnds(t *testing.T) {
	db, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	enough, number := errors.New("enough"), 0
	ctx, cancel := context.WithCancel(t.Context())
	for _, end := range []struct {
		at   func()
		want error
	}{{func() {}, nil}, {func() { guard.Abort(enough) }, enough}, {cancel, context.Canceled}} {
		err := guard.Ended(func() {
			for range sqldb.Shared(ctx, db.Writer).Each([]any{&number}, "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3") {
				if number == 2 {
					if end.at(); end.want != context.Canceled { //nolint:errorlint // the very one
						break
					}
				}
			}
		})
		if !errors.Is(err, end.want) || number != 2 || db.Writer.Stats().InUse > 0 {
			t.Errorf("Each = %v after row %d, with %d connections in use", err, number, db.Writer.Stats().InUse)
		}
	}
}
