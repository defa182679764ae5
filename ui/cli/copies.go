package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Complete copies of output that was cut lie in the temporary directory, for their owner only, for a day.
const (
	copyPrefix = "quarry-"
	copyMark   = ".response."
	copyAge    = 24 * time.Hour
	mostCopies = 10_000 // entries of the directory that are looked at
)

// keepCopy stores what was not printed and returns the path; nil when nothing is to be kept or it cannot be. A full
// disk must not cost the user the part that fits.
func (a *app) keepCopy(kind, extension string, whole []byte, private bool) *string {
	if private || a.io.TempDir == "" {
		return nil
	}
	path, err := writeCopy(a.io.TempDir, kind, extension, whole)
	if err != nil {
		a.note("cannot keep a complete copy: %v", err)
		return nil
	}
	return &path
}

func writeCopy(dir, kind, extension string, whole []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, copyPrefix+kind+"-*"+copyMark+extension) // creates with mode 0600
	if err != nil {
		return "", fmt.Errorf("create a copy: %w", err)
	}
	_, err = file.Write(whole)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// removeOldCopies removes copies that are older than a day. Only regular files of this user with the name of a copy are
// touched; a link that somebody else put into a shared directory is left alone. Failing is harmless: the next run
// tries again.
func (a *app) removeOldCopies() {
	if a.io.TempDir == "" {
		return
	}
	dir, err := os.Open(a.io.TempDir)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	entries, _ := dir.ReadDir(mostCopies)
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, copyPrefix) || !strings.Contains(name, copyMark) || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && ownedByUs(info) && a.now().Sub(info.ModTime()) >= copyAge {
			_ = os.Remove(filepath.Join(a.io.TempDir, name))
		}
	}
}
