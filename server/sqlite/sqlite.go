// Package sqlite opens and queries SQLite databases: with durable commits, one writer and any number of readers, and
// migrations on first use. It refuses network file systems.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	driver "modernc.org/sqlite"

	"quarry/server/fault"
	"quarry/server/sqldb"
)

// DefaultBusyTimeout is how long a statement waits for another process's lock before it fails with fault.ErrBusy.
const DefaultBusyTimeout = 10 * time.Second

// lockWait is how long a write waits for another process's lock at a time, and so at most after its context is done.
const lockWait = 100 * time.Millisecond

const (
	idleReaders   = 4
	folderMode    = 0o700
	fileMode      = 0o600
	writerCacheKB = 16 << 10
)

// Options configure Open.
type Options struct {
	// Path is the database file; it and its folder are created if necessary. Empty: a database in memory.
	Path string
	// ReadOnly opens an existing file read-only. A file or folder that cannot be written is always opened read-only.
	ReadOnly bool
	// Migrations has goose's SQL files ("00001_name.sql") at its root; nil: no migrations. PRAGMA user_version is the
	// number of the last one. If there is a schema.sql beside them, it makes of an empty database what they would, in a
	// fifth of their time.
	Migrations fs.FS
	// PageSize is the page size of a new file, in bytes; 0: SQLite's default.
	PageSize int
	// BusyTimeout replaces DefaultBusyTimeout when it is not zero.
	BusyTimeout time.Duration

	// networkName returns the network file system of a folder; replaced in tests.
	networkName func(folder string) (string, error)
}

// DB is an open database, a sqldb.DB. Callers may use its two pools directly and pass their errors to sqldb.Explain.
type DB struct {
	// Writer has one connection, whose transactions acquire the write lock when they begin. In a read-only database all
	// writes fail.
	Writer *sql.DB
	// Reader has connections that cannot write. A transaction is a consistent view. In memory, where there is no
	// write-ahead log, it blocks writers.
	Reader *sql.DB

	path     string
	readOnly bool
	keeper   *sql.Conn // keeps a database in memory alive
	newest   int       // migration that the program knows
	missing  []string  // statements that create what an older read-only database lacks

	busyTimeout time.Duration
	watch       watch
}

// Open opens a database and migrates its schema. Errors: fault.ErrNewer, fault.ErrBusy, fault.ErrNetworkFileSystem,
// fault.ErrOlder if a read-only database needs a migration that does more than add tables and columns,
// fault.ErrDamaged, and fs.ErrNotExist for a missing file that is opened read-only.
func Open(ctx context.Context, options Options) (*DB, error) {
	if options.BusyTimeout == 0 {
		options.BusyTimeout = DefaultBusyTimeout
	}
	var db *DB
	var err error
	if options.Path == "" {
		db, _, err = openMemory(ctx, options)
	} else {
		db, err = openFile(options)
	}
	if err != nil {
		return nil, err
	}
	db.busyTimeout = options.BusyTimeout
	if err := db.migrate(ctx, options); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Stat describes the file of a database; nil if there is none.
func Stat(path string) (fs.FileInfo, error) {
	found, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, err
}

// ReadOnly reports whether the database was opened read-only.
func (db *DB) ReadOnly() bool { return db.readOnly }

// InMemory reports whether the database is in memory.
func (db *DB) InMemory() bool { return db.path == "" }

// Pool returns Reader.
func (db *DB) Pool() *sql.DB { return db.Reader }

// Path returns the database file; empty in memory.
func (db *DB) Path() string { return db.path }

// Close closes all connections. The last process to close a database merges the write-ahead log.
func (db *DB) Close() error {
	errs := []error{db.watch.close()}
	if db.keeper != nil {
		errs = append(errs, db.keeper.Close())
	}
	if db.Reader != nil {
		errs = append(errs, db.Reader.Close())
	}
	if db.Writer != nil {
		errs = append(errs, db.Writer.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", db.name(), err)
	}
	return nil
}

// Update implements sqldb.DB. It runs change once, with the write lock.
func (db *DB) Update(ctx context.Context, change func(*sql.Tx) error) error {
	if db.readOnly {
		return fault.ErrReadOnly
	}
	var tx *sql.Tx
	conn, err := db.Writer.Conn(ctx)
	if err == nil {
		defer conn.Close()
		tx, err = db.begin(ctx, conn)
	}
	if err != nil {
		return sqldb.Explained("begin to write "+db.name(), err)
	}
	defer tx.Rollback()
	if db.newest > 0 {
		version, err := db.userVersion(ctx, tx)
		if err == nil && version > db.newest {
			err = db.newer(version)
		}
		if err != nil {
			return err
		}
	}
	if err := change(tx); err != nil {
		return sqldb.Explain(err)
	}
	return sqldb.Explained("commit to "+db.name(), tx.Commit())
}

// begin acquires the write lock. SQLite ignores ctx while it waits for the lock, so begin waits for lockWait at a time.
func (db *DB) begin(ctx context.Context, conn *sql.Conn) (tx *sql.Tx, err error) {
	if err := setBusyTimeout(ctx, conn, min(lockWait, db.busyTimeout)); err != nil {
		return nil, err
	}
	err = whileBusy(ctx, db.busyTimeout, func() error {
		tx, err = conn.BeginTx(ctx, nil)
		return sqldb.Explain(err)
	})
	// A commit waits for readers, which one to a file does not, and cannot be tried again.
	if err == nil && db.InMemory() {
		if err = setBusyTimeout(ctx, tx, db.busyTimeout); err != nil {
			_ = tx.Rollback()
		}
	}
	return tx, err
}

func setBusyTimeout(ctx context.Context, on interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, wait time.Duration) error {
	_, err := on.ExecContext(ctx, "PRAGMA busy_timeout = "+strconv.FormatInt(wait.Milliseconds(), 10))
	return err
}

func (db *DB) name() string {
	if db.path == "" {
		return "the database in memory"
	}
	return db.path
}

func openFile(options Options) (*DB, error) {
	path, err := filepath.Abs(options.Path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", options.Path, err)
	}
	if err := refuseNetwork(path, options.networkName); err != nil {
		return nil, err
	}
	db := &DB{path: path, readOnly: options.ReadOnly}
	immutable := false
	if !options.ReadOnly {
		if err := prepareFile(path); err != nil {
			if !notWritable(err) {
				return nil, sqldb.Explained("open "+path, err)
			}
			db.readOnly = true
		}
	}
	if db.readOnly {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("open read-only: %w", err)
		}
		if immutable, err = canBeImmutable(path); err != nil {
			return nil, err
		}
	}
	if err := db.connect(path, options, immutable); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// prepareFile creates the file if necessary, and checks that it and its folder, which gets the write-ahead log, are
// writable. It never opens a file that exists: POSIX locks belong to a process, so closing it would drop those of every
// other opening of the database in this process.
func prepareFile(path string) error {
	if err := MakeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if err := folderWritable(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return fileWritable(path)
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// canBeImmutable reports whether a read-only file can be read without locks: only if nobody can write to it, because
// its folder is read-only too and its write-ahead log is empty.
func canBeImmutable(path string) (bool, error) {
	if folderWritable(filepath.Dir(path)) == nil {
		return false, nil
	}
	info, err := os.Stat(path + "-wal")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("look for the write-ahead log of %s: %w", path, err)
	case info.Size() == 0:
		return true, nil
	}
	// Reading the log needs its index, which exists while the log is in use.
	if _, err := os.Stat(path + "-shm"); err != nil {
		return false, fmt.Errorf("open %s: %w, and its write-ahead log has changes: open it once "+
			"with write permission for its folder", path, fault.ErrReadOnly)
	}
	return false, nil
}

// connect connects to a file, or to a database in memory that all connections of this process share by name.
func (db *DB) connect(name string, options Options, immutable bool) (err error) {
	// writable_schema makes a truncated file readable.
	reader := url.Values{"_query_only": {"1"}, "_pragma": {"temp_store(MEMORY)", "writable_schema(1)"}}
	writer := url.Values{"_foreign_keys": {"1"}, "_synchronous": {"FULL"}, "_txlock": {"immediate"},
		"_pragma": {"temp_store(MEMORY)", fmt.Sprintf("cache_size(-%d)", writerCacheKB), "fullfsync(1)",
			"checkpoint_fullfsync(1)"}}
	for _, parameters := range []url.Values{reader, writer} {
		parameters.Set("_busy_timeout", strconv.FormatInt(options.BusyTimeout.Milliseconds(), 10))
		switch {
		case db.InMemory():
			parameters.Set("vfs", "memdb")
		case db.readOnly:
			parameters.Set("mode", "ro")
			parameters.Set("_query_only", "1")
		default:
			parameters.Set("mode", "rw")
			writer.Set("_journal_mode", "WAL")
		}
		if immutable {
			parameters.Set("immutable", "1")
		}
	}
	if options.PageSize != 0 {
		writer.Add("_pragma", fmt.Sprintf("page_size(%d)", options.PageSize))
	}
	if db.Reader, err = db.pool(fileURI(name, reader)); err != nil {
		return err
	}
	if db.Writer, err = db.pool(fileURI(name, writer)); err != nil {
		return err
	}
	db.Reader.SetMaxIdleConns(idleReaders)
	db.Writer.SetMaxOpenConns(1)
	return nil
}

func (db *DB) pool(uri string) (*sql.DB, error) {
	opened, err := driver.NewConnector(uri)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", db.name(), err)
	}
	return sql.OpenDB(connector{opened, db}), nil
}

// fileURI names a file in SQLite's URI form, in which question marks, hashes and percent signs of the path are escaped
// and its own parameters (mode, immutable, vfs) count. The parameters have the driver's names.
func fileURI(path string, parameters url.Values) string {
	slashed := "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	uri := url.URL{Scheme: "file", Path: slashed, RawQuery: parameters.Encode()}
	return uri.String()
}

func notWritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// openMemory opens a new database in memory, keeps it alive, and returns its name.
func openMemory(ctx context.Context, options Options) (db *DB, name string, err error) {
	db, name = &DB{readOnly: options.ReadOnly}, "quarry-"+uuid.NewString()
	options.PageSize = 0 // large pages are for files
	if err = db.connect(name, options, false); err == nil {
		db.keeper, err = db.Reader.Conn(ctx)
	}
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("open a database in memory: %w", err), db.Close())
	}
	return db, name, nil
}

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
	if w.conn == nil && !w.closed {
		if conn, err := db.Reader.Conn(ctx); err == nil {
			w.conn = conn
			w.number++
		}
	}
	if w.conn == nil {
		return sqldb.Version{}, false
	}
	version = sqldb.Version{Source: w.number}
	if w.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version.Number) != nil {
		_ = w.release() // the next connection has a new number, so that versions never repeat
		return sqldb.Version{}, false
	}
	return version, true
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
