package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// Version identifies the state of a database: it changes with every commit of this or another process. Versions of
// different DBs cannot be compared.
type Version struct {
	watch int   // which connection was asked
	data  int64 // what it answered
}

// watch is the connection that reads versions. SQLite's numbers are per connection, so it is always the same one.
type watch struct {
	mutex  sync.Mutex
	number int // of the connections so far
	conn   *sql.Conn
	closed bool
}

// Version returns the version of the last commit, in a few microseconds without disk access. Later reads are at least as
// new. ok is false if the version cannot be read, and for a database in memory, whose connections share their pages.
func (db *DB) Version(ctx context.Context) (version Version, ok bool) {
	if db.InMemory() {
		return Version{}, false
	}
	ctx = context.WithoutCancel(ctx) // a canceled query would close the connection
	w := &db.watch
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.conn == nil && !w.connect(ctx, db.Reader) {
		return Version{}, false
	}
	version = Version{watch: w.number}
	if w.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version.data) != nil {
		_ = w.release() // the next connection has a new number, so that versions never repeat
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
