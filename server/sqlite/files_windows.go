package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"quarry/server/index"
)

// SyncFolder does nothing: the file system keeps names in its journal.
func SyncFolder(string) error { return nil }

// lockFile acquires an exclusive lock, which also ends with the process.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	if err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{}); err != nil {
		_ = file.Close()
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
			return nil, index.ErrBusy
		}
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

// folderWritable tries to write: permissions on Windows are more than a mode.
func folderWritable(folder string) error {
	file, err := os.CreateTemp(folder, ".quarry-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
