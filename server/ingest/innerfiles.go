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
	"quarry/server/index"
)

// innerFiles are the files of a container.
type innerFiles struct {
	fs     fs.FS
	task   *task
	names  []string
	packed map[string]int64 // bytes in an archive; nil for a folder
	left   int64            // bytes that may still be unpacked
	seen   map[string]bool  // files that were counted
	count  func(bytes int64)
	failed error // of the file system: the documents stay
}

// open opens a file, and returns its size.
func (f *innerFiles) open(name string) (fs.File, int64, error) {
	file, err := f.fs.Open(name)
	if err != nil {
		return nil, 0, f.problem(name, err)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, 0, errors.New("it is not a regular file")
	}
	return file, info.Size(), nil
}

// read returns the content of a file that is no secret.
func (f *innerFiles) read(name string) ([]byte, error) {
	if isSecretName(name) && !f.task.includes(name) {
		return nil, errSecretName
	}
	file, _, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, min(largestFile, f.left)+1))
	switch {
	case err != nil:
		return nil, f.problem(name, err)
	case len(data) > largestFile:
		return nil, errTooLarge
	}
	return data, f.add(name, int64(len(data)))
}

// add counts a file that was read.
func (f *innerFiles) add(name string, size int64) error {
	if f.packed != nil {
		if f.seen[name] { // also when it is read again
			return nil
		}
		if f.left -= size; f.left < 0 {
			f.failed = errUnpacked
			return errUnpacked
		}
		size = f.packed[name]
	}
	if !f.seen[name] {
		f.seen[name] = true
		f.count(size)
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
func (f *innerFiles) random(name string) (_ randomFile, size int64, err error) {
	file, size, err := f.open(name)
	if err != nil {
		return nil, 0, err
	}
	if file, ok := file.(randomFile); ok && f.packed == nil {
		return file, size, nil
	}
	defer file.Close()
	unpacked, err := newUnnamed()
	if err == nil {
		size, err = io.Copy(unpacked, io.LimitReader(file, f.left+1))
	}
	if failure, ok := errors.AsType[*fs.PathError](err); ok { // of the temporary file: the disk may be full
		f.failed = fmt.Errorf("unpack %s: %v", name, failure.Err)
		err = f.failed
	}
	if err == nil {
		err = f.add(name, size)
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

// problem words an error. One of a folder's file system may pass.
func (f *innerFiles) problem(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if f.packed == nil {
		f.failed = cmp.Or(f.failed, error(fmt.Errorf("%s: %s", name, reasonOf(err))))
	}
	return errors.New(reasonOf(err))
}

// defaults returns what a file says of its document without being read.
func (f *innerFiles) defaults(c *collector, name, source string) (index.Document, error) {
	info, err := fs.Stat(f.fs, name)
	if err != nil {
		return index.Document{}, f.problem(name, err)
	}
	var above []string
	if folder := path.Dir(name); folder != "." {
		above = strings.Split(folder, "/")
	}
	doc := c.exported(source, name, name, titleFromName(path.Base(name)), above[max(0, len(above)-2):])
	doc.Place, doc.UpdatedAt = field.JoinPlace(above...), info.ModTime().UTC()
	return doc, nil
}

// innerDocument reads a file of a container as a document of its own.
func (r *fileReader) innerDocument(c *collector, files *innerFiles, name, source string) (index.Document, error) {
	f, reason := r.formatOf(name)
	if reason != "" || f.lines {
		return index.Document{}, errors.New(cmp.Or(reason, wire.ReasonNotRead(path.Ext(name))))
	}
	defaults, err := files.defaults(c, name, source)
	if err != nil {
		return index.Document{}, err
	}
	data, err := files.read(name)
	if err != nil {
		return index.Document{}, err
	}
	var doc index.Document
	r.member = name
	defer func() { r.member = "" }()
	err = recovered(func() (err error) {
		doc, _, err = r.document(c.ctx, f, data, defaults)
		return err
	})
	if err == nil && f.data != nil && doc.UpdatedAt.Equal(defaults.UpdatedAt) {
		dateByFile(&doc)
	}
	doc.Positions = nil // of a file that cannot be opened by itself
	return doc, err
}

// recovered calls read, whose panic costs one file or message of a container, not all of them.
func recovered(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = readingFailed(p)
		}
	}()
	return read()
}

func readingFailed(p any) error { return fmt.Errorf("reading it failed: %v", p) }

// soleFile is the file system of a container that is a file.
type soleFile struct{ *os.File }

func (s soleFile) Open(string) (fs.File, error) { return s, nil }
func (s soleFile) Close() error                 { return nil }
