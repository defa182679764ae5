//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncFolder makes the creation and removal of files in a folder durable.
func SyncFolder(folder string) error {
	handle, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(handle.Sync(), handle.Close())
}

// folderWritable checks with the system, which knows of read-only mounts and access control lists.
func folderWritable(folder string) error {
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return &os.PathError{Op: "write to", Path: folder, Err: err}
	}
	return nil
}

func fileWritable(path string) error {
	if err := unix.Access(path, unix.R_OK|unix.W_OK); err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}
