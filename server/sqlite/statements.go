package sqlite

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
)

// connector opens connections to a database, with its missing tables as temporary ones.
type connector struct {
	sqldriver.Connector
	db *DB
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	whole, ok := opened.(driverConnection)
	if !ok {
		return nil, errors.Join(errors.New("the driver cannot prepare a connection"), opened.Close())
	}
	connection := &connection{whole, make(map[string]*statement)}
	if len(c.db.missing) == 0 {
		return connection, nil
	}
	statements := append([]string{"PRAGMA query_only = 0"}, c.db.missing...)
	for _, text := range append(statements, "PRAGMA query_only = 1") {
		if _, err := whole.ExecContext(ctx, text, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("complete an older schema: %w", err), connection.Close())
		}
	}
	return connection, nil
}

// driverConnection is a connection of the driver, which has no name there.
type driverConnection interface {
	sqldriver.Conn
	sqldriver.ConnPrepareContext
	sqldriver.ConnBeginTx
	sqldriver.ExecerContext
	sqldriver.QueryerContext
	sqldriver.Pinger
	sqldriver.SessionResetter
	sqldriver.Validator
	NewBackup(target string) (*driver.Backup, error)
}

// mostIdle bounds the statements that a connection keeps. The program has about as many.
const mostIdle = 200

// connection keeps the statements that it has prepared, because SQLite parses most of them for longer than it runs
// them. SQLite itself prepares one again after the schema has changed.
type connection struct {
	driverConnection
	idle map[string]*statement // by their text
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *connection) PrepareContext(ctx context.Context, text string) (sqldriver.Stmt, error) {
	if known := c.idle[text]; known != nil {
		delete(c.idle, text)
		return known, nil
	}
	prepared, err := c.driverConnection.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	whole, ok := prepared.(driverStatement)
	if !ok || !isKept(text) {
		return prepared, nil
	}
	return &statement{driverStatement: whole, of: c, text: text}, nil
}

// QueryContext implements driver.QueryerContext.
func (c *connection) QueryContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Rows,
	error) {
	if isKept(text) {
		return nil, sqldriver.ErrSkip // database/sql prepares it, and closes it with its rows
	}
	return c.driverConnection.QueryContext(ctx, text, args)
}

// ExecContext implements driver.ExecerContext.
func (c *connection) ExecContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result,
	error) {
	if isKept(text) {
		return nil, sqldriver.ErrSkip
	}
	return c.driverConnection.ExecContext(ctx, text, args)
}

// Close implements driver.Conn.
func (c *connection) Close() error {
	var errs []error
	for _, known := range c.idle {
		errs = append(errs, known.driverStatement.Close())
	}
	c.idle = nil
	return errors.Join(append(errs, c.driverConnection.Close())...)
}

// isKept reports whether a statement may be run again: some pragmas take effect when they are prepared.
func isKept(text string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch first {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return true
	}
	return false
}

// driverStatement is a statement of the driver, which has no name there.
type driverStatement interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

// statement is kept by its connection when it is closed, unless it failed.
type statement struct {
	driverStatement
	of     *connection
	text   string
	failed bool
}

// ExecContext implements driver.StmtExecContext.
func (s *statement) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	result, err := s.driverStatement.ExecContext(ctx, args)
	s.failed = s.failed || err != nil
	return result, err
}

// QueryContext implements driver.StmtQueryContext.
func (s *statement) QueryContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	rows, err := s.driverStatement.QueryContext(ctx, args)
	s.failed = s.failed || err != nil
	return rows, err
}

// Close implements driver.Stmt.
func (s *statement) Close() error {
	if idle := s.of.idle; idle != nil && !s.failed && idle[s.text] == nil && len(idle) < mostIdle {
		idle[s.text] = s
		return nil
	}
	return s.driverStatement.Close()
}
