package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"quarry/server/index"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

var (
	// ErrDiskFull is index.ErrDiskFull.
	ErrDiskFull = index.ErrDiskFull
	// ErrDamaged is index.ErrDamaged: the file is not a database, or its content is inconsistent.
	ErrDamaged = index.ErrDamaged
)

// primaryCode masks the extended part of a result code away.
const primaryCode = 0xff

// Explain wraps an error of the driver or the system in index.ErrBusy, index.ErrReadOnly, ErrDiskFull or ErrDamaged. It
// returns other errors unchanged.
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
	switch failure.Code() {
	case codes.SQLITE_IOERR_READ, codes.SQLITE_IOERR_SHORT_READ, codes.SQLITE_IOERR_CORRUPTFS, codes.SQLITE_IOERR_DATA:
		return ErrDamaged
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
	case codes.SQLITE_ERROR:
		// The program's statements match its schema, so the schema is damaged.
		if strings.Contains(failure.Error(), "no such column") || strings.Contains(failure.Error(), "no such table") {
			return ErrDamaged
		}
		return nil
	default:
		return nil
	}
}

func notWritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
