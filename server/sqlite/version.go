package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"quarry/server/sqldb"
)

// watch is the connection that reads versions. SQLite's numbers are per connection, so it is always the same one.
type watch struct {
	mutex  sync.Mutex
	number int // of the connections so far
	conn   *sql.Conn
	closed bool
}

// Version implements sqldb.DB, in a few microseconds without disk access. ok is false for a database in memory, whose
// connections share their pages.
func (db *DB) Version(ctx context.Context) (version sqldb.Version, ok bool) {
	if db.InMemory() {
		return sqldb.Version{}, false
	}
	ctx = context.WithoutCancel(ctx) // a canceled query would close the connection
	w := &db.watch
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.conn == nil && !w.connect(ctx, db.Reader) {
		return sqldb.Version{}, false
	}
	version = sqldb.Version{Source: w.number}
	if w.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version.Number) != nil {
		_ = w.release() // the next connection has a new number, so that versions never repeat
		return sqldb.Version{}, false
	}
	return version, true
}

func (w *watch) connect(ctx context.Context, pool *sql.DB) bool {
	if w.closed {
		return false
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return false
	}
	w.conn = conn
	w.number++
	return true
}

func (w *watch) release() error {
	if w.conn == nil {
		return nil
	}
	err := w.conn.Close()
	w.conn = nil
	if errors.Is(err, sql.ErrConnDone) { // closed already
		return nil
	}
	return err
}

func (w *watch) close() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = true
	return w.release()
}
