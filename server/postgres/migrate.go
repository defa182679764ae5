package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"quarry/server/fault"
	"quarry/server/sqldb"
)

// migrationLock is the number of the session lock under which one process at a time migrates.
const migrationLock = 0x7175617272790001 // "quarry" and a number

// migrationWait bounds how long a process waits for another one's migration.
const migrationWait = "5min"

// migrate migrates the tables of a store to the newest version, which it returns. If they are up to date, that costs
// one question.
func (p *Pool) migrate(ctx context.Context, store string, migrations fs.FS) (newest int, err error) {
	versions, err := database.NewStore(goose.DialectPostgres, store+"_migrations")
	if err != nil {
		return 0, fmt.Errorf("read the migrations of %s: %w", store, err)
	}
	provider, err := goose.NewProvider("", p.db, migrations, goose.WithStore(versions), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return 0, fmt.Errorf("read the migrations of %s: %w", store, err)
	}
	sources := provider.ListSources()
	newest = int(sources[len(sources)-1].Version)
	current, err := version(ctx, p.db, store)
	switch {
	case err != nil || current == newest:
		return newest, p.explain(err)
	case current > newest:
		return 0, p.newer(current, newest)
	case p.readOnly:
		return 0, fmt.Errorf("open %s: %w, and %w: its tables must be migrated from version %d to %d first", p, fault.ErrReadOnly,
			fault.ErrOlder, current, newest)
	}
	return newest, p.explain(p.underLock(ctx, func(conn *sql.Conn) error {
		current, err := version(ctx, conn, store) // another process may have been faster
		if err != nil || current >= newest {
			return err
		}
		if err := p.makeSchema(ctx, conn); err != nil {
			return err
		}
		if _, err := provider.Up(ctx); err != nil {
			return fmt.Errorf("migrate the tables of %s to version %d: %w", store, newest, err)
		}
		_, err = conn.ExecContext(ctx, `INSERT INTO store_schemas (store, version) VALUES (?1, ?2)
			ON CONFLICT (store) DO UPDATE SET version = ?2`, store, newest)
		return err
	}))
}

// underLock runs do with the lock of migrations, which the server releases if the process ends.
func (p *Pool) underLock(ctx context.Context, do func(*sql.Conn) error) error {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	// The settings are of this connection, which is not used again.
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	for _, setting := range []string{"lock_timeout", "statement_timeout"} {
		if _, err := conn.ExecContext(ctx, "SELECT set_config(?, ?, false)", setting, migrationWait); err != nil {
			return err
		}
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(?)", migrationLock); err != nil {
		return err
	}
	return do(conn)
}

// makeSchema makes the schema, and the tables with the version and the changes of every store.
func (p *Pool) makeSchema(ctx context.Context, conn *sql.Conn) error {
	exists := false
	if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = ?)", p.schema).
		Scan(&exists); err != nil {
		return err
	}
	statements := []string{
		`CREATE TABLE IF NOT EXISTS store_schemas (store TEXT PRIMARY KEY, version BIGINT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS store_changes (store TEXT, scope TEXT, changes BIGINT NOT NULL, PRIMARY KEY (store, scope))`,
	}
	if !exists { // a user without the right to create schemas can use one that exists
		statements = append([]string{`CREATE SCHEMA "` + p.schema + `"`}, statements...)
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the schema %s: %w", p.schema, err)
		}
	}
	return nil
}

// Drop removes the pool's schema with all that is in it.
func (p *Pool) Drop(ctx context.Context) error {
	_, err := p.db.ExecContext(ctx, `DROP SCHEMA IF EXISTS "`+p.schema+`" CASCADE`)
	return p.explain(err)
}

// version returns the migration of a store's tables; 0 if there are none.
func version(ctx context.Context, q sqldb.Querier, store string) (int, error) {
	versions, err := sqldb.Select(ctx, q, sqldb.Column[int], "SELECT version FROM store_schemas WHERE store = ?", store)
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == "42P01" { // no such table
		return 0, nil
	}
	return append(versions, 0)[0], err
}

func (p *Pool) newer(found, known int) error {
	return fmt.Errorf("open %s: %w (schema version %d, this program knows %d)", p, fault.ErrNewer, found, known)
}
