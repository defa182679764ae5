// Package sqldb is what the stores of this server share on both of their databases: SQLite, which package sqlite opens,
// and PostgreSQL, which package postgres opens. A store has one implementation. Only its migrations are per dialect;
// its statements use SQLite's parameters (? or ?1, ?2, …) and what both dialects know:
//
//   - TRUE and FALSE, IS NOT DISTINCT FROM, ON CONFLICT with the columns where rows are updated, an alias for every
//     query in FROM. Not: rowid, max with two arguments, unixepoch, INSERT OR IGNORE.
//   - A parameter has one type, that of its first use: id = ?1 OR ?1 = 0, not ?1 IN (0, id). Arithmetic with nothing
//     but parameters has none: do it in Go, or cast.
//   - json_each(?) for a list, whose values are text in PostgreSQL: SELECT CAST(value AS BIGINT) FROM json_each(?).
//   - Times are Micros and JSON is text in both. In PostgreSQL, text that is compared or sorted has COLLATE "C", as in
//     SQLite.
//   - In a transaction, the rows of a query are closed before the next statement.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"syscall"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"quarry/server/fault"
)

// DB is an open database.
type DB interface {
	// Update runs change in one transaction, which no other Update of any process overlaps, and commits it durably.
	// After an error nothing has changed. On a server, change may run several times, each time in a new transaction.
	// Errors: fault.ErrBusy, fault.ErrReadOnly, fault.ErrNewer if a newer version of the program has migrated the
	// database, fault.ErrDiskFull, fault.ErrUnavailable, and those of change.
	Update(ctx context.Context, change func(*sql.Tx) error) error
	// Pool returns the connections for reading.
	Pool() *sql.DB
	// Version returns the version of the last commit. Later reads are at least as new. ok is false if it cannot be
	// read.
	Version(ctx context.Context) (version Version, ok bool)
	ReadOnly() bool
	InMemory() bool
	Close() error
}

// Version identifies the state of a database: it changes with every Update of this or another process. Versions of
// different DBs cannot be compared.
type Version struct {
	Source int // of the number: numbers of different sources cannot be compared
	Number int64
}

// Explain wraps an error of a driver or the system in fault.ErrBusy, fault.ErrReadOnly, fault.ErrDiskFull,
// fault.ErrDamaged or fault.ErrUnavailable. It returns other errors unchanged.
func Explain(err error) error {
	meaning := meaningOf(err)
	if meaning == nil || errors.Is(err, meaning) {
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}

// Explained returns an error of a driver or the system as Explain does, and begins it with what was being done; nil
// stays nil.
func Explained(doing string, err error) error {
	if err == nil {
		return nil
	}
	return Explain(fmt.Errorf("%s: %w", doing, err))
}

func meaningOf(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.ErrDiskFull
	}
	var file *driver.Error
	if errors.As(err, &file) {
		return meaningOfSQLite(file)
	}
	var answer interface{ SQLState() string } // of a PostgreSQL server
	if errors.As(err, &answer) {
		return meaningOfState(answer.SQLState())
	}
	return nil
}

// primaryCode masks the extended part of a result code away.
const primaryCode = 0xff

func meaningOfSQLite(failure *driver.Error) error {
	switch failure.Code() {
	case codes.SQLITE_IOERR_READ, codes.SQLITE_IOERR_SHORT_READ, codes.SQLITE_IOERR_CORRUPTFS, codes.SQLITE_IOERR_DATA:
		return fault.ErrDamaged
	case codes.SQLITE_IOERR_DELETE_NOENT: // another process has removed the log of a new database first
		return fault.ErrBusy
	}
	switch failure.Code() & primaryCode {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return fault.ErrBusy
	case codes.SQLITE_READONLY:
		return fault.ErrReadOnly
	case codes.SQLITE_FULL:
		return fault.ErrDiskFull
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return fault.ErrDamaged
	case codes.SQLITE_ERROR:
		// The program's statements match its schema, so the schema is damaged.
		if strings.Contains(failure.Error(), "no such column") || strings.Contains(failure.Error(), "no such table") {
			return fault.ErrDamaged
		}
	}
	return nil
}

// meaningOfState returns the meaning of an SQLSTATE.
func meaningOfState(state string) error {
	switch state {
	case "40001", "40P01", "55P03", "57014": // serialization, deadlock, lock timeout, statement timeout
		return fault.ErrBusy
	case "25006", "42501": // read-only transaction, insufficient privilege
		return fault.ErrReadOnly
	case "53100":
		return fault.ErrDiskFull
	case "XX001", "XX002", "42P01", "42703": // corrupted data or index; no such table or column, as above
		return fault.ErrDamaged
	}
	switch state[:2] {
	case "08", "28", "3D", "53", "57": // connection, authorization, no such database, out of resources, shutdown
		return fault.ErrUnavailable
	}
	return nil
}
