package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// kept returns the texts of the statements that wait on a connection.
func kept(t *testing.T, conn *sql.Conn) (texts []string) {
	t.Helper()
	if err := conn.Raw(func(c any) error {
		texts = slices.Sorted(maps.Keys(c.(*connection).idle))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestStatementsAreKept(t *testing.T) {
	db := open(t, Options{Path: t.TempDir() + "/notes.db", Migrations: migrations()})
	conn, err := db.Writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	run := func(want string, text string, args ...any) {
		t.Helper()
		_, err := conn.ExecContext(t.Context(), text, args...)
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	const insert, count = "INSERT INTO notes (text) VALUES (?)", "SELECT COUNT(*) FROM notes"
	run("<nil>", insert, "one")
	run("<nil>", insert, "two")
	run("constraint failed: NOT NULL constraint failed: notes.text (1299)", insert, nil)
	if got := kept(t, conn); slices.Contains(got, insert) {
		t.Errorf("after a failure %q are kept", got)
	}
	run("<nil>", insert, "three")
	run("<nil>", "PRAGMA cache_size = 7")
	run("<nil>", "CREATE TABLE other (id INTEGER); INSERT INTO other VALUES (1); INSERT INTO other VALUES (2)")
	if n := countNotes(t, conn); n != 3 {
		t.Errorf("%d notes", n)
	}
	got := slices.DeleteFunc(kept(t, conn), func(text string) bool { return strings.Contains(text, "goose") })
	if !slices.Equal(got, []string{insert, count}) {
		t.Errorf("%q are kept", got)
	}
	run("<nil>", "ALTER TABLE notes ADD COLUMN more TEXT DEFAULT 'x'") // what is kept is prepared again
	run("<nil>", insert, "four")
	if n := countNotes(t, conn); n != 4 {
		t.Errorf("%d notes after the schema changed", n)
	}
}

// The same statement may be read twice at once, and be left before its end.
func TestAStatementHasSeveralReaders(t *testing.T) {
	db := open(t, Options{Path: t.TempDir() + "/notes.db", Migrations: migrations()})
	for i := range 3 {
		if err := addNote(db, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := db.Reader.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const all = "SELECT text FROM notes ORDER BY id"
	read := func(rows *sql.Rows) (text string) {
		if rows.Next() {
			_ = rows.Scan(&text)
		}
		return text
	}
	var open []*sql.Rows
	for range 2 {
		rows, err := conn.QueryContext(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, rows)
	}
	got := []string{read(open[0]), read(open[0]), read(open[1]), read(open[0]), read(open[1])}
	if want := []string{"0", "1", "0", "2", "1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, rows := range open {
		_ = rows.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := conn.QueryContext(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = rows.Close()
	if rows, err = conn.QueryContext(t.Context(), all); err != nil || read(rows) != "0" {
		t.Errorf("after one was cancelled: %v", err)
	}
	_ = rows.Close()
	if got := kept(t, conn); !slices.Contains(got, all) {
		t.Errorf("%q are kept", got)
	}
}

// A connection keeps a bounded number of statements.
func TestFewStatementsAreKept(t *testing.T) {
	db := open(t, Options{Path: t.TempDir() + "/notes.db", Migrations: migrations()})
	conn, err := db.Reader.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for i := range 2 * mostIdle {
		var got int
		if err := conn.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %d", i)).Scan(&got); err != nil || got != i {
			t.Fatal(got, err)
		}
	}
	if got := len(kept(t, conn)); got != mostIdle {
		t.Errorf("%d are kept", got)
	}
}
