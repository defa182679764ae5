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

	driver "modernc.org/sqlite"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/sqldb"
)

// Copy returns a read-only copy of the committed state of a database in memory, which does not block writers; source is
// the connection of its Writer. A database on disk needs no copy: a transaction of its Reader is a consistent view.
func (db *DB) Copy(ctx context.Context, source *sql.Conn) (*DB, error) {
	if !db.InMemory() {
		return nil, fmt.Errorf("copy %s: only databases in memory are copied", db.path)
	}
	result, name, err := openMemory(ctx, Options{ReadOnly: true, BusyTimeout: DefaultBusyTimeout})
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", db.name(), err)
	}
	result.newest = db.newest
	target := fileURI(name, url.Values{"vfs": {"memdb"}})
	err = source.Raw(func(from any) error { return backup(from, target) })
	if err != nil {
		return nil, errors.Join(sqldb.Explained("copy "+db.name(), err), result.Close())
	}
	return result, nil
}

// backup copies the database of a connection of a pool.
func backup(from any, target string) error {
	copying, err := from.(*connection).NewBackup(target)
	if err != nil {
		return err
	}
	_, stepErr := copying.Step(-1)
	return errors.Join(stepErr, copying.Finish())
}

// Replace replaces the content of this database by that of the database at path, in one durable transaction: other
// processes see either the old content or the new. It works with damaged pages, which a SQL transaction could not
// write. It calls unchanged with the write lock before it replaces anything, and returns its error.
func (db *DB) Replace(ctx context.Context, path string, unchanged func() error) (err error) {
	defer func() { err = sqldb.Explained("replace "+db.path, err) }()
	connector, err := driver.NewConnector(fileURI(db.path, url.Values{"mode": {"rw"}, "_synchronous": {"FULL"},
		"_busy_timeout": {strconv.FormatInt(DefaultBusyTimeout.Milliseconds(), 10)},
		"_pragma":       {"writable_schema(1)", "fullfsync(1)", "checkpoint_fullfsync(1)"}}))
	if err != nil {
		return err
	}
	connection, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	err = restore(connection, fileURI(path, url.Values{"mode": {"ro"}}), unchanged)
	return errors.Join(err, connection.Close())
}

func restore(connection any, source string, unchanged func() error) error {
	target, ok := connection.(interface {
		NewRestore(string) (*driver.Backup, error)
	})
	if !ok {
		return errors.New("the driver cannot restore a database")
	}
	copying, err := target.NewRestore(source)
	if err != nil {
		return err
	}
	// The first step acquires the write lock. The last one commits.
	more, err := copying.Step(1)
	if err == nil {
		err = unchanged()
	}
	if err == nil && more {
		_, err = copying.Step(-1)
	}
	return errors.Join(err, copying.Finish())
}

// CopyDamaged copies a database page by page to a file at path, without reading the pages, and opens the copy for
// reading. The tables of the copy have the definitions of schema, because the damaged ones may be wrong.
func (db *DB) CopyDamaged(ctx context.Context, path string, schema *DB) (*sql.DB, error) {
	source, err := db.Reader.Conn(ctx)
	if err != nil {
		return nil, sqldb.Explained("copy "+db.name(), err)
	}
	defer source.Close()
	err = source.Raw(func(from any) error { return backup(from, fileURI(path, url.Values{"mode": {"rwc"}})) })
	if err != nil {
		return nil, sqldb.Explained("copy "+db.name(), err)
	}
	// Where the schema itself cannot be written, the tables that it still names are read.
	if err := sqldb.Explain(repairSchema(ctx, path, schema)); err != nil && !errors.Is(err, fault.ErrDamaged) {
		return nil, fmt.Errorf("repair the schema of %s: %w", path, err)
	}
	copied := &DB{path: path}
	return copied.pool(fileURI(path, url.Values{"mode": {"ro"}, "_pragma": {"writable_schema(1)"}}))
}

// repairSchema gives the tables of the database at path their definitions in schema.
func repairSchema(ctx context.Context, path string, schema *DB) (err error) {
	defer guard.End(&err)
	damaged, err := (&DB{path: path}).pool(fileURI(path, url.Values{"mode": {"rw"}, "_journal_mode": {"DELETE"},
		"_pragma": {"writable_schema(1)"}}))
	if err != nil {
		return err
	}
	defer damaged.Close()
	name, text := "", ""
	for range (sqldb.Source{Context: ctx, Querier: schema.Reader}).Each([]any{&name, &text},
		"SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL") {
		_, err := damaged.ExecContext(ctx,
			"UPDATE sqlite_schema SET type = 'table', tbl_name = name, sql = ? WHERE name = ?", text, name)
		guard.Check(err)
	}
	return nil
}

// MakeFolder durably creates a private folder and its missing parents.
func MakeFolder(folder string) error {
	if _, err := os.Stat(folder); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(folder)
	if parent == folder {
		return fmt.Errorf("create %s: %w", folder, fs.ErrNotExist)
	}
	if err := MakeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(folder, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncFolder(parent)
}

// refuseNetwork returns an error if the file is on a network file system, where locks and shared memory do not work
// across machines and two writers would destroy the database.
func refuseNetwork(path string, nameOf func(folder string) (string, error)) error {
	if nameOf == nil {
		nameOf = networkFileSystem
	}
	folder, err := nearestFolder(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	name, err := nameOf(folder)
	if err != nil {
		return fmt.Errorf("find the file system of %s: %w", folder, err)
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("open %s: %w (%s): set QUARRY_HOME to a folder on a local disk", path,
		fault.ErrNetworkFileSystem, name)
}

// nearestFolder returns the folder, or its nearest parent that exists.
func nearestFolder(folder string) (string, error) {
	for {
		_, err := os.Stat(folder)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return folder, err
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return folder, err
		}
		folder = parent
	}
}
