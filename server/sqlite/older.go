package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	driver "modernc.org/sqlite"

	"quarry/server/index"
)

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
			return fmt.Errorf("open %s: %w, and %w: its schema is to be brought from version %d to %d first",
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
