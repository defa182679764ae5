package target

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// libraryExists reports whether a folder is that of a library: files were added or tokens made. A library that may not
// be read is an error and not an absent one.
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

// mayRead tries the files of a library, so that what is missing is told in the library's words and not in those of the
// database that it keeps them in.
func mayRead(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return unreadable(dir, err)
		case err != nil:
			return nil // gone meanwhile: opening it tells
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
		Fix: "ask for the right to read it, or name another one with QUARRY_HOME or --library"}
}

// MayWrite checks that a library's folder, or the one that it would be made in, can be written.
func (h *Host) MayWrite(dir string) error {
	dir = h.LibraryFolder(dir)
	folders := []string{existing(dir)}
	if tenant := filepath.Join(dir, "tenants", "default"); existing(tenant) == tenant {
		folders = append(folders, tenant)
	}
	for _, folder := range folders {
		if err := mayWriteFolder(folder); err != nil {
			return &Error{Kind: ErrGeneral, Problem: "cannot write to " + folder, Err: unwrapPath(err),
				Fix: "name a folder that you can write with QUARRY_HOME or --library"}
		}
	}
	return nil
}

// existing is the nearest folder, from a path upwards, that is there.
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
