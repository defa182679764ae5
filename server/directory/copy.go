package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"quarry/server/postgres"
	"quarry/server/sqldb"
)

// copiedTables are the tables of the directory. Each refers only to those before it.
func copiedTables() []string {
	return []string{"tenants", "users", "user_groups", "user_group_members", "external_group_members", "tokens", "token_parents",
		"sandbox_tokens", "document_sets", "document_set_users", "document_set_groups", "connectors", "credentials", "cc_pairs",
		"cc_pair_groups", "document_set_cc_pairs", "agents", "agent_document_sets", "agent_documents", "agent_users", "agent_groups",
		"agent_files", "model_tokens", "removed_libraries"}
}

// CopyTo replaces all that a directory on a PostgreSQL server contains by what this one, in a file, does. It returns
// the number of rows. Conversations on that server are removed.
func (d *Directory) CopyTo(ctx context.Context, target *Directory) (rows int, err error) {
	from, err := d.db.Pool().BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("copy the directory: %w", err)
	}
	defer func() { _ = from.Rollback() }()
	err = target.db.Update(ctx, func(to *sql.Tx) error {
		rows = 0
		for _, table := range slices.Backward(copiedTables()) {
			if _, err := to.ExecContext(ctx, "DELETE FROM "+table); err != nil {
				return fmt.Errorf("empty the table %s: %w", table, err)
			}
		}
		for _, table := range copiedTables() {
			n, err := postgres.CopyTable(ctx, from, to, table, nil)
			if rows += n; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("copy the directory: %w", err)
	}
	return rows, nil
}

// Rows counts what CopyTo copies.
func (d *Directory) Rows(ctx context.Context) (rows int, err error) {
	return sqldb.CountRows(ctx, d.db, copiedTables())
}

// Changes returns the number of the last change.
func (d *Directory) Changes(ctx context.Context) (int64, error) {
	version, ok := d.db.Version(ctx)
	if !ok {
		return 0, errors.New("the version of the directory cannot be read")
	}
	return version.Number, nil
}
