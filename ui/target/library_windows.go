package target

import (
	"errors"
	"os"
)

// mayWriteFolder reports whether the folder exists: only a write shows whether it is allowed.
func mayWriteFolder(folder string) error {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	return err
}

func mayReadFile(path string) error {
	file, err := os.Open(path)
	if err == nil {
		err = file.Close()
	}
	return err
}
