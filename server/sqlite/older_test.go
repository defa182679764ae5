package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"quarry/server/fault"
)

const addsTables = "-- a table; and another\nCREATE TABLE moods (note INTEGER PRIMARY KEY REFERENCES notes (id), mood TEXT NOT NULL) STRICT; -- one; each\n" +
	"CREATE UNIQUE INDEX moods_by_mood ON moods (mood);\nCREATE INDEX notes_by_text ON notes (text);\nDROP INDEX notes_by_text;\n-- +goose Down\nDROP TABLE moods;\n"

// TestAnOlderSchemaIsRead: where nothing may be written, tables of later migrations are there and empty, on every
// connection, and the file stays as it was.
func TestAnOlderSchemaIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	writer := open(t, Options{Path: path, Migrations: migrations()})
	if err := addNote(writer, "one"); err != nil {
		t.Fatal(err)
	}
	db := open(t, Options{Path: path, ReadOnly: true, Migrations: migrations(addsTables, "CREATE TABLE places (id INTEGER PRIMARY KEY) STRICT;\n")})
	if got := countNotes(t, db.Reader); got != 1 {
		t.Errorf("%d notes", got)
	}
	if err := addNote(writer, "two"); err != nil {
		t.Fatal(err)
	}
	var together sync.WaitGroup
	for range 4 * idleReaders {
		together.Go(func() {
			tx, err := db.Reader.BeginTx(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = tx.Rollback() }()
			notes, moods := 0, 0
			row := tx.QueryRow("SELECT COUNT(*), (SELECT COUNT(*) FROM moods) + (SELECT COUNT(*) FROM places) FROM notes")
			if err := row.Scan(&notes, &moods); err != nil || notes != 2 || moods != 0 {
				t.Errorf("%d notes, %d others, %v", notes, moods, err)
			}
		})
	}
	together.Wait()
	for _, statement := range []string{"INSERT INTO moods VALUES (1, 'calm')", "INSERT INTO notes (text) VALUES ('three')", "CREATE TEMP TABLE x (y)"} {
		if _, err := db.Reader.Exec(statement); err == nil {
			t.Errorf("a reader did %s", statement)
		}
	}
	if err := addNote(db, "three"); !errors.Is(err, fault.ErrReadOnly) {
		t.Errorf("writing: %v, want ErrReadOnly", err)
	}
	version := 0
	if err := writer.Reader.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != 1 {
		t.Errorf("schema version %d, %v", version, err)
	}
}

// TestAnOlderSchemaWithoutColumns: columns of later migrations have their defaults where nothing may be written.
func TestAnOlderSchemaWithoutColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	if err := addNote(open(t, Options{Path: path, Migrations: migrations()}), "one"); err != nil {
		t.Fatal(err)
	}
	db := open(t, Options{Path: path, ReadOnly: true, Migrations: migrations(addsTables,
		"ALTER TABLE notes ADD COLUMN place TEXT;\nALTER TABLE notes ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';\n",
		"ALTER TABLE moods ADD COLUMN level INTEGER NOT NULL DEFAULT 1;\nALTER TABLE notes ADD COLUMN stars INTEGER NOT NULL DEFAULT -1;\n")})
	text, mood, stars, levels, unplaced := "", "", 0, 0, false
	row := db.Reader.QueryRow("SELECT text, mood, stars, place IS NULL, (SELECT COUNT(level) FROM moods) FROM notes WHERE id = 1")
	if err := row.Scan(&text, &mood, &stars, &unplaced, &levels); err != nil || text != "one" || mood != "calm" || stars != -1 ||
		!unplaced || levels != 0 {
		t.Errorf("%q, %q, %d, %v, %d, %v", text, mood, stars, unplaced, levels, err)
	}
}

// TestAnOlderSchemaThatCannotBeRead: what a migration does to tables that are there cannot be done without writing.
func TestAnOlderSchemaThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	open(t, Options{Path: path, Migrations: migrations()})
	for _, text := range []string{"ALTER TABLE notes DROP COLUMN text;\n", "CREATE TABLE a (b);\nUPDATE notes SET text = '';\n",
		"CREATE VIEW a AS SELECT 1;\n"} {
		_, err := Open(t.Context(), Options{Path: path, ReadOnly: true, Migrations: migrations(text)})
		if !errors.Is(err, fault.ErrReadOnly) || !errors.Is(err, fault.ErrOlder) {
			t.Errorf("%s: %v", text, err)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Path: empty, ReadOnly: true, Migrations: migrations()}); !errors.Is(err, fault.ErrOlder) {
		t.Errorf("nothing was ever made there: %v", err)
	}
}

// TestSchemaIsForEmptyFiles: a file that a migration has left tables in is migrated.
func TestSchemaIsForEmptyFiles(t *testing.T) {
	files := migrations().(fstest.MapFS)
	files["schema.sql"] = &fstest.MapFile{Data: []byte(
		"CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT; INSERT INTO notes (text) VALUES ('by the schema');")}
	for _, test := range []struct {
		before string
		notes  int
	}{{"", 1}, {"CREATE TABLE left (id)", 0}} {
		path := filepath.Join(t.TempDir(), "data.db")
		if _, err := open(t, Options{Path: path}).Writer.Exec(test.before); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			db := open(t, Options{Path: path, Migrations: files})
			if got := countNotes(t, db.Reader); got != test.notes {
				t.Errorf("after %q: %d notes, want %d", test.before, got, test.notes)
			}
		}
	}
}
