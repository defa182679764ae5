package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quarry/server/sqlite"
)

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
func (x *Index) commit(ctx context.Context, prepare, verify, store func(*sql.Tx) error) error {
	err := errOvertaken
	for try := 0; try < optimisticTries && errors.Is(err, errOvertaken); try++ {
		if err = x.reading(ctx, prepare); err == nil {
			err = x.db.Update(ctx, inOrder(verify, store))
		}
	}
	if errors.Is(err, errOvertaken) {
		err = x.db.Update(ctx, inOrder(prepare, store))
	}
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

func inOrder(steps ...func(*sql.Tx) error) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		for _, step := range steps {
			if err := step(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// reading runs f in a transaction that only reads.
func (x *Index) reading(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := x.db.Reader.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return sqlite.Explain(fmt.Errorf("read the library: %w", err))
	}
	defer func() { _ = tx.Rollback() }()
	return f(tx)
}
