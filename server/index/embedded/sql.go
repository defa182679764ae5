package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"quarry/server/sqldb"
)

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

const (
	// reading and writing begin the errors of statements.
	reading = "read the library"
	writing = "write to the library"
)

// each calls scan for each row of a query. Like get and execute, it does not interrupt a statement.
func each(ctx context.Context, db sqldb.Querier, scan func(row *sql.Rows) error, query string, args ...any) error {
	return sqldb.EachWhole(ctx, db, reading, scan, query, args...)
}

// column returns the only column of the rows of a query.
func column[T any](ctx context.Context, db sqldb.Querier, query string, args ...any) ([]T, error) {
	return sqldb.SelectWhole(ctx, db, reading, sqldb.Column[T], query, args...)
}

// get reads the only row of a query into dest. It returns sql.ErrNoRows if there is none.
func get(ctx context.Context, db sqldb.Querier, dest []any, query string, args ...any) error {
	return sqldb.GetWhole(ctx, db, reading, dest, query, args...)
}

func execute(ctx context.Context, db execer, statement string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	result, err := db.ExecContext(context.WithoutCancel(ctx), statement, args...)
	if err != nil {
		return nil, sqldb.Explain(fmt.Errorf(writing+": %w", err))
	}
	return result, nil
}

// executeEach executes a statement for each of some values, which is its last argument.
func executeEach[T any](ctx context.Context, db execer, statement string, values []T, args ...any) error {
	for _, value := range values {
		if _, err := execute(ctx, db, statement, append(slices.Clip(args), value)...); err != nil {
			return err
		}
	}
	return nil
}

// change runs do in a transaction, which stores all of what do does or nothing.
func (x *Index) change(ctx context.Context, do func(*sqldb.Tx)) error {
	return sqldb.UpdateWhole(ctx, x.db, writing, do)
}

// update executes one statement in a transaction of its own and returns the number of rows that it changed.
func (x *Index) update(ctx context.Context, statement string, args ...any) (n int64, err error) {
	err = x.db.Update(ctx, func(tx *sql.Tx) error {
		result, err := execute(ctx, tx, statement, args...)
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
	return n, err
}

// optimisticTries are made to prepare a change without the write lock; after that it is prepared under it.
const optimisticTries = 2

var (
	// errOvertaken: another writer changed the same documents between the preparation of a change and its transaction.
	errOvertaken = errors.New("another writer changed the same documents")
	// errUnchanged is returned by the preparation of a change that has nothing to store.
	errUnchanged = errors.New("nothing changes")
)

// commit prepares a change and stores it. Preparing takes long, so it is done without the write lock; verify, which is
// called with the lock, returns errOvertaken if another writer was faster.
func (x *Index) commit(ctx context.Context, prepare, verify func(sqldb.Querier) error, store func(*sqldb.Tx) error) error {
	storeAfter := func(first func(sqldb.Querier) error) error {
		return x.change(ctx, func(tx *sqldb.Tx) {
			err := first(tx)
			if err == nil {
				err = store(tx)
			}
			tx.Fail(err)
		})
	}
	err := errOvertaken
	for try := 0; try < optimisticTries && errors.Is(err, errOvertaken); try++ {
		if err = x.reading(ctx, prepare); err == nil {
			err = storeAfter(verify)
		}
	}
	if errors.Is(err, errOvertaken) {
		err = storeAfter(prepare)
	}
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// reading runs f in a transaction that only reads.
func (x *Index) reading(ctx context.Context, f func(sqldb.Querier) error) error {
	tx, err := x.db.Reader.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return sqldb.Explain(fmt.Errorf(reading+": %w", err))
	}
	defer func() { _ = tx.Rollback() }()
	return f(tx)
}
