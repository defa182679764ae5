package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// Version stands for the state of a database: it differs from one taken earlier when anything was committed in between,
// by this process or another. It says nothing about the versions of another DB.
type Version struct {
	watch int   // which connection was asked
	data  int64 // what it answered
}

// watch is the connection that is asked for versions. SQLite's numbers count for one connection alone, so it must always
// be the same one.
type watch struct {
	mutex  sync.Mutex
	number int // of the connections so far
	conn   *sql.Conn
	closed bool
}

// Version is that of the last commit. It costs no disk access, a few microseconds. What is read after it is at least as
// new. A database in memory has none: its connections share their pages, by which SQLite would have to tell; ok is false
// then, and when it could not be found out.
func (db *DB) Version(ctx context.Context) (version Version, ok bool) {
	if db.InMemory() {
		return Version{}, false
	}
	ctx = context.WithoutCancel(ctx) // who leaves must not cost the next one the connection
	w := &db.watch
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.conn == nil && !w.connect(ctx, db.Reader) {
		return Version{}, false
	}
	version = Version{watch: w.number}
	if w.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version.data) != nil {
		_ = w.release() // the next one has a new number, so that nothing is taken for what it was
		return Version{}, false
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
	if errors.Is(err, sql.ErrConnDone) { // it was lost, and is closed
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
