package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Complete copies of output that was cut lie in the temporary directory for a day, each in a folder of its own that
// nobody else can enter.
const (
	copyPrefix = "quarry-"
	copyMark   = ".response" // ends the name of the folder
	copyFile   = "complete." // begins that of the file
	copyAge    = 24 * time.Hour
	mostCopies = 10_000 // entries of the directory that are looked at
	copyBytes  = 64 << 20
)

// keepCopy stores what was not printed and returns the path; nil when nothing is to be kept or it cannot be. A full
// disk must not cost the user the part that fits.
func (a *app) keepCopy(kind, extension, whole string) *string {
	if a.uncopied || a.io.TempDir == "" || len(whole) > copyBytes || a.private() {
		return nil
	}
	path, err := writeCopy(a.io.TempDir, kind, extension, whole)
	if err != nil {
		a.note("cannot keep a complete copy: %v", err)
		return nil
	}
	return &path
}

func writeCopy(dir, kind, extension, whole string) (path string, err error) {
	folder, err := os.MkdirTemp(dir, copyPrefix+kind+"-*"+copyMark) // creates with mode 0700, never through a link
	if err != nil {
		return "", fmt.Errorf("create a copy: %w", err)
	}
	path = filepath.Join(folder, copyFile+extension)
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		return "", errors.Join(fmt.Errorf("write a copy: %w", err), os.RemoveAll(folder))
	}
	return path, nil
}

// removeOldCopies removes copies that are older than a day, and the oldest beyond copyBytes. Only folders of this user
// with the name of a copy are touched; a link that somebody else put into a shared directory is left alone. Failing is
// harmless: the next run tries again.
func (a *app) removeOldCopies() {
	if a.io.TempDir == "" {
		return
	}
	dir, err := os.Open(a.io.TempDir)
	if err != nil {
		return
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(mostCopies)
	var copies []fs.FileInfo
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, copyPrefix) || !strings.HasSuffix(name, copyMark) || !entry.IsDir() {
			continue
		}
		info, err := entry.Info()
		if err == nil && info.IsDir() && ownedByUs(info) {
			copies = append(copies, info)
		}
	}
	slices.SortFunc(copies, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	size := int64(0)
	for _, info := range copies {
		folder := filepath.Join(a.io.TempDir, info.Name())
		if size += copySize(folder); size > copyBytes || a.now().Sub(info.ModTime()) >= copyAge {
			removeCopy(folder)
		}
	}
}

// copySize returns the bytes of the files in a copy's folder.
func copySize(folder string) (size int64) {
	files, _ := os.ReadDir(folder)
	for _, file := range files {
		if info, err := file.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
	}
	return size
}

// removeCopy removes the file of a copy, and then its folder if there was nothing else in it.
func removeCopy(folder string) {
	files, _ := os.ReadDir(folder)
	for _, file := range files {
		if strings.HasPrefix(file.Name(), copyFile) && file.Type().IsRegular() {
			_ = os.Remove(filepath.Join(folder, file.Name()))
		}
	}
	_ = os.Remove(folder)
}
