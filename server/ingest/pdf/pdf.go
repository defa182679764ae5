// Package pdf reads PDF files in processes of their own: an engine that a file damages, or that does not end, costs that
// file only. Package engine is what runs in them.
package pdf

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/ingest/markdown"
)

const (
	// MaxMemory bounds the memory of the engine, in bytes. Its process needs as much again for the file and itself.
	MaxMemory = 256 << 20
	// MaxPages bounds the pages that are read of a file.
	MaxPages = 20_000
	// maxFrame bounds one message of a process, in bytes.
	maxFrame = 16 << 20
	// startLimit is the time to start the engine, which is compiled when it runs for the first time.
	startLimit = 3 * time.Minute
	// pageLimit is the time for opening a file, and for each of its pages.
	pageLimit = 30 * time.Second
)

// Errors that say why a file cannot be read.
var (
	ErrEncrypted = errors.New("it is encrypted; a password is needed")
	// ErrNoReader is not about the file: another run may read it.
	ErrNoReader = errors.New("the reader of PDF files cannot be started")
	errSlow     = fmt.Errorf("reading a page takes longer than %s", pageLimit)
)

// Program is the program that reads PDF files with engine.Serve. The zero Program cannot read any.
type Program struct {
	Path      string
	Arguments []string
}

// Message is what a process writes: one without fields when it is ready, then for each file one that describes it, one
// for each page, and one that ends it.
type Message struct {
	Title    string     `json:"title,omitempty"`
	Authors  string     `json:"authors,omitempty"`
	Keywords string     `json:"keywords,omitempty"`
	Subject  string     `json:"subject,omitempty"`
	Created  string     `json:"created,omitempty"`
	Modified string     `json:"modified,omitempty"`
	Outline  []Bookmark `json:"outline,omitempty"`
	Text     string     `json:"text,omitempty"`
	Last     bool       `json:"last,omitempty"`
	Locked   bool       `json:"locked,omitempty"` // a password is needed
	Error    string     `json:"error,omitempty"`
}

// Bookmark is an entry of the table of contents.
type Bookmark struct {
	Title string `json:"title"`
	Level int    `json:"level"` // from 0
	Page  int    `json:"page"`  // from 0
}

// Document is the content of a file.
type Document struct {
	Message          // describes it
	Pages   []string // their texts
}

// Reader reads files, one after the other, in a process that starts with the first one. It is not safe for concurrent
// use.
type Reader struct {
	program Program
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	kill    context.CancelFunc

	starting, reading time.Duration // the most that it may take
}

// NewReader returns a Reader. Close ends its process.
func NewReader(program Program) *Reader {
	return &Reader{program: program, starting: startLimit, reading: pageLimit}
}

// Close ends the process.
func (r *Reader) Close() {
	if r.command == nil {
		return
	}
	r.in.Close()
	r.kill()
	_ = r.command.Wait() // it was killed
	r.command = nil
}

// Read reads a file. After an error that is not about the file the next one is read by a new process.
func (r *Reader) Read(ctx context.Context, data []byte) (Document, error) {
	if r.program.Path == "" {
		return Document{}, ErrNoReader
	}
	if r.command == nil {
		if err := r.start(ctx); err != nil {
			return Document{}, err
		}
	}
	d, err := r.read(ctx, data)
	var failed *engineError
	if errors.As(err, &failed) {
		r.Close()
	}
	if ctx.Err() != nil {
		return Document{}, ctx.Err()
	}
	return d, err
}

// engineError is an error after which the process is of no use.
type engineError struct{ reason string }

func (e *engineError) Error() string { return e.reason }

func (r *Reader) start(ctx context.Context) error {
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	command := exec.CommandContext(running, r.program.Path, r.program.Arguments...)
	command.Env = []string{} // it needs nothing of this process's environment
	in, err := command.StdinPipe()
	if err == nil {
		var out io.ReadCloser
		if out, err = command.StdoutPipe(); err == nil {
			r.out = bufio.NewReaderSize(out, 64<<10)
			err = command.Start()
		}
	}
	if err != nil {
		kill()
		return fmt.Errorf("%w: %w", ErrNoReader, err)
	}
	r.command, r.in, r.kill = command, in, kill
	if _, err := r.next(ctx, r.starting); err != nil {
		r.Close()
		return fmt.Errorf("%w: %w", ErrNoReader, err)
	}
	return nil
}

func (r *Reader) read(ctx context.Context, data []byte) (d Document, err error) {
	stop := context.AfterFunc(ctx, guard.Func(r.kill, func(error) {}))
	defer stop()
	in := r.in
	write := func() { _ = WriteFrame(in, data) } // the answer shows whether it arrived
	guard.Go(write, func(error) { r.kill() })    // ends with the process
	first, err := r.next(ctx, r.reading)
	if err != nil || first.Last {
		return d, lastError(err, first)
	}
	d.Message = first
	size := 0
	for {
		page, err := r.next(ctx, r.reading)
		if err != nil || page.Last {
			return d, lastError(err, page)
		}
		if size += len(page.Text); size > markdown.MaxBytes {
			return d, &engineError{markdown.TooLong(markdown.MaxBytes).Error()}
		}
		d.Pages = append(d.Pages, page.Text)
		if len(d.Pages) > MaxPages {
			return d, &engineError{fmt.Sprintf("it has more than %d pages", MaxPages)}
		}
	}
}

// lastError returns the error of reading the last message, or the one in it.
func lastError(err error, last Message) error {
	switch {
	case err != nil:
		return err
	case last.Locked:
		return ErrEncrypted
	case last.Error != "":
		return errors.New(last.Error)
	}
	return nil
}

// next reads a message. The process is killed when it takes longer than limit.
func (r *Reader) next(ctx context.Context, limit time.Duration) (m Message, err error) {
	timer := time.AfterFunc(limit, guard.Func(r.kill, func(error) {}))
	frame, err := ReadFrame(r.out, maxFrame)
	inTime := timer.Stop()
	switch {
	case ctx.Err() != nil:
		return m, &engineError{ctx.Err().Error()}
	case err != nil && !inTime:
		return m, &engineError{errSlow.Error()}
	case err != nil:
		return m, &engineError{fmt.Sprintf("it is damaged, or needs more than %d MB of memory", MaxMemory>>20)}
	}
	if err := wire.Unmarshal(frame, &m); err != nil {
		return m, &engineError{"it is damaged: its text is invalid"}
	}
	return m, nil
}

// WriteFrame writes data with its length.
func WriteFrame(out io.Writer, data []byte) error {
	if _, err := out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data)))); err != nil {
		return err
	}
	_, err := out.Write(data)
	return err
}

// ReadFrame reads what WriteFrame wrote, of at most most bytes.
func ReadFrame(in io.Reader, most int) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if int64(n) > int64(most) {
		return nil, fmt.Errorf("a message of %d bytes", n)
	}
	data := make([]byte, n)
	_, err := io.ReadFull(in, data)
	return data, err
}
