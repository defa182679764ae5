package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"quarry/server/index"
)

// lockRetry is the pause between two attempts to get a lock that cannot be waited for.
const lockRetry = 10 * time.Millisecond

// newestMigration returns the highest number of the migration files; 0 without migrations.
func newestMigration(migrations fs.FS) (int, error) {
	if migrations == nil {
		return 0, nil
	}
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	newest := 0
	for _, name := range names {
		prefix, _, _ := strings.Cut(name, "_")
		number, err := strconv.Atoi(prefix)
		if err != nil || number < 1 {
			return 0, fmt.Errorf("migration %s: its name must begin with a number", name)
		}
		newest = max(newest, number)
	}
	if newest == 0 {
		return 0, errors.New("there are no migrations at the root of Options.Migrations")
	}
	return newest, nil
}

// migrate migrates the schema to the newest version. If it is up to date, that costs one PRAGMA.
func (db *DB) migrate(ctx context.Context, options Options) error {
	if db.newest == 0 {
		return nil
	}
	current := 0
	// Becoming a database with a write-ahead log needs the file alone for a moment, which SQLite does not wait for.
	err := whileBusy(ctx, DefaultBusyTimeout, func() (err error) {
		current, err = db.userVersion(ctx, db.Reader)
		return err
	})
	switch {
	case err != nil || current == db.newest:
		return err
	case current > db.newest:
		return db.newer(current)
	case db.readOnly:
		return db.readOlder(ctx, options.Migrations, current)
	}
	err = whileBusy(ctx, options.BusyTimeout, func() error { return Explain(db.runMigrations(ctx, options.Migrations)) })
	if err != nil {
		return fmt.Errorf("migrate the schema of %s to version %d: %w", db.name(), db.newest, err)
	}
	return nil
}

// runMigrations runs the missing migrations in one transaction with the write lock. Another process may have been faster.
func (db *DB) runMigrations(ctx context.Context, migrations fs.FS) error {
	tx, err := db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	current, err := db.userVersion(ctx, tx)
	if err == nil && current < db.newest {
		current, err = gooseVersion(ctx, tx, current)
	}
	if err != nil {
		return err
	}
	for current < db.newest {
		current++
		statements, err := migration(migrations, current)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, statements); err != nil {
			return fmt.Errorf("migration %d: %w", current, err)
		}
	}
	if _, err := tx.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(current)); err != nil {
		return err
	}
	return tx.Commit()
}

// gooseVersion returns the number of the newest migration in the table of goose, which earlier versions of the program
// wrote before they set user_version: they may have crashed in between.
func gooseVersion(ctx context.Context, tx *sql.Tx, current int) (version int, err error) {
	tables := 0
	row := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'")
	if err := row.Scan(&tables); err != nil || tables == 0 {
		return current, err
	}
	err = tx.QueryRowContext(ctx, "SELECT max(?, max(version_id)) FROM goose_db_version", current).Scan(&version)
	return version, err
}

// userVersion reads PRAGMA user_version.
func (db *DB) userVersion(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, Explain(fmt.Errorf("open %s: %w", db.name(), err))
	}
	return version, nil
}

// whileBusy calls try again after a pause for as long as it returns index.ErrBusy, up to a timeout.
func whileBusy(ctx context.Context, timeout time.Duration, try func() error) error {
	for deadline := time.Now().Add(timeout); ; {
		err := try()
		switch {
		case !errors.Is(err, index.ErrBusy) || time.Now().After(deadline):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		select {
		case <-time.After(lockRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (db *DB) newer(found int) error {
	return fmt.Errorf("open %s: %w (schema version %d, this program knows %d)", db.name(), index.ErrNewer, found,
		db.newest)
}

// readOlder makes a read-only database with an older schema readable: each connection gets the missing tables as empty
// temporary tables. That requires that the missing migrations only add tables.
func (db *DB) readOlder(ctx context.Context, migrations fs.FS, current int) error {
	for number := current + 1; number <= db.newest; number++ {
		statements, err := migration(migrations, number)
		if err != nil {
			return err
		}
		tables := tablesOf(statements)
		if tables == nil || current == 0 {
			return fmt.Errorf("open %s: %w, and %w: its schema must be migrated from version %d to %d first",
				db.name(), index.ErrReadOnly, index.ErrOlder, current, db.newest)
		}
		db.missing = append(db.missing, tables...)
	}
	db.Reader.SetMaxIdleConns(-1) // closes the connections that lack the tables
	db.limitPools()
	if err := db.Reader.PingContext(ctx); err != nil {
		return Explain(fmt.Errorf("open %s: %w", db.name(), err))
	}
	return nil
}

// migration returns the statements of a migration.
func migration(migrations fs.FS, number int) (string, error) {
	names, err := fs.Glob(migrations, fmt.Sprintf("%05d_*.sql", number))
	if err != nil || len(names) != 1 {
		return "", errors.Join(err, fmt.Errorf("there are %d migrations %d", len(names), number))
	}
	text, err := fs.ReadFile(migrations, names[0])
	if err != nil {
		return "", fmt.Errorf("read a migration: %w", err)
	}
	up, _, _ := strings.Cut(string(text), "-- +goose Down")
	return up, nil
}

// tablesOf returns the statements that create a migration's tables as temporary tables; nil if it does anything else.
// Indexes are left out.
func tablesOf(migration string) (tables []string) {
	migration = regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(migration, "")
	for statement := range strings.SplitSeq(migration, ";") {
		statement = strings.TrimSpace(statement)
		rest, isTable := strings.CutPrefix(statement, "CREATE TABLE ")
		switch {
		case isTable:
			tables = append(tables, "CREATE TEMP TABLE "+rest)
		case statement == "" || strings.HasPrefix(statement, "CREATE INDEX ") || strings.HasPrefix(statement, "CREATE UNIQUE INDEX "):
		default:
			return nil
		}
	}
	return tables
}

// connector opens connections to a database, with its missing tables as temporary ones.
type connector struct {
	sqldriver.Connector
	db *DB
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	connection, err := c.Connector.Connect(ctx)
	if err != nil || len(c.db.missing) == 0 {
		return connection, err
	}
	executor, ok := connection.(sqldriver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("the driver cannot prepare a connection"), connection.Close())
	}
	statements := append([]string{"PRAGMA query_only = 0"}, c.db.missing...)
	for _, statement := range append(statements, "PRAGMA query_only = 1") {
		if _, err := executor.ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("complete an older schema: %w", err), connection.Close())
		}
	}
	return connection, nil
}
