package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"quarry/server/sqlite"
)

// Exists reports whether there is a library in a folder. It makes nothing on disk.
func Exists(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, databaseName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a library: %w", err)
	}
	return true, nil
}

// HasDocuments reports whether there is a library in a folder that holds something. It makes nothing on disk, and reads
// no more than a row. A library that cannot be read counts as one that holds something, so that opening it tells what
// is wrong.
func HasDocuments(ctx context.Context, dir string) (bool, error) {
	if found, err := Exists(dir); err != nil || !found {
		return false, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, databaseName), ReadOnly: true})
	if err != nil {
		return true, nil
	}
	m, err := readMeta(ctx, db.Reader)
	return err != nil || m.documents > 0, db.Close()
}
