package directory

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/postgrestest"
)

// TestCopy copies a directory with a row in every table to a server, twice, and goes on there.
func TestCopy(t *testing.T) {
	ctx := t.Context()
	pool := postgrestest.Open(t, t.Name(), false)
	from := openFile(t)
	fillEveryTable(t, from)
	to, err := OpenServer(ctx, pool, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rows, err := to.Copied().Replace(ctx, from.Copied())
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, table := range copiedTables() {
			want, got := rowsOf(t, from, table), rowsOf(t, to, table)
			if total += len(want); !slices.Equal(want, got) || len(want) == 0 {
				t.Errorf("%s:\n%s, want\n%s", table, got, want)
			}
		}
		if rows != total {
			t.Errorf("copied %d rows, want %d", rows, total)
		}
	}
	if err := to.db.Update(ctx, func(tx *sql.Tx) error { // the next number is free
		_, err := tx.ExecContext(ctx, "INSERT INTO user_groups (tenant_id, name, created_at) VALUES ('acme', 'Another', 8)")
		return err
	}); err != nil {
		t.Error(err)
	}
}

// TestEveryTableIsCopied finds tables that CopyTo does not know.
func TestEveryTableIsCopied(t *testing.T) {
	d := openFile(t)
	rows, err := d.db.Pool().QueryContext(t.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		name := ""
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(copiedTables(), name) {
			t.Errorf("the table %s is not copied", name)
		}
	}
}

func openFile(t *testing.T) *Directory {
	t.Helper()
	d, err := Open(t.Context(), filepath.Join(t.TempDir(), "directory.db"), false, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// rowsOf writes the rows of a table.
func rowsOf(t *testing.T, d *Directory, table string) (lines []string) {
	t.Helper()
	rows, err := d.db.Pool().QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		var fields []string
		for i, column := range columns {
			if yes, ok := values[i].(bool); ok {
				values[i] = map[bool]int{true: 1}[yes]
			}
			fields = append(fields, fmt.Sprintf("%s=%v", column, values[i]))
		}
		slices.Sort(fields)
		lines = append(lines, strings.Join(fields, " "))
	}
	slices.Sort(lines)
	return lines
}

// fillEveryTable inserts a row in each table, with numbers that are not the first ones.
func fillEveryTable(t *testing.T, d *Directory) {
	t.Helper()
	err := d.db.Update(t.Context(), func(tx *sql.Tx) error {
		for _, insert := range strings.Split(`tenants VALUES ('acme', 5);
			users (id, tenant_id, email, role, is_active, created_at) VALUES ('u', 'acme', 'jo@acme.example', 'basic', 0, 7);
			user_groups (id, tenant_id, name, created_at) VALUES (41, 'acme', 'Eng', 7);
			user_group_members VALUES (41, 'u');
			external_group_members VALUES ('u', 'slack', 'c1');
			tokens (id, user_id, name, hash, display, scopes, created_at, is_revoked) VALUES (51, 'u', 'cli', 'h1', 'o…1', '["read:search"]', 7, 1);
			tokens (id, user_id, name, hash, display, created_at, expires_at) VALUES (52, 'u', 'ci', 'h2', 'o…2', 7, 9);
			token_parents VALUES (52, 51);
			sandbox_tokens VALUES ('u', 52, x'00ff10');
			document_sets (id, tenant_id, name, is_public, is_automatic, created_at) VALUES (61, 'acme', 'Manuals', 0, 1, 7);
			document_set_users VALUES (61, 'u');
			document_set_groups VALUES (61, 41);
			connectors (id, tenant_id, name, source, created_at) VALUES (71, 'acme', 'Wiki', 'confluence', 7);
			credentials (id, tenant_id, name, source, created_at) VALUES (72, 'acme', 'Wiki', 'confluence', 7);
			cc_pairs (id, tenant_id, connector_id, credential_id, name, access_type, creator_email, created_at) VALUES (73, 'acme', 71, 72, 'Wiki', 'private', 'jo@acme.example', 7);
			cc_pair_groups VALUES (73, 41);
			document_set_cc_pairs VALUES (61, 73);
			agents (id, tenant_id, name, is_public, is_listed, owner_id, created_at) VALUES (81, 'acme', 'Helper', 1, 0, 'u', 7);
			agent_document_sets VALUES (81, 61);
			agent_documents VALUES (81, 'doc');
			agent_users VALUES (81, 'u');
			agent_groups VALUES (81, 41);
			agent_files VALUES (81, 'f', 'u');
			removed_libraries VALUES ('acme-1');
			model_tokens VALUES ('acme', '2026-08-01', 77)`, ";\n") {
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO "+insert); err != nil {
				return fmt.Errorf("%s: %w", insert, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
