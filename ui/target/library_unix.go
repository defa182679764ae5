//go:build unix

package target

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// mayWriteFolder asks the system whether files can be made in a folder.
func mayWriteFolder(folder string) error {
	const write, enter = 2, 1 // of access(2)
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("it is not a folder")
	}
	if err := syscall.Access(folder, write|enter); err != nil {
		return &fs.PathError{Op: "write to", Path: folder, Err: err}
	}
	return nil
}

// mayReadFile asks the system. Opening and closing a database would drop the locks that this process has on it.
func mayReadFile(path string) error {
	const read = 4 // of access(2)
	if err := syscall.Access(path, read); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}
