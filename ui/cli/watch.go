package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxWatched bounds the folders that are followed: systems allow a process only so many.
	maxWatched = 8192
	// quietPeriod is how long nothing must change before changes are read: editors write a file in several steps.
	quietPeriod = 300 * time.Millisecond
)

// folderWatch watches files and folders for changes.
type folderWatch struct {
	watcher *fsnotify.Watcher
	count   int
}

// watchFolders follows roots, without the folders in them of which nothing is read.
func watchFolders(roots []string) (*folderWatch, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the file system: %w", err)
	}
	w := &folderWatch{watcher: watcher}
	for _, root := range roots {
		if err := w.follow(root); err != nil {
			return nil, errors.Join(err, watcher.Close())
		}
	}
	return w, nil
}

// follow adds a root: a folder with all below it, or the folder of a file, as editors replace files.
func (w *folderWatch) follow(root string) error {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", root, err)
	}
	if !info.IsDir() {
		return w.add(filepath.Dir(root))
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return nil // syncing reports what cannot be read
		case path != root && isIgnored(path):
			return filepath.SkipDir
		}
		return w.add(path)
	})
}

func (w *folderWatch) add(folder string) error {
	if w.count >= maxWatched {
		return fmt.Errorf("more than %d folders to watch", maxWatched)
	}
	if err := w.watcher.Add(folder); err != nil {
		return fmt.Errorf("watch %s: %w", folder, err)
	}
	w.count++
	return nil
}

// isIgnored reports whether nothing of a folder is read. Of the hidden ones only those of mailboxes are.
func isIgnored(folder string) bool {
	name := filepath.Base(folder)
	if strings.HasPrefix(name, ".") {
		_, err := os.Stat(filepath.Join(folder, "cur"))
		return err != nil
	}
	return name == "node_modules"
}

// wait returns when something changed and then nothing more for a while, or with the error of ctx.
func (w *folderWatch) wait(ctx context.Context, quiet time.Duration) error {
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-settled:
			return nil
		case err, open := <-w.watcher.Errors:
			if open && !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch the file system: %w", err)
			}
			settled = time.After(quiet) // events were lost: look at everything
		case event, open := <-w.watcher.Events:
			if !open {
				return errors.New("watch the file system: the watcher ended")
			}
			if event.Op == fsnotify.Chmod {
				continue
			}
			if event.Op.Has(fsnotify.Create) && !isIgnored(event.Name) {
				if info, err := os.Lstat(event.Name); err == nil && info.IsDir() {
					if err := w.follow(event.Name); err != nil {
						return err
					}
				}
			}
			settled = time.After(quiet)
		}
	}
}

func (w *folderWatch) close() error { return w.watcher.Close() }
