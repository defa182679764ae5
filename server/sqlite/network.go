package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"quarry/server/index"
)

// refuseNetwork fails when the file would lie on a network file system: locks and shared memory do not hold across
// machines there, and two writers would destroy the database.
func refuseNetwork(path string, nameOf func(folder string) (string, error)) error {
	if nameOf == nil {
		nameOf = networkFileSystem
	}
	folder, err := nearestFolder(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	name, err := nameOf(folder)
	if err != nil {
		return fmt.Errorf("find the file system of %s: %w", folder, err)
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("open %s: %w (%s): set QUARRY_HOME to a folder on a local disk", path,
		index.ErrNetworkFileSystem, name)
}

// nearestFolder is the folder itself or the nearest one above it that exists.
func nearestFolder(folder string) (string, error) {
	for {
		_, err := os.Stat(folder)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return folder, err
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return folder, err
		}
		folder = parent
	}
}
