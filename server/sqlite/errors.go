package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"quarry/server/index"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

var (
	// ErrDiskFull: there is no room for what was to be written; nothing of it was stored.
	ErrDiskFull = errors.New("the disk is full")
	// ErrDamaged: the file is not a database, or what it holds contradicts itself.
	ErrDamaged = errors.New("the database is damaged")
)

// primaryCode masks the extended part of a result code away.
const primaryCode = 0xff

// Explain adds to an error of the driver or the system what it means to the caller: index.ErrBusy, index.ErrReadOnly,
// ErrDiskFull or ErrDamaged. Other errors are returned as they are.
func Explain(err error) error {
	meaning := meaningOf(err)
	if meaning == nil || errors.Is(err, meaning) {
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}

func meaningOf(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return ErrDiskFull
	}
	var failure *driver.Error
	if !errors.As(err, &failure) {
		return nil
	}
	switch failure.Code() & primaryCode {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return index.ErrBusy
	case codes.SQLITE_READONLY:
		return index.ErrReadOnly
	case codes.SQLITE_FULL:
		return ErrDiskFull
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return ErrDamaged
	default:
		return nil
	}
}

func notWritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
