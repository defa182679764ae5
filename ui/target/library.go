package target

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// libraryExists reports whether a folder has a library: with documents or tokens. A library without read permission is
// an error.
func libraryExists(dir string) (bool, error) {
	found := false
	for _, part := range [...]string{"tenants", "directory.db"} {
		_, err := os.Stat(filepath.Join(dir, part))
		if errors.Is(err, fs.ErrPermission) {
			return false, unreadable(dir, err)
		}
		found = found || err == nil
	}
	if !found {
		return false, nil
	}
	return true, mayRead(dir)
}

// mayRead checks the permissions of a library's files, because the database's own errors are less clear.
func mayRead(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return unreadable(dir, err)
		case err != nil:
			return nil // removed meanwhile: opening it fails
		case strings.Count(strings.TrimPrefix(path, dir), string(filepath.Separator)) > 2 && entry.IsDir():
			return fs.SkipDir
		case filepath.Ext(path) != ".db":
			return nil
		}
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrPermission) {
			return unreadable(dir, err)
		}
		if err == nil {
			_ = file.Close()
		}
		return nil
	})
}

func unreadable(dir string, err error) error {
	return &Error{Kind: ErrGeneral, Problem: "cannot read the library in " + dir, Err: unwrapPath(err),
		Fix: "get read permission, or use another library: QUARRY_HOME or --library DIR"}
}

// MayWrite checks that a library's folder, or the folder that it would be created in, is writable.
func (h *Host) MayWrite(dir string) error {
	dir = h.LibraryFolder(dir)
	folders := []string{existing(dir)}
	if tenant := filepath.Join(dir, "tenants", "default"); existing(tenant) == tenant {
		folders = append(folders, tenant)
	}
	for _, folder := range folders {
		if err := mayWriteFolder(folder); err != nil {
			return &Error{Kind: ErrGeneral, Problem: "cannot write to " + folder, Err: unwrapPath(err),
				Fix: "use a writable folder: QUARRY_HOME or --library DIR"}
		}
	}
	return nil
}

// existing returns the nearest existing folder, from a path upwards.
func existing(path string) string {
	for {
		_, err := os.Stat(path)
		parent := filepath.Dir(path)
		if err == nil || parent == path {
			return path
		}
		path = parent
	}
}

func unwrapPath(err error) error {
	var detail *fs.PathError
	if errors.As(err, &detail) {
		return detail.Err
	}
	return err
}
