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

// Exists reports whether there is a library in a folder, also one whose database is lost. It makes nothing on disk.
func Exists(dir string) (bool, error) {
	found, err := Stat(dir)
	return found != nil || refuseLoss(dir) != nil, err
}

// Stat describes the file that identifies a library in a folder; nil if there is none. While a library is open, no other
// one has the same file by os.SameFile.
func Stat(dir string) (fs.FileInfo, error) {
	found, err := os.Stat(filepath.Join(dir, databaseName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for a library: %w", err)
	}
	return found, nil
}

// HasDocuments reports whether there is a library in a folder that contains something. It makes nothing on disk, and reads
// no more than a row. A library that cannot be read counts as one that contains something, so that opening it reports the
// error.
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
