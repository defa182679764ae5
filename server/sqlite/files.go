package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"quarry/server/fault"
)

// MakeFolder durably creates a private folder and its missing parents.
func MakeFolder(folder string) error {
	if _, err := os.Stat(folder); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(folder)
	if parent == folder {
		return fmt.Errorf("create %s: %w", folder, fs.ErrNotExist)
	}
	if err := MakeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(folder, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncFolder(parent)
}

// refuseNetwork returns an error if the file is on a network file system, where locks and shared memory do not work
// across machines and two writers would destroy the database.
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
		fault.ErrNetworkFileSystem, name)
}

// nearestFolder returns the folder, or its nearest parent that exists.
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
