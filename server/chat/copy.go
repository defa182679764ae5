package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quarry/server/postgres"
	"quarry/server/sqldb"
)

// CopyTo replaces all sessions and files of a tenant on a PostgreSQL server by those of this store, in a file. It
// returns the number of rows. Messages get new numbers unless no other tenant has any.
func (s *Store) CopyTo(ctx context.Context, target *Store) (rows int, err error) {
	from, err := s.db.Pool().BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("copy the conversations: %w", err)
	}
	defer func() { _ = from.Rollback() }()
	if err := target.db.Update(ctx, func(to *sql.Tx) (err error) {
		rows, err = copyTenant(ctx, from, to, target.tenant)
		return err
	}); err != nil {
		return 0, fmt.Errorf("copy the conversations: %w", err)
	}
	return rows, nil
}

func copyTenant(ctx context.Context, from, to *sql.Tx, tenant string) (rows int, err error) {
	for _, table := range []string{"sessions", "files"} { // messages go with their sessions
		if _, err := to.ExecContext(ctx, "DELETE FROM "+table+" WHERE tenant_id = ?", tenant); err != nil {
			return 0, fmt.Errorf("empty the table %s: %w", table, err)
		}
	}
	var last int64 // number of a message of another tenant
	if err := to.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM messages").Scan(&last); err != nil {
		return 0, fmt.Errorf("read the numbers of messages: %w", err)
	}
	renumber := func(row map[string]any, columns ...string) {
		for _, column := range columns {
			if number, ok := row[column].(int64); ok && number > 0 {
				row[column] = number + last
			}
		}
	}
	for _, table := range []struct {
		name   string
		change func(row map[string]any)
	}{
		{"sessions", func(row map[string]any) {
			row["tenant_id"] = tenant
			renumber(row, "stopped_at")
		}},
		{"messages", func(row map[string]any) { renumber(row, "id", "parent_id") }},
		{"files", func(row map[string]any) { row["tenant_id"] = tenant }},
	} {
		n, err := postgres.CopyTable(ctx, from, to, table.name, table.change)
		if rows += n; err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// Rows counts what CopyTo copies.
func (s *Store) Rows(ctx context.Context) (rows int, err error) {
	return sqldb.CountRows(ctx, s.db, []string{"sessions", "messages", "files"})
}

// Changes returns the number of the last change.
func (s *Store) Changes(ctx context.Context) (int64, error) {
	version, ok := s.db.Version(ctx)
	if !ok {
		return 0, errors.New("the version of the conversations cannot be read")
	}
	return version.Number, nil
}
