package embedded

import (
	"fmt"
	"sync"
)

// verifier is a reader of a file of the index. Verify checks all of the file.
type verifier interface{ Verify() error }

// openFile is a file of the index in use. It is shared by all states that have it and released with the last.
type openFile[T verifier] struct {
	name    string
	reader  T
	release func()
	users   int
}

// pool opens files once.
type pool[T verifier] struct {
	files segmentFiles
	read  func(name string, data []byte) (T, error)

	mutex sync.Mutex
	open  map[string]*openFile[T]
}

func newPool[T verifier](files segmentFiles, read func(name string, data []byte) (T, error)) *pool[T] {
	return &pool[T]{files: files, read: read, open: make(map[string]*openFile[T])}
}

// acquire opens a file or shares the open one. fs.ErrNotExist when it is gone, segment.ErrDamaged when it is
// not what was written.
func (p *pool[T]) acquire(name string) (*openFile[T], error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if found := p.open[name]; found != nil {
		found.users++
		return found, nil
	}
	opened, err := p.openFile(name)
	if err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	p.open[name] = opened
	return opened, nil
}

func (p *pool[T]) openFile(name string) (*openFile[T], error) {
	data, release, err := p.files.Open(name)
	if err != nil {
		return nil, err
	}
	opened := &openFile[T]{name: name, release: release, users: 1}
	if err = checkName(name, data); err == nil {
		opened.reader, err = p.read(name, data)
	}
	if err != nil {
		release()
		return nil, err
	}
	return opened, nil
}

// verify opens a file afresh, as blocks that were once found sound are not checked again, and checks all of it.
func (p *pool[T]) verify(name string) error {
	opened, err := p.openFile(name)
	if err != nil {
		return err
	}
	defer opened.release()
	return opened.reader.Verify()
}

// drop ends a use of a file; nil is none.
func (p *pool[T]) drop(file *openFile[T]) {
	if file == nil {
		return
	}
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
