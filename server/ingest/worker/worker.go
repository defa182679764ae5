// Package worker runs the readers of documents in other processes of this program. A document that crashes its reader,
// or needs more memory, time or output than it may, costs that document and nothing else.
//
// A Pool starts a process when a document comes and none is idle, sends the document through a pipe, and reads the
// answer from another one. The process has no environment, and Serve gives it a bound of memory. One that misses a
// bound is killed; the next document gets a new one.
package worker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// MaxMemory bounds what a process needs for documents beyond the memory that it starts with, in bytes.
	MaxMemory = 256 << 20
	// MaxAnswer bounds one frame of an answer, in bytes: 64 MB of text, and what describes it.
	MaxAnswer = 96 << 20
	// waiting is how many times its limit a document may take where the machine is busy with other things.
	waiting = 4
	// maxRequest bounds a document with what is known of it, in bytes.
	maxRequest = 128 << 20
	// starting bounds the start of a process, and of an engine in it, which is compiled when it runs for the first
	// time.
	starting = 3 * time.Minute
	// idle is after how long without a document a process ends.
	idle = 30 * time.Second
)

// Errors that say why there is no answer.
var (
	// ErrNoWorker is not about the document: another run may read it.
	ErrNoWorker = errors.New("the process that reads such files cannot be started")
	// ErrCrashed and ErrMemory are about the document.
	ErrCrashed = errors.New("reading it failed: it is damaged")
	ErrMemory  = fmt.Errorf("it needs more than %d MB of memory", MaxMemory>>20)
)

// SlowError says that reading a document took longer than it may.
type SlowError struct{ Limit time.Duration }

func (e *SlowError) Error() string { return fmt.Sprintf("reading it takes longer than %s", e.Limit) }

// The kinds of frames that a process sends, by their first byte.
const (
	frameReady = 'r' // it waits for a document; amid an answer: an engine runs, and the time of the document begins again
	frameBusy  = 'b' // it starts an engine, which takes as long as starting may
	framePart  = 'p' // a part of an answer
	frameLast  = 'l' // the end of an answer
)

func writeFrame(out *bufio.Writer, kind byte, data ...[]byte) error {
	length := 0
	for _, part := range data {
		length += len(part)
	}
	_, _ = out.Write(binary.BigEndian.AppendUint32(nil, uint32(length))) // Flush returns the first error
	_ = out.WriteByte(kind)
	for _, part := range data {
		_, _ = out.Write(part)
	}
	return out.Flush()
}

// limitBytes is the size of a document's limit, which precedes it in its frame.
const limitBytes = 8

func readFrame(in io.Reader, most int) (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if int64(length) > int64(most) {
		return 0, nil, fmt.Errorf("a frame of %d bytes", length)
	}
	data = make([]byte, length)
	_, err = io.ReadFull(in, data)
	return head[4], data, err
}

// Limit returns how much processor time a document of size bytes may take: base, and a second for each MB, at most two
// minutes.
func Limit(base time.Duration, size int) time.Duration {
	return min(base+time.Duration(size>>20)*time.Second, max(base, 2*time.Minute))
}

// Session is the end of the pipes in a process.
type Session struct {
	out    *bufio.Writer
	bounds *bounds
	limit  time.Duration // of the document at hand
}

// Send sends a part of the answer to the document at hand.
func (s *Session) Send(part []byte) error { return writeFrame(s.out, framePart, part) }

// Prepare runs start, which neither the time nor the memory of documents pays for: both are counted from its end.
func (s *Session) Prepare(ctx context.Context, start func(context.Context) error) error {
	if err := writeFrame(s.out, frameBusy); err != nil {
		return err
	}
	s.bounds.lift()
	err := start(ctx)
	s.bounds.set()
	s.bounds.watch(s.limit)
	return errors.Join(err, writeFrame(s.out, frameReady))
}

// Serve answers the documents from in, one after the other, until in ends. read returns the end of an answer; after an
// error of it Serve returns, because what it used may be damaged.
func Serve(in io.Reader, out io.Writer, read func(s *Session, document []byte) ([]byte, error)) error {
	s := &Session{out: bufio.NewWriterSize(out, 64<<10), bounds: &bounds{}}
	defer s.bounds.lift()
	s.bounds.set()
	if err := writeFrame(s.out, frameReady); err != nil {
		return err
	}
	requests := bufio.NewReaderSize(in, 64<<10)
	for {
		_, request, err := readFrame(requests, maxRequest)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.limit = time.Duration(binary.BigEndian.Uint64(request))
		s.bounds.watch(s.limit)
		answer, err := read(s, request[limitBytes:])
		s.bounds.stop()
		if err != nil {
			return err
		}
		if err := writeFrame(s.out, frameLast, answer); err != nil {
			return err
		}
	}
}
