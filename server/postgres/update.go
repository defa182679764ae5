package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"quarry/internal/guard"
	"quarry/server/fault"
)

const (
	attempts   = 5
	retryPause = 50 * time.Millisecond
)

// Update implements sqldb.DB. It counts the change first: the lock on that row, until the end of the transaction, is
// what keeps Updates of the same store apart. Waiting for it here takes only one connection of the process.
func (db *DB) Update(ctx context.Context, change func(*sql.Tx) error) error {
	if db.ReadOnly() {
		return fault.ErrReadOnly
	}
	select {
	case db.waiting <- struct{}{}:
		defer func() { <-db.waiting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for attempt := 1; ; attempt++ {
		again, err := db.attempt(ctx, change)
		if err == nil || !again || attempt == attempts {
			return db.pool.explain(err)
		}
		if err := guard.Sleep(ctx, time.Duration(attempt)*(retryPause+rand.N(retryPause))); err != nil {
			return err
		}
	}
}

// attempt runs change in one transaction. again: it may succeed with the next attempt.
func (db *DB) attempt(ctx context.Context, change func(*sql.Tx) error) (again bool, err error) {
	tx, err := db.pool.db.BeginTx(ctx, nil)
	if err != nil {
		err = fmt.Errorf("begin to write %s: %w", db.pool, err)
		return passes(err), err
	}
	defer tx.Rollback()
	version, transaction := 0, ""
	err = tx.QueryRowContext(ctx, `INSERT INTO store_changes (store, scope, changes) VALUES (?1, ?2, 1)
		ON CONFLICT (store, scope) DO UPDATE SET changes = store_changes.changes + 1
		RETURNING (SELECT version FROM store_schemas WHERE store = ?1),
			pg_current_xact_id()::text`, db.store, db.scope).
		Scan(&version, &transaction)
	if err == nil && version > db.newest {
		err = db.pool.newer(version, db.newest)
	}
	if err == nil {
		err = change(tx)
	}
	if err == nil {
		if err = tx.Commit(); err != nil {
			err = fmt.Errorf("commit to %s: %w", db.pool, err)
		}
		if isLost(err) {
			return db.outcome(ctx, transaction, err)
		}
	}
	return passes(err), err
}

// outcome asks the server for the outcome of a transaction whose commit was lost.
func (db *DB) outcome(ctx context.Context, transaction string, lost error) (again bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	for attempt := range attempts {
		var status sql.NullString
		err := db.pool.db.QueryRowContext(ctx, "SELECT pg_xact_status(?::text::xid8)", transaction).Scan(&status)
		switch {
		case err == nil && status.String == "committed":
			return false, nil
		case err == nil && status.String == "aborted":
			return passes(lost), lost
		}
		if guard.Sleep(ctx, time.Duration(attempt+1)*retryPause) != nil {
			break
		}
	}
	return false, lost
}

// passes reports whether the same transaction may succeed at once: after a conflict with another one, or on another
// connection. A lock that was waited for in vain, and a server that refuses connections, are the caller's to wait for.
func passes(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		switch answer.Code {
		case "40001", "40P01", "57P01", "57P02", "57P05": // serialization, deadlock, end of the connection
			return true
		}
		return false
	}
	return isLost(err)
}

// isLost reports whether the connection ended.
func isLost(err error) bool {
	var (
		network *net.OpError
		answer  *pgconn.PgError
		refused *fault.Repairable
	)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &refused):
		return false
	case errors.As(err, &answer):
		return answer.Code[:3] == "57P"
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, &network)
}
