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

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"

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
	current, err := db.userVersion(ctx, db.Reader)
	if err != nil {
		return err
	}
	switch {
	case current == db.newest:
		return nil
	case current > db.newest:
		return db.newer(current)
	case db.readOnly:
		return db.readOlder(ctx, options, current)
	}
	if db.path != "" {
		unlock, err := lockWithin(ctx, db.path+".lock", options.BusyTimeout)
		if err != nil {
			return err
		}
		defer unlock()
	}
	if current, err = db.userVersion(ctx, db.Writer); err != nil || current == db.newest {
		return err
	}
	return db.runMigrations(ctx, options)
}

func (db *DB) runMigrations(ctx context.Context, options Options) error {
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.Writer, options.Migrations,
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations of %s: %w", db.name(), err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return Explain(fmt.Errorf("migrate the schema of %s to version %d: %w", db.name(), db.newest, err))
	}
	// A crash before this line costs only one more check by goose at the next start.
	if _, err := db.Writer.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(db.newest)); err != nil {
		return Explain(fmt.Errorf("store the schema version of %s: %w", db.name(), err))
	}
	return nil
}

// userVersion reads PRAGMA user_version, through the very first connection in most cases. Becoming a database with a
// write-ahead log needs the file alone for a moment, which SQLite does not wait for.
func (db *DB) userVersion(ctx context.Context, pool *sql.DB) (version int, err error) {
	err = whileBusy(ctx, DefaultBusyTimeout, func() error {
		if err := pool.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return Explain(fmt.Errorf("open %s: %w", db.name(), err))
		}
		return nil
	})
	return version, err
}

// whileBusy calls try again after a pause for as long as it returns index.ErrBusy, up to a timeout.
func whileBusy(ctx context.Context, timeout time.Duration, try func() error) error {
	for deadline := time.Now().Add(timeout); ; {
		err := try()
		if !errors.Is(err, index.ErrBusy) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(lockRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// checkNewer returns an error if a newer version of the program has migrated the open database.
func (db *DB) checkNewer(ctx context.Context, tx *sql.Tx) error {
	if db.newest == 0 {
		return nil
	}
	version := 0
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return Explain(fmt.Errorf("read the schema version of %s: %w", db.name(), err))
	}
	if version > db.newest {
		return db.newer(version)
	}
	return nil
}

func (db *DB) newer(found int) error {
	return fmt.Errorf("open %s: %w (schema version %d, this program knows %d)", db.name(), index.ErrNewer, found,
		db.newest)
}

// lockWithin acquires the lock for migrations, waiting up to a timeout.
func lockWithin(ctx context.Context, path string, timeout time.Duration) (unlock func(), err error) {
	err = whileBusy(ctx, timeout, func() error {
		if unlock, err = lockFile(path); err != nil {
			return Explain(fmt.Errorf("lock %s: %w", path, err))
		}
		return nil
	})
	return unlock, err
}

// readOlder makes a read-only database with an older schema readable: each connection gets the missing tables as empty
// temporary tables. That requires that the missing migrations only add tables.
func (db *DB) readOlder(ctx context.Context, options Options, current int) error {
	var add []string
	for number := current + 1; number <= db.newest; number++ {
		tables, err := tablesOf(options.Migrations, number)
		if err != nil {
			return err
		}
		if tables == nil || current == 0 {
			return fmt.Errorf("open %s: %w, and %w: its schema must be migrated from version %d to %d first",
				db.name(), index.ErrReadOnly, index.ErrOlder, current, db.newest)
		}
		add = append(add, tables...)
	}
	for _, pool := range []**sql.DB{&db.Reader, &db.Writer} {
		connector, err := driver.NewConnector(db.uris[*pool == db.Writer])
		if err != nil {
			return fmt.Errorf("open %s: %w", db.name(), err)
		}
		if err := (*pool).Close(); err != nil {
			return fmt.Errorf("open %s: %w", db.name(), err)
		}
		*pool = sql.OpenDB(completing{connector, add})
	}
	db.limitPools()
	if err := db.Reader.PingContext(ctx); err != nil {
		return Explain(fmt.Errorf("open %s: %w", db.name(), err))
	}
	return nil
}

// tablesOf returns the statements that create a migration's tables as temporary tables; nil if it does anything else.
// Indexes are left out.
func tablesOf(migrations fs.FS, number int) (tables []string, err error) {
	names, err := fs.Glob(migrations, fmt.Sprintf("%05d_*.sql", number))
	if err != nil || len(names) != 1 {
		return nil, errors.Join(err, fmt.Errorf("there are %d migrations %d", len(names), number))
	}
	text, err := fs.ReadFile(migrations, names[0])
	if err != nil {
		return nil, fmt.Errorf("read a migration: %w", err)
	}
	up, _, _ := strings.Cut(string(text), "-- +goose Down")
	up = regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(up, "")
	for statement := range strings.SplitSeq(up, ";") {
		statement = strings.TrimSpace(statement)
		rest, isTable := strings.CutPrefix(statement, "CREATE TABLE ")
		switch {
		case isTable:
			tables = append(tables, "CREATE TEMP TABLE "+rest)
		case statement == "" || strings.HasPrefix(statement, "CREATE INDEX ") || strings.HasPrefix(statement, "CREATE UNIQUE INDEX "):
		default:
			return nil, nil
		}
	}
	return tables, nil
}

// completing is a connector whose connections have additional temporary tables.
type completing struct {
	sqldriver.Connector
	tables []string
}

// Connect implements driver.Connector.
func (c completing) Connect(ctx context.Context) (sqldriver.Conn, error) {
	connection, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	executor, ok := connection.(sqldriver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("the driver cannot prepare a connection"), connection.Close())
	}
	statements := append([]string{"PRAGMA query_only = 0"}, c.tables...)
	for _, statement := range append(statements, "PRAGMA query_only = 1") {
		if _, err := executor.ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("complete an older schema: %w", err), connection.Close())
		}
	}
	return connection, nil
}
