package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// openFile is a file of the index in use. It is shared by all states that have it and released with the last.
type openFile[T any] struct {
	name    string
	reader  T
	release func()
	users   int
}

// pool opens files once.
type pool[T any] struct {
	files segmentFiles
	read  func(name string, data []byte) (T, error)

	mutex sync.Mutex
	open  map[string]*openFile[T]
}

func newPool[T any](files segmentFiles, read func(name string, data []byte) (T, error)) *pool[T] {
	return &pool[T]{files: files, read: read, open: make(map[string]*openFile[T])}
}

// acquire opens a file or takes a share in the open one. fs.ErrNotExist when it is gone, segment.ErrDamaged when it is
// not what was written.
func (p *pool[T]) acquire(name string) (*openFile[T], error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if found := p.open[name]; found != nil {
		found.users++
		return found, nil
	}
	data, release, err := p.files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	var reader T
	if err = checkName(name, data); err == nil {
		reader, err = p.read(name, data)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("open the index: %w", err)
	}
	opened := &openFile[T]{name: name, reader: reader, release: release, users: 1}
	p.open[name] = opened
	return opened, nil
}

func (p *pool[T]) drop(file *openFile[T]) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	file.users--
	if file.users > 0 {
		return
	}
	if p.open[file.name] == file {
		delete(p.open, file.name)
	}
	file.release()
}

// damagedError names the segments of a manifest that cannot be used.
type damagedError struct {
	ids     []int64
	names   []string // of the files, as far as the error was made with the manifest at hand
	missing bool     // all of them for want of the file, as when another process has just merged them
	cause   error
	// manifest is the number of the manifest that names them; -1 when they were found by searching.
	manifest int64
}

func (d *damagedError) Error() string { return d.cause.Error() }
func (d *damagedError) Unwrap() error { return d.cause }

// add notes one more; a nil receiver begins.
func (d *damagedError) add(id int64, cause error) *damagedError {
	missing := errors.Is(cause, fs.ErrNotExist)
	if d == nil {
		return &damagedError{ids: []int64{id}, missing: missing, cause: cause, manifest: -1}
	}
	d.ids, d.missing = append(d.ids, id), d.missing && missing
	return d
}
