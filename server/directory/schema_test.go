package directory

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

var update = flag.Bool("update", false, "write schema.sql anew from the migrations")

// TestSchemaIsThatOfTheMigrations holds schema.sql to what the migrations make: tables, indexes, rows and versions.
func TestSchemaIsThatOfTheMigrations(t *testing.T) {
	options := sqlite.Options{Migrations: sqldb.Migrations(migrations, "migrations/sqlite")}
	migrated := script(t, options)
	if *update {
		header := "-- Written by a test from migrations/sqlite: what they make of an empty file.\n"
		if err := os.WriteFile("schema.sql", []byte(header+migrated), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	options.Schema = schema
	want := strings.Split(migrated, "\n")
	got := strings.Split(script(t, options), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d of what schema.sql makes is not that of the migrations: run this test with -update", i+1)
		}
	}
}

// script returns the SQL that makes a new database anew. What its rows say of the time becomes the time of the copy.
func script(t *testing.T, options sqlite.Options) string {
	t.Helper()
	ctx := t.Context()
	db, err := sqlite.Open(ctx, options)
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

func texts(ctx context.Context, t *testing.T, db *sqlite.DB, query string, arguments ...any) (all []string) {
	t.Helper()
	err := sqldb.Each(ctx, db.Writer, func(row *sql.Rows) error {
		all = append(all, "")
		return row.Scan(&all[len(all)-1])
	}, query, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
