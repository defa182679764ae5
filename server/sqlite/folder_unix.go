//go:build unix

package sqlite

import (
	"errors"
	"os"
)

// SyncFolder makes the creation and removal of files in a folder durable.
func SyncFolder(folder string) error {
	handle, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(handle.Sync(), handle.Close())
}
