package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/sqldb"
)

// lockRetry is the pause between two attempts to get a lock that cannot be waited for.
const lockRetry = 10 * time.Millisecond

// migrate migrates the schema to the newest version. If it is up to date, that costs one PRAGMA.
func (db *DB) migrate(ctx context.Context, options Options) error {
	if options.Migrations == nil {
		return nil
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.Writer, options.Migrations,
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations of %s: %w", db.name(), err)
	}
	sources := provider.ListSources()
	db.newest = int(sources[len(sources)-1].Version)
	current := 0
	// Becoming a database with a write-ahead log needs the file alone for a moment, which SQLite does not wait for.
	err = whileBusy(ctx, DefaultBusyTimeout, func() (err error) {
		current, err = db.userVersion(ctx, db.Reader)
		return err
	})
	switch {
	case err != nil || current == db.newest:
		return err
	case current > db.newest:
		return db.newer(current)
	case db.readOnly && db.path != "":
		return db.readOlder(ctx, options.Migrations, sources, current)
	}
	return db.runMigrations(ctx, options, provider)
}

// runMigrations runs the missing migrations with a lock on a file of its own. Another process may have been faster. The
// file is not removed: otherwise two processes could lock different files of that name.
func (db *DB) runMigrations(ctx context.Context, options Options, provider *goose.Provider) error {
	lock, current := flock.New(db.path+".lock"), 0
	defer lock.Close() // nothing was written
	err := whileBusy(ctx, options.BusyTimeout, func() (err error) {
		if locked := db.path == ""; !locked {
			if locked, err = lock.TryLock(); err == nil && !locked {
				err = fault.ErrBusy
			}
		}
		if err != nil {
			return sqldb.Explained("lock "+lock.String(), err)
		}
		current, err = db.userVersion(ctx, db.Writer)
		return err
	})
	if err != nil || current >= db.newest {
		return err
	}
	if isNew, err := db.create(ctx, options.Migrations); isNew || err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return sqldb.Explained(fmt.Sprintf("migrate the schema of %s to version %d", db.name(), db.newest), err)
	}
	// A crash before this line costs only one more check by goose at the next start.
	_, err = db.Writer.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(db.newest))
	return sqldb.Explained("store the schema version of "+db.name(), err)
}

// create makes the newest schema in a database without tables, and reports whether it had none. A migration that ended
// early leaves tables.
func (db *DB) create(ctx context.Context, migrations fs.FS) (isNew bool, err error) {
	schema, err := fs.ReadFile(migrations, "schema.sql")
	if err != nil { // there is none
		return false, nil
	}
	err = db.Writer.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)").Scan(&isNew)
	if err == nil && isNew {
		statements := fmt.Sprintf("BEGIN; %s; PRAGMA user_version = %d; COMMIT", schema, db.newest)
		_, err = db.Writer.ExecContext(ctx, statements)
	}
	return isNew, sqldb.Explained("make the tables of "+db.name(), err)
}

// userVersion reads PRAGMA user_version.
func (db *DB) userVersion(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, sqldb.Explained("open "+db.name(), err)
}

// whileBusy calls try again after a pause for as long as it returns fault.ErrBusy, up to a timeout.
func whileBusy(ctx context.Context, timeout time.Duration, try func() error) error {
	for deadline := time.Now().Add(timeout); ; {
		err := try()
		if !errors.Is(err, fault.ErrBusy) || time.Now().After(deadline) {
			return err
		}
		if err := cmp.Or(ctx.Err(), guard.Sleep(ctx, lockRetry)); err != nil {
			return err
		}
	}
}

func (db *DB) newer(found int) error {
	return fmt.Errorf("open %s: %w (schema version %d, this program knows %d)", db.name(), fault.ErrNewer, found,
		db.newest)
}

// readOlder makes a read-only database with an older schema readable: each connection gets the missing tables as empty
// temporary tables, and tables that lack columns as temporary views. That requires that the missing migrations only add
// tables and columns, and add or remove indexes.
func (db *DB) readOlder(ctx context.Context, migrations fs.FS, sources []*goose.Source, current int) error {
	for _, source := range sources {
		if source.Version <= int64(current) {
			continue
		}
		text, err := fs.ReadFile(migrations, source.Path)
		if err != nil {
			return fmt.Errorf("read a migration: %w", err)
		}
		if !db.lack(string(text)) || current == 0 {
			return fmt.Errorf("open %s: %w, and %w: its schema must be migrated from version %d to %d first",
				db.name(), fault.ErrReadOnly, fault.ErrOlder, current, db.newest)
		}
	}
	db.Reader.SetMaxIdleConns(-1) // closes the connections that lack the tables
	db.Reader.SetMaxIdleConns(idleReaders)
	return sqldb.Explained("open "+db.name(), db.Reader.PingContext(ctx))
}

// lack adds what a migration makes to what is missing, and reports whether that is all that it does. Indexes are left
// out: reading does without them.
func (db *DB) lack(migration string) bool {
	migration, _, _ = strings.Cut(migration, "-- +goose Down")
	migration = regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(migration, "")
	column := regexp.MustCompile(`^ALTER TABLE (\w+) ADD COLUMN (\w+)[^']*?(?: DEFAULT ('[^']*'|-?\d+))?$`)
	for statement := range strings.SplitSeq(migration, ";") {
		statement = strings.TrimSpace(statement)
		rest, isTable := strings.CutPrefix(statement, "CREATE TABLE ")
		added := column.FindStringSubmatch(statement)
		switch {
		case isTable:
			db.missing = append(db.missing, "CREATE TEMP TABLE "+rest)
		case added != nil:
			db.lackColumn(added[1], cmp.Or(added[3], "NULL")+" AS "+added[2], statement)
		case statement == "" || strings.HasPrefix(statement, "CREATE INDEX ") ||
			strings.HasPrefix(statement, "CREATE UNIQUE INDEX ") || strings.HasPrefix(statement, "DROP INDEX "):
		default:
			return false
		}
	}
	return true
}

// lackColumn adds a column to a table that is there, or with a statement to one that is missing.
func (db *DB) lackColumn(table, column, statement string) {
	from := " FROM main." + table
	for i, made := range db.missing {
		if strings.HasPrefix(made, "CREATE TEMP TABLE "+table+" ") {
			db.missing = append(db.missing, statement)
			return
		}
		if before, isView := strings.CutSuffix(made, from); isView {
			db.missing[i] = before + ", " + column + from
			return
		}
	}
	db.missing = append(db.missing, "CREATE TEMP VIEW "+table+" AS SELECT *, "+column+from)
}
