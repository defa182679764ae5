package sqlite

import (
	"context"
	"database/sql"
)

// Querier is a database, a connection or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each calls scan for each row of a query, until it returns an error. Errors are explained as by Explain.
func Each(ctx context.Context, q Querier, scan func(row *sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return Explain(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return Explain(err)
		}
	}
	return Explain(rows.Err())
}

// Select returns what scan makes of each row of a query.
func Select[T any](ctx context.Context, q Querier, scan func(row *sql.Rows) (T, error), query string, args ...any) (
	[]T, error) {
	var all []T
	err := Each(ctx, q, func(row *sql.Rows) error {
		one, err := scan(row)
		all = append(all, one)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}
