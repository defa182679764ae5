package segments

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"quarry/internal/guard"
	"quarry/server/index/segment"
	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

const (
	segmentSuffix = ".seg"
	nameBytes     = 16
	// A name ends with the checksum of the end of the file, which contains the checksums of the rest: a file in the
	// place of another one is damage. Names of older versions do not.
	tailBytes = 40
	// segmentMode prevents changes of a segment, by this program too.
	segmentMode = 0o400
)

// segmentFiles keeps segments by name.
type segmentFiles interface {
	// Create stores a segment under a new name. When it returns nil the segment outlives a power cut.
	Create(data []byte) (name string, err error)
	// Open gives access to a segment's bytes until release is called. fs.ErrNotExist when there is none.
	Open(name string) (data []byte, release func(), err error)
	Remove(name string) error
	// List returns the names of segments that may be unused, and when each was created.
	List() (map[string]time.Time, error)
}

func newSegmentName(data []byte) string {
	var random [nameBytes]byte
	_, _ = rand.Read(random[:])
	return hex.EncodeToString(binary.LittleEndian.AppendUint32(random[:], tailSum(data)))
}

// tailSum has another polynomial than the checksums inside of the file: that of a text with its own checksum behind it
// would be the same for all.
func tailSum(data []byte) uint32 { return crc32.ChecksumIEEE(data[max(0, len(data)-tailBytes):]) }

// checkName returns an error when a file is not the one that its name was made for.
func checkName(name string, data []byte) error {
	decoded, err := hex.DecodeString(name)
	if err != nil || len(decoded) == nameBytes {
		return err
	}
	return segment.Protect(func() string { return name }, func() {
		if tailSum(data) != binary.LittleEndian.Uint32(decoded[nameBytes:]) {
			guard.Abort(segment.Damage(name, "it is cut off or another file"))
		}
	})
}

// validSegmentName keeps a damaged manifest from naming files elsewhere.
func validSegmentName(name string) bool {
	decoded, err := hex.DecodeString(name)
	return err == nil && (len(decoded) == nameBytes || len(decoded) == nameBytes+crc32.Size)
}

type writableFile interface {
	io.Writer
	Chmod(mode os.FileMode) error
	Sync() error
	Close() error
}

// diskFiles keeps segments in a folder.
type diskFiles struct {
	folder string
	// What segments are written through, so that tests can let it fail and see the order of what is done: a new file,
	// and the names in a folder, which syncFolder makes durable.
	createFile         func(path string) (writableFile, error)
	syncFolder, remove func(path string) error
}

func newDiskFiles(folder string) *diskFiles {
	return &diskFiles{folder, createFile, sqlite.SyncFolder, os.Remove}
}

func createFile(path string) (writableFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (d *diskFiles) path(name string) string { return filepath.Join(d.folder, name+segmentSuffix) }

// Create needs no second name to write under: no reader opens a file before a manifest names it.
func (d *diskFiles) Create(data []byte) (string, error) {
	name := newSegmentName(data)
	path := d.path(name)
	file, err := d.createFile(path)
	if err != nil {
		return "", sqldb.Explained("create a segment", err)
	}
	err = writeOut(file, data)
	if err == nil {
		err = d.syncFolder(d.folder)
	}
	if err != nil {
		_ = d.remove(path)
		return "", sqldb.Explained("write segment "+path, err)
	}
	return name, nil
}

func writeOut(file writableFile, data []byte) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Chmod(segmentMode)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func (d *diskFiles) Open(name string) ([]byte, func(), error) {
	if !validSegmentName(name) {
		return nil, nil, fmt.Errorf("segment %q: %w", name, fs.ErrNotExist)
	}
	file, err := os.Open(d.path(name))
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	data, release, err := mapFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("map segment %s: %w", file.Name(), err)
	}
	return data, release, nil
}

func (d *diskFiles) Remove(name string) error {
	err := d.remove(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d *diskFiles) List() (map[string]time.Time, error) {
	entries, err := os.ReadDir(d.folder)
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	found := make(map[string]time.Time)
	for _, entry := range entries {
		name, isSegment := strings.CutSuffix(entry.Name(), segmentSuffix)
		if !isSegment || !validSegmentName(name) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // it was removed just now
		}
		found[name] = info.ModTime()
	}
	return found, nil
}

// memoryFiles keeps segments in memory: bytes by name.
type memoryFiles struct{ sync.Map }

func (m *memoryFiles) Create(data []byte) (string, error) {
	name := newSegmentName(data)
	m.Store(name, slices.Clip(data))
	return name, nil
}

func (m *memoryFiles) Open(name string) ([]byte, func(), error) {
	data, ok := m.Load(name)
	if !ok {
		return nil, nil, fmt.Errorf("segment %s: %w", name, fs.ErrNotExist)
	}
	return data.([]byte), func() {}, nil
}

func (m *memoryFiles) Remove(name string) error {
	m.Delete(name)
	return nil
}

// List returns nothing: there are no files that a crash has left.
func (m *memoryFiles) List() (map[string]time.Time, error) { return nil, nil }

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

// sweepAge is the age from which an unused segment is removed: a younger one may be about to be named.
const sweepAge = 60 * time.Second

// unnamed returns the files that the manifest does not name, and when they were created. They are listed before the
// manifest is read, so that what is named in between is left out.
func (x *Index) unnamed(db sqldb.Source) map[string]time.Time {
	files := guard.Must(x.files.List())
	for _, p := range readManifest(db) {
		delete(files, p.name)
		delete(files, p.vectors.fileName())
	}
	return files
}

// sweep removes segments that no manifest names, such as those left by crashes.
func (x *Index) sweep(ctx context.Context) (err error) {
	defer guard.End(&err)
	var errs []error
	for name, born := range x.unnamed(x.Newest(ctx)) {
		if x.Now().Sub(born) < sweepAge {
			continue
		}
		if err := x.files.Remove(name); err != nil {
			errs = append(errs, err)
			continue
		}
		x.Log.Info("removed an unused segment", "segment", name)
	}
	return errors.Join(errs...)
}
