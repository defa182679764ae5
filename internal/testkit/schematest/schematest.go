// Package schematest holds the schema.sql of a database to its migrations.
package schematest

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

var update = flag.Bool("update", false, "write schema.sql anew from the migrations")

// Check fails the test unless schema.sql in a folder of the caller makes what the migrations beside it and in other
// folders make: tables, indexes, rows and versions. With -update it writes that file instead.
func Check(t *testing.T, folder string, others ...string) {
	t.Helper()
	files, migrations := fstest.MapFS{}, fstest.MapFS{}
	for _, folder := range append([]string{folder}, others...) {
		paths, err := fs.Glob(os.DirFS(folder), "*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(filepath.Join(folder, path))
			if err != nil {
				t.Fatal(err)
			}
			files[path] = &fstest.MapFile{Data: text}
			if path != "schema.sql" {
				migrations[path] = files[path]
			}
		}
	}
	migrated := script(t, migrations)
	if *update {
		header := "-- Written by a test from the migrations: what they make of an empty file.\n"
		if err := os.WriteFile(filepath.Join(folder, "schema.sql"), []byte(header+migrated), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, got := strings.Split(migrated, "\n"), strings.Split(script(t, files), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d of what schema.sql makes is not that of the migrations: run this test with -update", i+1)
		}
	}
}

// script returns the SQL that makes a new database anew. What its rows say of the time becomes the time of the copy, and
// what names this one database becomes another name.
func script(t *testing.T, migrations fs.FS) string {
	t.Helper()
	ctx := t.Context()
	db, err := sqlite.Open(ctx, sqlite.Options{Migrations: migrations})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var made strings.Builder
	statements := texts(ctx, t, db, "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY rowid")
	for _, statement := range statements {
		fmt.Fprintf(&made, "%s;\n", statement)
	}
	for _, table := range texts(ctx, t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid") {
		columns := texts(ctx, t, db, "SELECT name FROM pragma_table_info(?) ORDER BY cid", table)
		values := make([]string, len(columns))
		for i, column := range columns {
			switch column {
			case "created_at":
				values[i] = "'unixepoch() * 1000000'"
			case "store":
				values[i] = "'lower(hex(randomblob(16)))'"
			case "tstamp":
				values[i] = "'datetime()'"
			default:
				values[i] = "quote(" + column + ")"
			}
		}
		for _, row := range texts(ctx, t, db, "SELECT "+strings.Join(values, " || ', ' || ")+" FROM "+table) {
			fmt.Fprintf(&made, "INSERT INTO %s VALUES (%s);\n", table, row)
		}
	}
	for _, counter := range texts(ctx, t, db, "SELECT name || ' ' || seq FROM sqlite_sequence WHERE seq > 0 ORDER BY name") {
		fmt.Fprintf(&made, "-- %s\n", counter)
	}
	for _, version := range texts(ctx, t, db, "PRAGMA user_version") {
		fmt.Fprintf(&made, "-- version %s\n", version)
	}
	return made.String()
}

func texts(ctx context.Context, t *testing.T, db *sqlite.DB, query string, arguments ...any) []string {
	t.Helper()
	all, err := sqldb.Select(ctx, db.Writer, sqldb.Column[string], query, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
