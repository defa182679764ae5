package embedded

import (
	"context"
	"database/sql"
	"fmt"

	"quarry/server/sqlite"
)

// database is a transaction or a pool of connections.
type database interface {
	sqlite.Querier
	execer
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// each calls scan for each row of a query. A statement runs to its end: interrupting one would interrupt whatever else
// runs on the same connection. So each, get and execute check their context between statements and rows instead.
func each(ctx context.Context, db sqlite.Querier, scan func(row *sql.Rows) error, query string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := sqlite.Each(context.WithoutCancel(ctx), db, func(row *sql.Rows) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return scan(row)
	}, query, args...)
	if err != nil {
		return fmt.Errorf("read the library: %w", err)
	}
	return nil
}

// eachText calls yield for each row of a query for one text.
func eachText(ctx context.Context, db sqlite.Querier, yield func(text string) error, query string, args ...any) error {
	return each(ctx, db, func(row *sql.Rows) error {
		text := ""
		if err := row.Scan(&text); err != nil {
			return err
		}
		return yield(text)
	}, query, args...)
}

// get reads the only row of a query into dest. It returns sql.ErrNoRows if there is none.
func get(ctx context.Context, db sqlite.Querier, dest []any, query string, args ...any) error {
	found := false
	err := each(ctx, db, func(row *sql.Rows) error {
		found = true
		return row.Scan(dest...)
	}, query, args...)
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}

func execute(ctx context.Context, db execer, statement string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	result, err := db.ExecContext(context.WithoutCancel(ctx), statement, args...)
	if err != nil {
		return nil, sqlite.Explain(fmt.Errorf("write to the library: %w", err))
	}
	return result, nil
}

// statements prepares each statement once. It is not safe for concurrent use.
type statements struct {
	db       database
	prepared map[string]*sql.Stmt
}

func newStatements(db database) *statements {
	return &statements{db: db, prepared: make(map[string]*sql.Stmt)}
}

func (s *statements) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if known := s.prepared[text]; known != nil {
		return known, nil
	}
	made, err := s.db.PrepareContext(context.WithoutCancel(ctx), text)
	if err == nil {
		s.prepared[text] = made
	}
	return made, err
}

// QueryContext implements sqlite.Querier.
func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	statement, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args...)
}

// ExecContext implements execer.
func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	statement, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(ctx, args...)
}

func (s *statements) close() {
	for _, statement := range s.prepared {
		_ = statement.Close()
	}
}
