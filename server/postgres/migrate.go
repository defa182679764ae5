package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"quarry/internal/guard"
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
	provider, err := goose.NewProvider("", p.db, migrations, goose.WithStore(versions),
		goose.WithDisableGlobalRegistry(true))
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
		return 0, fmt.Errorf("open %s: %w, and %w: its tables must be migrated from version %d to %d first", p,
			fault.ErrReadOnly, fault.ErrOlder, current, newest)
	}
	return newest, p.explain(p.underLock(ctx, func(conn *sql.Conn) {
		if guard.Must(version(ctx, conn, store)) >= newest { // another process was faster
			return
		}
		p.makeSchema(ctx, conn)
		_, err := provider.Up(ctx)
		guard.While(fmt.Sprintf("migrate the tables of %s to version %d", store, newest), err)
		guard.Must(conn.ExecContext(ctx, `INSERT INTO store_schemas (store, version) VALUES (?1, ?2)
			ON CONFLICT (store) DO UPDATE SET version = ?2`, store, newest))
	}))
}

// underLock runs do with the lock of migrations, which the server releases if the process ends.
func (p *Pool) underLock(ctx context.Context, do func(*sql.Conn)) (err error) {
	defer guard.End(&err)
	conn := guard.Must(p.db.Conn(ctx))
	defer conn.Close()
	// The settings are of this connection, which is not used again.
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	for _, setting := range []string{"lock_timeout", "statement_timeout"} {
		guard.Must(conn.ExecContext(ctx, "SELECT set_config(?, ?, false)", setting, migrationWait))
	}
	guard.Must(conn.ExecContext(ctx, "SELECT pg_advisory_lock(?)", migrationLock))
	do(conn)
	return nil
}

// makeSchema makes the schema, and the tables with the version and the changes of every store.
func (p *Pool) makeSchema(ctx context.Context, conn *sql.Conn) {
	exists := false
	guard.Check(conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = ?)", p.schema).
		Scan(&exists))
	statements := []string{
		`CREATE TABLE IF NOT EXISTS store_schemas (store TEXT PRIMARY KEY, version BIGINT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS store_changes (store TEXT, scope TEXT, changes BIGINT NOT NULL,
			PRIMARY KEY (store, scope))`,
	}
	if !exists { // a user without the right to create schemas can use one that exists
		statements = append([]string{`CREATE SCHEMA "` + p.schema + `"`}, statements...)
	}
	for _, statement := range statements {
		_, err := conn.ExecContext(ctx, statement)
		guard.While("create the schema "+p.schema, err)
	}
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

// Copied is a part of a library, in a file or on a server, that can be copied to a server.
type Copied struct {
	Name   string // for people
	DB     sqldb.DB
	Tables []string
	// Fill replaces all of the part, in a transaction of its own, by what another one has. It returns the rows, and
	// aborts with its error.
	Fill func(ctx context.Context, from, to *sql.Tx) (rows int)
}

// Replace replaces the part by another one, in a file, and returns the number of rows.
func (c Copied) Replace(ctx context.Context, by Copied) (rows int, err error) {
	defer guard.EndWhile("copy the "+c.Name, &err)
	from := guard.Must(by.DB.Pool().BeginTx(ctx, nil))
	defer from.Rollback()
	copied := 0
	guard.Check(c.DB.Update(ctx, func(to *sql.Tx) error {
		return guard.Ended(func() { copied = c.Fill(ctx, from, to) })
	}))
	return copied, nil
}

// Rows counts what is copied.
func (c Copied) Rows(ctx context.Context) (rows int, err error) {
	for _, table := range c.Tables {
		n := 0
		if err := c.DB.Pool().QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			return 0, sqldb.Explained("count the rows of "+table, err)
		}
		rows += n
	}
	return rows, nil
}

// Changes returns the number of the last change.
func (c Copied) Changes(ctx context.Context) (int64, error) {
	version, ok := c.DB.Version(ctx)
	if !ok {
		return 0, fmt.Errorf("the version of the %s cannot be read", c.Name)
	}
	return version.Number, nil
}

// CopyTable inserts the rows of a table of another database in one of a store that has its columns, and returns their
// number. change, which may be nil, changes the values of a row, by column, before. The next numbers of the table
// follow. It aborts with its error.
func CopyTable(ctx context.Context, from sqldb.Querier, to *sql.Tx, table string, change func(row map[string]any)) (
	n int) {
	guard.While("copy the table "+table, guard.Ended(func() { n = copyTable(ctx, from, to, table, change) }))
	return n
}

func copyTable(ctx context.Context, from sqldb.Querier, to *sql.Tx, table string,
	change func(row map[string]any)) (n int) {
	isBoolean := columnsOf(ctx, to, table)
	order := ""
	if _, numbered := isBoolean["id"]; numbered {
		order = " ORDER BY id" // rows may refer to earlier ones
	}
	rows := guard.Must(from.QueryContext(ctx, "SELECT * FROM "+table+order))
	defer rows.Close()
	columns := guard.Must(rows.Columns())
	var largest int64
	for rows.Next() {
		row := rowOf(rows, columns)
		for column, value := range row {
			if number, ok := value.(int64); ok && isBoolean[column] {
				row[column] = number != 0
			}
		}
		if change != nil {
			change(row)
		}
		insertRow(ctx, to, table, row)
		if id, ok := row["id"].(int64); ok {
			largest = max(largest, id)
		}
		n++
	}
	guard.Check(rows.Err())
	if largest > 0 { // the next generated id follows it
		guard.Must(to.ExecContext(ctx,
			"SELECT setval(pg_get_serial_sequence(CAST(? AS TEXT), 'id'), CAST(? AS BIGINT))", table, largest))
	}
	return n
}

// columnsOf returns the columns of a table, and whether they are of type boolean, which other databases write as
// numbers.
func columnsOf(ctx context.Context, tx *sql.Tx, table string) (isBoolean map[string]bool) {
	none := guard.Must(tx.QueryContext(ctx, "SELECT * FROM "+table+" WHERE FALSE"))
	defer none.Close()
	types := guard.Must(none.ColumnTypes())
	isBoolean = make(map[string]bool, len(types))
	for _, column := range types {
		isBoolean[column.Name()] = column.DatabaseTypeName() == "BOOL"
	}
	return isBoolean
}

func rowOf(rows *sql.Rows, columns []string) map[string]any {
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	guard.Check(rows.Scan(places...))
	row := make(map[string]any, len(columns))
	for i, column := range columns {
		row[column] = values[i]
	}
	return row
}

func insertRow(ctx context.Context, tx *sql.Tx, table string, row map[string]any) {
	var columns []string
	var values []any
	for column, value := range row {
		columns, values = append(columns, column), append(values, value)
	}
	guard.Must(tx.ExecContext(ctx, "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES "+
		sqldb.Places(len(columns)), values...))
}
