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
