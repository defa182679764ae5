package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"quarry/server/index/segment"
)

// openSegment is a segment in use. It is shared by all states that have it and released with the last.
type openSegment struct {
	name    string
	reader  *segment.Reader
	release func()
	users   int
}

// segmentPool opens segments once.
type segmentPool struct {
	files segmentFiles

	mutex sync.Mutex
	open  map[string]*openSegment
}

func newSegmentPool(files segmentFiles) *segmentPool {
	return &segmentPool{files: files, open: make(map[string]*openSegment)}
}

// acquire opens a segment or takes a share in the open one. fs.ErrNotExist when the file is gone, segment.ErrDamaged
// when it is not what was written.
func (p *segmentPool) acquire(name string) (*openSegment, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if found := p.open[name]; found != nil {
		found.users++
		return found, nil
	}
	data, release, err := p.files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	reader, err := segment.Open(name, data)
	if err != nil {
		release()
		return nil, fmt.Errorf("open segment: %w", err)
	}
	opened := &openSegment{name: name, reader: reader, release: release, users: 1}
	p.open[name] = opened
	return opened, nil
}

func (p *segmentPool) drop(segment *openSegment) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	segment.users--
	if segment.users > 0 {
		return
	}
	if p.open[segment.name] == segment {
		delete(p.open, segment.name)
	}
	segment.release()
}

// damagedError names the segments of a manifest that cannot be used.
type damagedError struct {
	ids     []int64
	missing bool // all of them for want of the file, as when another process has just merged them
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
