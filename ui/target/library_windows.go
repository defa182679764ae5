package target

import (
	"errors"
	"os"
)

// mayWriteFolder knows only whether the folder is there: who may write is told by writing.
func mayWriteFolder(folder string) error {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	return err
}
