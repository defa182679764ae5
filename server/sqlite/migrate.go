package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"quarry/server/index"

	"github.com/pressly/goose/v3"
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
		return Explain(fmt.Errorf("bring the schema of %s to version %d: %w", db.name(), db.newest, err))
	}
	// A crash before this line costs only one more check by goose at the next start.
	if _, err := db.Writer.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(db.newest)); err != nil {
		return Explain(fmt.Errorf("note the schema version of %s: %w", db.name(), err))
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
