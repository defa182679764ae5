package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"quarry/client/wire"
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

// Select returns the rows of a query. Columns returns where the columns of a row are stored.
func Select[T any](ctx context.Context, q Querier, columns func(*T) []any, query string, args ...any) ([]T, error) {
	list := []T{}
	err := Each(ctx, q, func(rows *sql.Rows) error {
		var row T
		err := rows.Scan(columns(&row)...)
		list = append(list, row)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Group returns the rows of a query by their first column, an id. Columns returns where the other columns are stored.
func Group[T any](ctx context.Context, q Querier, columns func(*T) []any, query string, args ...any) (map[int][]T, error) {
	groups := map[int][]T{}
	err := Each(ctx, q, func(rows *sql.Rows) error {
		id, row := 0, *new(T)
		err := rows.Scan(append([]any{&id}, columns(&row)...)...)
		groups[id] = append(groups[id], row)
		return err
	}, query, args...)
	return groups, err
}

// Column is the columns function of a single column, for Select and Group.
func Column[T any](value *T) []any { return []any{value} }

// Scan stores the columns of a row. If there is no row it returns otherwise, which may be nil.
func Scan(row *sql.Row, otherwise error, columns ...any) error {
	err := row.Scan(columns...)
	if errors.Is(err, sql.ErrNoRows) {
		return otherwise
	}
	return Explain(err)
}

// Exec runs a statement. It returns otherwise if the statement changes no row.
func Exec(ctx context.Context, tx *sql.Tx, otherwise error, query string, args ...any) error {
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return otherwise
}

// Micros is a time in a column: microseconds since 1970, or NULL for the zero time. Convert a *time.Time to read it.
type Micros time.Time

// Scan implements sql.Scanner.
func (m *Micros) Scan(column any) error {
	var stored sql.NullInt64
	if err := stored.Scan(column); err != nil || !stored.Valid {
		return err
	}
	*m = Micros(time.UnixMicro(stored.Int64).UTC())
	return nil
}

// Value implements driver.Valuer.
func (m Micros) Value() (sqldriver.Value, error) {
	if time.Time(m).IsZero() {
		return nil, nil
	}
	return time.Time(m).UnixMicro(), nil
}

// JSON is a value in a column of JSON text; nil is NULL. To read it, V is a pointer.
type JSON struct{ V any }

// Scan implements sql.Scanner.
func (j JSON) Scan(column any) error {
	var text sql.NullString
	if err := text.Scan(column); err != nil || !text.Valid {
		return err
	}
	if err := wire.Unmarshal([]byte(text.String), j.V); err != nil {
		return fmt.Errorf("read a column of JSON: %w", err)
	}
	return nil
}

// Value implements driver.Valuer.
func (j JSON) Value() (sqldriver.Value, error) {
	text, err := json.Marshal(j.V)
	if err != nil || string(text) == "null" {
		return nil, err
	}
	return string(text), nil
}
