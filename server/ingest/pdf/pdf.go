// Package pdf has the content of PDF files as package engine reads it.
package pdf

import (
	"context"
	"errors"
	"fmt"

	"quarry/server/ingest/markdown"
)

const (
	// MaxMemory bounds the memory of the engine, in bytes. Its process needs as much again for the file and itself.
	MaxMemory = 256 << 20
	// MaxPages bounds the pages that are read of a file.
	MaxPages = 20_000
)

// ErrEncrypted says that a file cannot be read without its password.
var ErrEncrypted = errors.New("it is encrypted; a password is needed")

// Engine reads PDF files, one after the other.
type Engine interface {
	// Start compiles the engine or takes it from a cache. Later calls do nothing.
	Start(ctx context.Context) error
	IsStarted() bool
	// Read sends what a file contains: a message that describes it, and one for each page. FileError is about the file;
	// after another error the engine may be damaged.
	Read(data []byte, send func(Message) error) error
}

// FileError says what is wrong with a file.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// Message describes a file, or has the text of a page.
type Message struct {
	Title    string
	Authors  string
	Keywords string
	Subject  string
	Created  string
	Modified string
	Outline  []Bookmark
	Pages    int // in the file

	Text   string
	Unread bool // its text cannot be read
}

// Bookmark is an entry of the table of contents.
type Bookmark struct {
	Title string
	Level int // from 0
	Page  int // from 0
}

// Document is the content of a file.
type Document struct {
	Message          // describes it
	Texts   []string // of its pages, as far as they were read
	Lost    []int    // numbers of pages that cannot be read

	isDescribed bool
	size        int
}

// Add adds the next message. An error of it is a FileError.
func (d *Document) Add(m Message) error {
	if !d.isDescribed {
		d.Message, d.isDescribed = m, true
		return nil
	}
	if d.size += len(m.Text); d.size > markdown.MaxBytes {
		return &FileError{markdown.TooLong(markdown.MaxBytes)}
	}
	if len(d.Texts) == MaxPages {
		return &FileError{fmt.Errorf("it has more than %d pages", MaxPages)}
	}
	if d.Texts = append(d.Texts, m.Text); m.Unread {
		d.Lost = append(d.Lost, len(d.Texts))
	}
	return nil
}
