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
