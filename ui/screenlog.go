package ui

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"quarry/ui/target"
)

// screenLog returns the log of the full screen, which has the terminal to itself: explorer.log in the state folder.
// There is none where nothing may be stored.
func (r *run) screenLog(host *target.Host) *slog.Logger {
	if host.Config.Private || target.ReadOnly(host.Env) {
		return slog.New(slog.DiscardHandler)
	}
	path := filepath.Join(host.Paths.State, "explorer.log")
	return slog.New(slog.NewTextHandler(&lateFile{path: path}, &slog.HandlerOptions{ReplaceAttr: printableAttr}))
}

// largestScreenLog is the size in bytes from which on the log begins again.
const largestScreenLog = 1 << 20

// lateFile is a file that is opened by the first write, so that a run without one leaves nothing behind.
type lateFile struct {
	path string
	mu   sync.Mutex
	file *os.File
	err  error
}

// Write appends to the file.
func (f *lateFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil && f.err == nil {
		f.file, f.err = openLog(f.path)
	}
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.file.Write(p)
	if err != nil {
		return n, fmt.Errorf("write %s: %w", f.path, err)
	}
	return n, nil
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the log: %w", err)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Lstat(path); err == nil && info.Size() > largestScreenLog {
		flags |= os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return file, nil
}
