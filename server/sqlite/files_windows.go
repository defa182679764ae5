package sqlite

import (
	"errors"
	"os"
)

// SyncFolder does nothing: the file system keeps names in its journal.
func SyncFolder(string) error { return nil }

// folderWritable tries to write: permissions on Windows are more than a mode.
func folderWritable(folder string) error {
	file, err := os.CreateTemp(folder, ".quarry-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// fileWritable opens the file, which holds no lock that closing it could drop.
func fileWritable(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return file.Close()
}
