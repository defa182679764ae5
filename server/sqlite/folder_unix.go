//go:build unix

package sqlite

import (
	"errors"
	"os"
)

// SyncFolder makes the names in a folder durable: files that were created or removed in it.
func SyncFolder(folder string) error {
	handle, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(handle.Sync(), handle.Close())
}
