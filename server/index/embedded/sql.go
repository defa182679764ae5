package embedded

import (
	"context"
	"errors"
	"fmt"

	"quarry/server/sqldb"
)

// change runs do in a transaction, which stores all of what do does or nothing.
func (x *Index) change(ctx context.Context, do func(*sqldb.Tx)) error {
	return sqldb.UpdateWhole(ctx, x.db, do)
}

// update executes one statement in a transaction of its own and returns the number of rows that it changed.
func (x *Index) update(ctx context.Context, statement string, args ...any) (n int64, err error) {
	err = x.change(ctx, func(tx *sqldb.Tx) { n = tx.Exec(statement, args...) })
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
		return sqldb.Explain(fmt.Errorf("read the library: %w", err))
	}
	defer func() { _ = tx.Rollback() }()
	return f(tx)
}
