package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"quarry/server/sqldb"
)

// CopyTable inserts the rows of a table of another database in one of a store that has its columns, and returns their
// number. change, which may be nil, changes the values of a row, by column, before. The next numbers of the table
// follow.
func CopyTable(ctx context.Context, from sqldb.Querier, to *sql.Tx, table string, change func(row map[string]any)) (n int, err error) {
	isBoolean, err := columnsOf(ctx, to, table)
	if err != nil {
		return 0, fmt.Errorf("copy the table %s: %w", table, err)
	}
	order := ""
	if _, numbered := isBoolean["id"]; numbered {
		order = " ORDER BY id" // rows may refer to earlier ones
	}
	rows, err := from.QueryContext(ctx, "SELECT * FROM "+table+order)
	if err != nil {
		return 0, fmt.Errorf("copy the table %s: %w", table, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return 0, fmt.Errorf("copy the table %s: %w", table, err)
	}
	var largest int64
	for rows.Next() {
		row, err := rowOf(rows, columns)
		if err != nil {
			return n, fmt.Errorf("copy the table %s: %w", table, err)
		}
		for column, value := range row {
			if number, ok := value.(int64); ok && isBoolean[column] {
				row[column] = number != 0
			}
		}
		if change != nil {
			change(row)
		}
		if err := insertRow(ctx, to, table, row); err != nil {
			return n, fmt.Errorf("copy the table %s: %w", table, err)
		}
		if id, ok := row["id"].(int64); ok {
			largest = max(largest, id)
		}
		n++
	}
	if err = rows.Err(); err == nil {
		err = continueNumbers(ctx, to, table, largest)
	}
	if err != nil {
		return n, fmt.Errorf("copy the table %s: %w", table, err)
	}
	return n, nil
}

// columnsOf returns the columns of a table, and whether they are of type boolean, which other databases write as
// numbers.
func columnsOf(ctx context.Context, tx *sql.Tx, table string) (isBoolean map[string]bool, err error) {
	none, err := tx.QueryContext(ctx, "SELECT * FROM "+table+" WHERE FALSE")
	if err != nil {
		return nil, err
	}
	defer func() { _ = none.Close() }()
	types, err := none.ColumnTypes()
	isBoolean = make(map[string]bool, len(types))
	for _, column := range types {
		isBoolean[column.Name()] = column.DatabaseTypeName() == "BOOL"
	}
	return isBoolean, err
}

func rowOf(rows *sql.Rows, columns []string) (map[string]any, error) {
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	if err := rows.Scan(places...); err != nil {
		return nil, err
	}
	row := make(map[string]any, len(columns))
	for i, column := range columns {
		row[column] = values[i]
	}
	return row, nil
}

func insertRow(ctx context.Context, tx *sql.Tx, table string, row map[string]any) error {
	var columns []string
	var values []any
	for column, value := range row {
		columns, values = append(columns, column), append(values, value)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES (?"+
		strings.Repeat(", ?", len(columns)-1)+")", values...)
	return err
}

// continueNumbers makes the next generated id of a table follow the largest one.
func continueNumbers(ctx context.Context, tx *sql.Tx, table string, largest int64) error {
	if largest == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, "SELECT setval(pg_get_serial_sequence(CAST(? AS TEXT), 'id'), CAST(? AS BIGINT))", table, largest)
	return err
}
