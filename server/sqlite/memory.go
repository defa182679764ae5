package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/google/uuid"
	driver "modernc.org/sqlite"
)

// memoryURI returns the URI of a database in memory that all connections of this process share by name.
func memoryURI(name string, parameters url.Values) string {
	parameters.Set("vfs", "memdb")
	return fileURI(name, parameters)
}

func openMemory(ctx context.Context, options Options) (*DB, error) {
	timeout := []string{strconv.FormatInt(options.BusyTimeout.Milliseconds(), 10)}
	writer := url.Values{"_busy_timeout": timeout, "_foreign_keys": {"1"}, "_txlock": {"immediate"},
		"_pragma": {"temp_store(MEMORY)"}}
	if options.ReadOnly {
		writer.Set("_query_only", "1")
	}
	reader := url.Values{"_busy_timeout": timeout, "_query_only": {"1"}, "_pragma": {"temp_store(MEMORY)"}}
	db := &DB{readOnly: options.ReadOnly}
	return db, db.connectMemory(ctx, "quarry-"+uuid.NewString(), reader, writer)
}

// connectMemory connects to a database in memory, and keeps it alive. After an error the database is closed.
func (db *DB) connectMemory(ctx context.Context, name string, reader, writer url.Values) error {
	err := db.connect(memoryURI(name, reader), memoryURI(name, writer))
	if err == nil {
		db.keeper, err = db.Reader.Conn(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("open a database in memory: %w", err), db.Close())
	}
	return nil
}

// Copy returns a read-only copy of the committed state of a database in memory, which does not block writers. It waits for
// the write in progress. A database on disk needs no copy: a transaction of its Reader is a consistent view.
func (db *DB) Copy(ctx context.Context) (*DB, error) {
	if !db.InMemory() {
		return nil, fmt.Errorf("copy %s: only databases in memory are copied", db.path)
	}
	timeout := []string{strconv.FormatInt(DefaultBusyTimeout.Milliseconds(), 10)}
	name, reader := "quarry-"+uuid.NewString(), url.Values{"_busy_timeout": timeout, "_query_only": {"1"}}
	result := &DB{readOnly: true, newest: db.newest}
	if err := result.connectMemory(ctx, name, reader, reader); err != nil {
		return nil, fmt.Errorf("copy %s: %w", db.name(), err)
	}
	source, err := db.Writer.Conn(ctx)
	if err != nil {
		return nil, errors.Join(Explain(fmt.Errorf("copy %s: %w", db.name(), err)), result.Close())
	}
	defer func() { _ = source.Close() }()
	target := memoryURI(name, url.Values{"_busy_timeout": timeout})
	err = source.Raw(func(connection any) error { return backup(connection, target) })
	if err != nil {
		return nil, errors.Join(Explain(fmt.Errorf("copy %s: %w", db.name(), err)), result.Close())
	}
	return result, nil
}

func backup(connection any, target string) error {
	source, ok := connection.(interface {
		NewBackup(string) (*driver.Backup, error)
	})
	if !ok {
		return errors.New("the driver cannot copy a database")
	}
	copying, err := source.NewBackup(target)
	if err != nil {
		return err
	}
	_, stepErr := copying.Step(-1)
	return errors.Join(stepErr, copying.Finish())
}
