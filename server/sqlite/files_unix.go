//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"quarry/server/index"
)

// SyncFolder makes the creation and removal of files in a folder durable.
func SyncFolder(folder string) error {
	handle, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(handle.Sync(), handle.Close())
}

// lockFile acquires an exclusive lock, which also ends with the process. The file is not removed: otherwise two processes
// could lock different files of that name.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
			return nil, index.ErrBusy
		}
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

// folderWritable checks with the system, which knows of read-only mounts and access control lists.
func folderWritable(folder string) error {
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return &os.PathError{Op: "write to", Path: folder, Err: err}
	}
	return nil
}
