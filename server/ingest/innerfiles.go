package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// innerFiles are the files of a container.
type innerFiles struct {
	fs     fs.FS
	names  []string
	packed map[string]int64 // bytes in an archive; nil for a folder
	left   int64            // bytes that may still be unpacked
	seen   map[string]bool  // files that were counted
	failed error            // of the file system: the documents stay
}

// open opens a file, and returns its size.
func (c *collector) open(name string) (fs.File, int64, error) {
	file, err := c.fs.Open(name)
	if err != nil {
		return nil, 0, c.failure(name, err)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, 0, errors.New("it is not a regular file")
	}
	return file, info.Size(), nil
}

// content returns what is in a file that is no secret.
func (c *collector) content(name string) ([]byte, error) {
	if isSecretName(name) && !c.task.includes(name) {
		return nil, errSecretName
	}
	file, _, err := c.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, min(largestFile, c.left)+1))
	switch {
	case err != nil:
		return nil, c.failure(name, err)
	case len(data) > largestFile:
		return nil, errTooLarge
	}
	return data, c.count(name, int64(len(data)))
}

// count counts a file that was read.
func (c *collector) count(name string, size int64) error {
	if c.packed != nil {
		if c.seen[name] { // also when it is read again
			return nil
		}
		if c.left -= size; c.left < 0 {
			c.failed = errUnpacked
			return errUnpacked
		}
		size = c.packed[name]
	}
	if !c.seen[name] {
		c.seen[name] = true
		c.part.bytes += size
	}
	return nil
}

// randomFile is a file that can be read at any place.
type randomFile interface {
	io.ReaderAt
	io.Closer
}

// random opens a file of any size to be read at any place. One of an archive is unpacked into a temporary file, which
// has no name where the system allows that, and disappears with the process.
func (c *collector) random(name string) (_ randomFile, size int64, err error) {
	file, size, err := c.open(name)
	if err != nil {
		return nil, 0, err
	}
	if file, ok := file.(randomFile); ok && c.packed == nil {
		return file, size, nil
	}
	defer file.Close()
	unpacked, err := newUnnamed()
	if err == nil {
		size, err = io.Copy(unpacked, io.LimitReader(file, c.left+1))
	}
	if failure, ok := errors.AsType[*fs.PathError](err); ok { // of the temporary file: the disk may be full
		c.failed = fmt.Errorf("unpack %s: %v", name, failure.Err)
		err = c.failed
	}
	if err == nil {
		err = c.count(name, size)
	}
	if err != nil {
		if unpacked.File != nil {
			unpacked.Close()
		}
		return nil, 0, err
	}
	return unpacked, size, nil
}

// unnamed is a temporary file.
type unnamed struct{ *os.File }

func newUnnamed() (unnamed, error) {
	file, err := os.CreateTemp("", "quarry-*")
	if err == nil {
		_ = os.Remove(file.Name()) // Windows removes no open file
	}
	return unnamed{file}, err
}

func (u unnamed) Close() error {
	err := u.File.Close()
	if removed := os.Remove(u.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// failure words an error. One of a folder's file system may pass.
func (c *collector) failure(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if c.packed == nil {
		c.failed = cmp.Or(c.failed, error(fmt.Errorf("%s: %s", name, reasonOf(err))))
	}
	return errors.New(reasonOf(err))
}

// defaults returns what a file says of its document without being read.
func (c *collector) defaults(name, source string) index.Document {
	info, err := fs.Stat(c.fs, name)
	if err != nil {
		guard.Abort(c.failure(name, err))
	}
	var above []string
	if folder := path.Dir(name); folder != "." {
		above = strings.Split(folder, "/")
	}
	doc := c.exported(source, name, name, titleFromName(path.Base(name)), above[max(0, len(above)-2):])
	doc.Place, doc.UpdatedAt = field.JoinPlace(above...), info.ModTime().UTC()
	return doc
}

// innerDocument reads a file of a container as a document of its own.
func (c *collector) innerDocument(name, source string) index.Document {
	f, reason := c.formatOf(name)
	if reason != "" || f.lines {
		guard.Abort(errors.New(cmp.Or(reason, wire.ReasonNotRead(path.Ext(name)))))
	}
	defaults := c.defaults(name, source)
	data := guard.Must(c.content(name))
	c.member = name
	defer func() { c.member, c.encoding = "", "" }()
	doc := c.document(f, data, defaults)
	if f.data != nil && doc.UpdatedAt.Equal(defaults.UpdatedAt) {
		dateByFile(&doc)
	}
	return doc
}

// recovered calls read, and returns the error that it was aborted with, or its panic: it costs one file or message of a
// container, not all of them.
func recovered(read func()) error {
	err := guard.Call(func() error { read(); return nil })
	if panicked, ok := errors.AsType[*guard.PanicError](err); ok {
		return readingFailed(panicked)
	}
	return err
}

func readingFailed(panicked *guard.PanicError) error {
	return fmt.Errorf("reading it failed: %s", panicked.Value)
}

// soleFile is the file system of a container that is a file.
type soleFile struct{ *os.File }

func (s soleFile) Open(string) (fs.File, error) { return s, nil }
func (s soleFile) Close() error                 { return nil }
