package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	driver "modernc.org/sqlite"
)

// memoryURI names a database in memory that all connections of this process with the same name share.
func memoryURI(name string, p parameters) string {
	p["vfs"] = "memdb"
	return fileURI("/"+name, p)
}

func openMemory(ctx context.Context, options Options) (*DB, error) {
	timeout := strconv.FormatInt(options.BusyTimeout.Milliseconds(), 10)
	name := "quarry-" + uuid.NewString()
	db := &DB{readOnly: options.ReadOnly}
	writer := parameters{"_busy_timeout": timeout, "_foreign_keys": "1", "_txlock": "immediate",
		"pragmas": "temp_store(MEMORY)"}
	if options.ReadOnly {
		writer["_query_only"] = "1"
	}
	reader := parameters{"_busy_timeout": timeout, "_query_only": "1", "pragmas": "temp_store(MEMORY)"}
	if err := db.connect(memoryURI(name, reader), memoryURI(name, writer)); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	keeper, err := db.Reader.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a database in memory: %w", err), db.Close())
	}
	db.keeper = keeper
	return db, nil
}

// Copy makes a copy of the committed state of a database in memory, which can only be read and keeps no writer waiting.
// It waits for the write in progress. A database on disk needs no copy: a transaction of its Reader is one.
func (db *DB) Copy(ctx context.Context) (*DB, error) {
	if !db.InMemory() {
		return nil, fmt.Errorf("copy %s: only databases in memory are copied", db.path)
	}
	timeout := strconv.FormatInt(DefaultBusyTimeout.Milliseconds(), 10)
	name := "quarry-" + uuid.NewString()
	reader := func() parameters { return parameters{"_busy_timeout": timeout, "_query_only": "1"} }
	result := &DB{readOnly: true, newest: db.newest}
	if err := result.connect(memoryURI(name, reader()), memoryURI(name, reader())); err != nil {
		return nil, errors.Join(err, result.Close())
	}
	keeper, err := result.Reader.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy %s: %w", db.name(), err), result.Close())
	}
	result.keeper = keeper
	source, err := db.Writer.Conn(ctx)
	if err != nil {
		return nil, errors.Join(Explain(fmt.Errorf("copy %s: %w", db.name(), err)), result.Close())
	}
	defer func() { _ = source.Close() }()
	target := memoryURI(name, parameters{"_busy_timeout": timeout})
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
